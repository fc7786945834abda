//! Paths in a Rust file: those that its `use` items bring in, and those that are written out elsewhere.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::items::behind_bracket;
use crate::lexer::{Kind, Token};

/// A path of modules and names, from the crate's root, whose path is empty.
pub type Path = Vec<String>;

/// One name that a `use` brings in; `*` for all.
pub struct Import {
    pub name: String,
    pub path: Path,
    pub public: bool,
    pub line: usize,
    /// Tokens of the whole `use`.
    pub tokens: Range<usize>,
}

/// All names that the file's `use` items bring in, with paths from the crate's root. `children` are the
/// modules that the file declares: `use child::Name` means `use self::child::Name`. Paths into other crates
/// begin with their names and lead nowhere here.
pub fn imports(tokens: &[Token], module: &Path, children: &BTreeSet<&str>) -> Vec<Import> {
    let from_root = |path: &Path| match path.first() {
        Some(first) if children.contains(first.as_str()) => module.iter().chain(path).cloned().collect(),
        _ => absolute(path, module),
    };
    let mut imports = Vec::new();
    // `use<'a>` is no import but says what a returned type borrows.
    let is_import =
        |index: usize| tokens[index].is("use") && !tokens.get(index + 1).is_some_and(|token| token.is("<"));
    for index in (0..tokens.len()).filter(|&index| is_import(index)) {
        let before = index.checked_sub(1).map(|before| &tokens[before]);
        let public = before.is_some_and(|token| token.is("pub") || token.is(")"));
        let length = tokens[index..].iter().position(|token| token.is(";")).unwrap_or(1);
        let range = index..index + length;
        let mut leaves = Vec::new();
        tree_of_use(&tokens[index + 1..range.end], &Path::new(), &mut leaves);
        imports.extend(leaves.into_iter().map(|(path, name)| Import {
            path: from_root(&path),
            name,
            public,
            line: tokens[index].line,
            tokens: range.clone(),
        }));
    }
    imports
}

/// The leaves of what follows `use`, each with the name by which it is known.
fn tree_of_use(tokens: &[Token], prefix: &Path, leaves: &mut Vec<(Path, String)>) {
    let mut path = prefix.clone();
    let mut index = 0;
    while index < tokens.len() {
        let token = &tokens[index];
        if token.is("{") {
            let end = behind_bracket(tokens, index) - 1;
            let mut start = index + 1;
            while start < end {
                let next = comma(tokens, start, end);
                tree_of_use(&tokens[start..next], &path, leaves);
                start = next + 1;
            }
            return;
        }
        if token.is("as") {
            let name = tokens.get(index + 1).map_or_else(String::new, |token| token.text.clone());
            leaves.push((path, name));
            return;
        }
        // `a::{self}` is `a`.
        let is_name = token.kind == Kind::Ident && (path.is_empty() || !token.is("self"));
        if is_name || token.is("*") {
            path.push(token.text.clone());
        }
        index += 1;
    }
    if let Some(name) = path.last().cloned() {
        leaves.push((path, name));
    }
}

/// The index of the next comma in no bracket of its own, or `end`.
fn comma(tokens: &[Token], start: usize, end: usize) -> usize {
    let mut index = start;
    while index < end && !tokens[index].is(",") {
        index = if tokens[index].is("{") { behind_bracket(tokens, index) } else { index + 1 };
    }
    index.min(end)
}

/// A path as it is written in `module`, from the crate's root. `self`, `super` and `crate` are resolved.
pub fn absolute(path: &[String], module: &Path) -> Path {
    let (mut base, mut rest) = match path.first().map(String::as_str) {
        Some("crate") => (Path::new(), &path[1..]),
        Some("self") => (module.clone(), &path[1..]),
        Some("super") => (module.clone(), path),
        _ => return path.to_vec(),
    };
    while rest.first().is_some_and(|part| part == "super") {
        base.pop();
        rest = &rest[1..];
    }
    base.into_iter().chain(rest.iter().cloned()).collect()
}

/// The names of the path that begins here.
pub fn written_path(tokens: &[Token]) -> Path {
    let mut path = Path::new();
    let mut index = 0;
    while let Some(token) = tokens.get(index).filter(|token| token.kind == Kind::Ident) {
        path.push(token.text.clone());
        let colons = tokens.get(index + 1).is_some_and(|t| t.is(":"))
            && tokens.get(index + 2).is_some_and(|t| t.is(":"));
        if !colons {
            break;
        }
        index += 3;
    }
    path
}
