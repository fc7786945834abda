//! What a Rust file holds, found in its tokens: functions, `impl` blocks, and regions that are only compiled
//! under a condition.

use std::ops::Range;

use crate::lexer::{Kind, Token};

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name, behind the type of the `impl` block that it is in: `Outbox::push`.
    pub name: String,
    /// Line of `fn`.
    pub line: usize,
    /// Lines from there to its last brace, both counted.
    pub lines: usize,
}

/// An `impl` block.
#[derive(Debug, PartialEq, Eq)]
pub struct Impl {
    /// The type's own name: `Outbox` of `impl<T> super::Outbox<T>`.
    pub of: String,
    /// Whether it is one of a trait.
    pub of_trait: bool,
    pub line: usize,
    /// Its tokens, from `impl` to the last brace.
    pub tokens: Range<usize>,
}

/// The index of the token behind the bracket that closes the one at `open`.
pub fn behind_bracket(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        if token.kind == Kind::Punct {
            match token.text.as_str() {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return index + 1;
            }
        }
    }
    tokens.len()
}

/// The index of the first of `ends` from `from` on that is in no bracket of its own, or of the bracket that
/// ends all.
fn find_outside(tokens: &[Token], from: usize, ends: &[&str]) -> usize {
    let mut index = from;
    while index < tokens.len() {
        let token = &tokens[index];
        if ends.iter().any(|end| token.is(end)) || [")", "]", "}"].iter().any(|end| token.is(end)) {
            return index;
        }
        let opens = ["(", "[", "{"].iter().any(|open| token.is(open));
        index = if opens { behind_bracket(tokens, index) } else { index + 1 };
    }
    tokens.len()
}

pub fn functions(tokens: &[Token]) -> Vec<Function> {
    let impls = impls(tokens);
    let mut functions = Vec::new();
    for (index, pair) in tokens.windows(2).enumerate() {
        if !(pair[0].is("fn") && pair[1].kind == Kind::Ident) {
            continue;
        }
        let body = find_outside(tokens, index + 2, &["{", ";"]);
        if !tokens.get(body).is_some_and(|token| token.is("{")) {
            continue;
        }
        let last = &tokens[behind_bracket(tokens, body) - 1];
        let owner = impls.iter().rfind(|block| block.tokens.contains(&index));
        let name = match owner {
            Some(block) => format!("{}::{}", block.of, pair[1].text),
            None => pair[1].text.clone(),
        };
        functions.push(Function { name, line: pair[0].line, lines: last.line - pair[0].line + 1 });
    }
    functions
}

/// Blocks, those inside others after them. `impl Trait` as a type is none: it never stands where an item
/// begins.
pub fn impls(tokens: &[Token]) -> Vec<Impl> {
    let begins = |index: usize| {
        index == 0 || ["}", ";", "{", "]", "unsafe"].iter().any(|before| tokens[index - 1].is(before))
    };
    let mut impls = Vec::new();
    for index in (0..tokens.len()).filter(|&index| tokens[index].is("impl") && begins(index)) {
        let body = find_outside(tokens, index + 1, &["{", ";"]);
        let mut head = &tokens[index + 1..body];
        if head.first().is_some_and(|token| token.is("<")) {
            head = &head[behind_angle(head)..];
        }
        let end = head.iter().position(|token| token.is("where")).unwrap_or(head.len());
        head = &head[..end];
        let of_trait =
            head.iter().enumerate().position(|(at, token)| token.is("for") && !higher_ranked(head, at));
        let of = type_name(&head[of_trait.map_or(0, |at| at + 1)..]);
        let range = index..behind_bracket(tokens, body);
        impls.push(Impl { of, of_trait: of_trait.is_some(), line: tokens[index].line, tokens: range });
    }
    impls
}

/// Whether the `for` at `at` is that of `for<'a>`.
fn higher_ranked(head: &[Token], at: usize) -> bool {
    head.get(at + 1).is_some_and(|token| token.is("<"))
}

/// The index behind the `>` that closes the `<` at the beginning.
fn behind_angle(tokens: &[Token]) -> usize {
    let mut depth = 0;
    for (index, token) in tokens.iter().enumerate() {
        let arrow = index > 0 && tokens[index - 1].is("-");
        match token.text.as_str() {
            "<" => depth += 1,
            ">" if !arrow => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return index + 1;
        }
    }
    tokens.len()
}

/// The last name of a path, before its generics.
fn type_name(tokens: &[Token]) -> String {
    let path = tokens.iter().take_while(|token| !token.is("<"));
    path.filter(|token| token.kind == Kind::Ident && !token.is("dyn") && !token.is("mut"))
        .last()
        .map_or_else(String::new, |token| token.text.clone())
}

/// Ranges of tokens that are only compiled if a `cfg` attribute which `wanted` accepts holds.
pub fn conditional(tokens: &[Token], wanted: impl Fn(&[Token]) -> bool) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    for index in 0..tokens.len() {
        let inner = usize::from(tokens.get(index + 1).is_some_and(|token| token.is("!")));
        let is_cfg = tokens[index].is("#")
            && tokens.get(index + 1 + inner).is_some_and(|token| token.is("["))
            && tokens.get(index + 2 + inner).is_some_and(|token| token.is("cfg"));
        if !is_cfg {
            continue;
        }
        let behind = behind_bracket(tokens, index + 1 + inner);
        if wanted(&tokens[index + 2 + inner..behind]) {
            // An inner attribute is about all of the file.
            ranges.push(if inner == 1 { 0..tokens.len() } else { index..item_end(tokens, behind) });
        }
    }
    ranges
}

/// Whether an attribute's tokens are `cfg(test)` or `cfg(feature = "...")` in some combination without `not`.
pub fn tests_or_feature(attribute: &[Token]) -> bool {
    tests_only(attribute)
        || attribute.iter().any(|token| token.is("feature")) && !attribute.iter().any(|token| token.is("not"))
}

/// Whether an attribute's tokens are `cfg(test)`, perhaps beside other conditions.
pub fn tests_only(attribute: &[Token]) -> bool {
    attribute.iter().any(|token| token.is("test")) && !attribute.iter().any(|token| token.is("not"))
}

/// Items that end with a semicolon, even if braces stand before it.
const ENDS_IN_SEMICOLON: [&str; 5] = ["use", "const", "static", "type", "let"];
/// Other words that items begin with: a comma at such an item's outermost level does not end it (generics
/// have some).
const BEGINS_ITEM: [&str; 9] =
    ["fn", "impl", "struct", "enum", "mod", "trait", "unsafe", "extern", "macro_rules"];

/// The index behind the item, statement, field or arm that begins at `from`, perhaps with more attributes.
fn item_end(tokens: &[Token], mut from: usize) -> usize {
    let is = |index: usize, words: &[&str]| {
        tokens.get(index).is_some_and(|token| words.iter().any(|word| token.is(word)))
    };
    while is(from, &["#"]) {
        from = behind_bracket(tokens, from + 1);
    }
    if is(from, &["pub"]) {
        from = if is(from + 1, &["("]) { behind_bracket(tokens, from + 1) } else { from + 1 };
    }
    let ends: &[&str] = if is(from, &ENDS_IN_SEMICOLON) && !is(from + 1, &["fn", "unsafe"]) {
        &[";"]
    } else if is(from, &BEGINS_ITEM) || is(from, &["const"]) {
        &["{", ";"]
    } else {
        &["{", ";", ","]
    };
    let end = find_outside(tokens, from, ends);
    if is(end, &["{"]) { behind_bracket(tokens, end) } else { (end + 1).min(tokens.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::lex;

    #[test]
    fn functions_are_measured_from_fn_to_their_last_brace() {
        let source = "impl<T: Fn() -> u8> Outbox<T> where T: X {\n\
                      pub fn push(&self, a: [u8; 2]) -> impl Y {\n\
                      a\n  }\n  fn no_body();\n}\n\nfn free() { let f: fn(u8); }\n";
        let found: Vec<_> =
            functions(&lex(source).tokens).into_iter().map(|f| (f.name, f.line, f.lines)).collect();
        assert_eq!(found, [("Outbox::push".to_owned(), 2, 3), ("free".to_owned(), 8, 1)]);
    }

    #[test]
    fn blocks_are_named_by_their_type() {
        let source = "impl super::State {} unsafe impl<'a, T> Sync for Lock<'a, T> {}\n\
                      #[x] impl fmt::Debug for State {}\n\
                      fn f(a: impl Fn()) -> impl Drop {} impl<T> for<'a> X<'a> for &'a mut Y {}";
        let found: Vec<_> = impls(&lex(source).tokens).into_iter().map(|i| (i.of, i.of_trait)).collect();
        let expected = [("State", false), ("Lock", true), ("State", true), ("Y", true)];
        assert_eq!(found, expected.map(|(name, of_trait)| (name.to_owned(), of_trait)));
    }

    #[test]
    fn a_condition_covers_the_item_behind_it_and_no_more() {
        for item in [
            "use a::{b, x};",
            "const x: T = T { a };",
            "pub(crate) fn x<A, B>(a: u8, b: u8) { b; }",
            "const fn x() {}",
            "struct X<A, B> { x: u8 }",
            "struct X(x);",
            "mod tests { x }",
            "let a = b { x };",
            "#[other] x(a, b);",
            "x: Vec<u8>,",
        ] {
            let source = format!("before; #[cfg(feature = \"defects\")] {item} after");
            let tokens = lex(&source).tokens;
            let ranges = conditional(&tokens, tests_or_feature);
            assert_eq!(ranges.len(), 1, "{item}");
            assert!(tokens[ranges[0].end].is("after"), "{item}: {:?}", tokens.get(ranges[0].end));
        }
        let tokens = lex("#![cfg(test)] a b").tokens;
        assert_eq!(conditional(&tokens, tests_only).first(), Some(&(0..tokens.len())));
        assert!(
            conditional(&lex("#[cfg(not(feature = \"defects\"))] fn x() {}").tokens, tests_or_feature)
                .is_empty()
        );
    }
}
