//! Splits Rust source into tokens and comments, with the line on which each begins.
//!
//! It knows what a law needs in order not to be fooled: strings (raw ones too), characters beside lifetimes,
//! and block comments inside block comments. It does not check that the source is valid Rust: the compiler
//! does that.

/// What a token is. Numbers are `Other`, since no law looks at them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    Ident,
    /// One character: `::` is two of them.
    Punct,
    /// A string; `Token::text` is what stands between the quotes, with its escapes as they are written.
    Str,
    Other,
}

#[derive(Clone, Debug)]
pub struct Token {
    pub kind: Kind,
    pub text: String,
    pub line: usize,
}

impl Token {
    pub fn is(&self, text: &str) -> bool {
        self.kind != Kind::Str && self.text == text
    }
}

/// One line of a comment, from its slashes on. Of a block comment only its first line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    pub line: usize,
    pub text: String,
}

#[derive(Debug, Default)]
pub struct Lexed {
    pub tokens: Vec<Token>,
    pub comments: Vec<Comment>,
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
    lexed: Lexed,
}

pub fn lex(source: &str) -> Lexed {
    let mut lexer = Lexer { rest: source, line: 1, lexed: Lexed::default() };
    while let Some(first) = lexer.rest.chars().next() {
        lexer.step(first);
    }
    lexer.lexed
}

fn is_ident(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

impl<'a> Lexer<'a> {
    fn step(&mut self, first: char) {
        if first.is_whitespace() {
            self.take(first.len_utf8());
        } else if self.rest.starts_with("//") {
            self.line_comment();
        } else if self.rest.starts_with("/*") {
            self.block_comment();
        } else if let Some(hashes) = self.raw_string() {
            self.raw(hashes);
        } else if first == '"' {
            self.string(1);
        } else if self.rest.starts_with("b\"") || self.rest.starts_with("c\"") {
            self.string(2);
        } else if first == '\'' || self.rest.starts_with("b'") {
            self.quote();
        } else if is_ident(first) {
            self.word(first);
        } else {
            self.push(Kind::Punct, first.len_utf8());
        }
    }

    /// Takes `len` bytes and counts their lines.
    fn take(&mut self, len: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(len.min(self.rest.len()));
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }

    fn push(&mut self, kind: Kind, len: usize) {
        let line = self.line;
        let text = self.take(len).to_owned();
        self.lexed.tokens.push(Token { kind, text, line });
    }

    fn line_comment(&mut self) {
        let line = self.line;
        let text = self.rest.lines().next().unwrap_or_default();
        self.take(text.len());
        self.lexed.comments.push(Comment { line, text: text.to_owned() });
    }

    fn block_comment(&mut self) {
        let line = self.line;
        let text = self.rest.lines().next().unwrap_or_default().to_owned();
        self.take(2);
        let mut depth = 1;
        while depth > 0 && !self.rest.is_empty() {
            match self.rest {
                rest if rest.starts_with("/*") => (depth, _) = (depth + 1, self.take(2)),
                rest if rest.starts_with("*/") => (depth, _) = (depth - 1, self.take(2)),
                rest => _ = self.take(rest.chars().next().map_or(1, char::len_utf8)),
            }
        }
        self.lexed.comments.push(Comment { line, text });
    }

    /// The number of `#` of the raw string that begins here, if one does.
    fn raw_string(&self) -> Option<usize> {
        let after = ["r", "br", "cr"].iter().find_map(|prefix| self.rest.strip_prefix(prefix))?;
        let hashes = after.len() - after.trim_start_matches('#').len();
        after[hashes..].starts_with('"').then_some(hashes)
    }

    fn raw(&mut self, hashes: usize) {
        let line = self.line;
        let start = self.rest.find('"').map_or(0, |at| at + 1);
        self.take(start);
        let end = format!("\"{}", "#".repeat(hashes));
        let len = self.rest.find(&end).unwrap_or(self.rest.len());
        let text = self.take(len).to_owned();
        self.take(end.len());
        self.lexed.tokens.push(Token { kind: Kind::Str, text, line });
    }

    fn string(&mut self, opening: usize) {
        let line = self.line;
        self.take(opening);
        let mut escaped = false;
        let end = self.rest.find(|character| match character {
            _ if escaped => {
                escaped = false;
                false
            }
            '\\' => {
                escaped = true;
                false
            }
            character => character == '"',
        });
        let text = self.take(end.unwrap_or(self.rest.len())).to_owned();
        self.take(1);
        self.lexed.tokens.push(Token { kind: Kind::Str, text, line });
    }

    /// A character (`'a'`, `b'\n'`) or a lifetime (`'a`).
    fn quote(&mut self) {
        let start = self.rest.find('\'').map_or(1, |at| at + 1);
        let mut after = self.rest[start..].char_indices();
        let len = match (after.next(), after.next()) {
            (Some((_, '\\')), Some((at, escaped))) => {
                let from = start + at + escaped.len_utf8();
                from + self.rest[from..].find('\'').map_or(0, |at| at + 1)
            }
            (Some(_), Some((at, '\''))) => start + at + 1,
            _ => start + self.rest[start..].find(|c| !is_ident(c)).unwrap_or(0),
        };
        self.push(Kind::Other, len);
    }

    fn word(&mut self, first: char) {
        let len = self.rest.find(|character| !is_ident(character)).unwrap_or(self.rest.len());
        if let Some(raw) = self.rest.strip_prefix("r#") {
            let line = self.line;
            let len = raw.find(|character| !is_ident(character)).unwrap_or(raw.len());
            let text = raw[..len].to_owned();
            self.take(2 + len);
            self.lexed.tokens.push(Token { kind: Kind::Ident, text, line });
        } else {
            self.push(if first.is_ascii_digit() { Kind::Other } else { Kind::Ident }, len);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idents(source: &str) -> Vec<String> {
        let tokens = lex(source).tokens;
        tokens.into_iter().filter(|token| token.kind == Kind::Ident).map(|token| token.text).collect()
    }

    #[test]
    fn what_strings_and_characters_hold_is_no_code() {
        let source = r####"a("fn x() {", r#"b "c" d"#, b"\"e", 'f', '\'', '"', b'{', '\u{7f}') g"####;
        assert_eq!(idents(source), ["a", "g"]);
    }

    #[test]
    fn lifetimes_and_raw_names_are_told_from_characters_and_raw_strings() {
        assert_eq!(
            idents("fn f<'a>(r#type: &'a str, r: &'static u8) {}"),
            ["fn", "f", "type", "str", "r", "u8"]
        );
    }

    #[test]
    fn comments_nest_and_are_no_code() {
        let lexed = lex("a /* b /* c */ d */ e // f\n/// g \"\n\"// h\" i");
        let texts: Vec<_> = lexed.tokens.iter().map(|token| (token.text.as_str(), token.line)).collect();
        assert_eq!(texts, [("a", 1), ("e", 1), ("// h", 3), ("i", 3)]);
        let comments: Vec<_> =
            lexed.comments.iter().map(|comment| (comment.text.as_str(), comment.line)).collect();
        assert_eq!(comments, [("/* b /* c */ d */ e // f", 1), ("// f", 1), ("/// g \"", 2)]);
    }

    #[test]
    fn lines_are_counted_inside_strings_and_comments() {
        let tokens = lex("\"a\nb\" /* \n */ c").tokens;
        assert_eq!(tokens.iter().map(|token| token.line).collect::<Vec<_>>(), [1, 3]);
    }
}
