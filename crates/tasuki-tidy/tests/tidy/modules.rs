//! Modules of a crate and which of its files use which.
//!
//! A file uses another if it names something of it by a path from `crate::`, `super::` or `self::`, or from a
//! child module. Names that a module re-exports (`pub use`) are followed to the file that defines them, so
//! that a facade in `lib.rs` ties nothing together. Methods are not followed: a call does not say in which
//! file the method is.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::imports::{Import, Path, absolute, imports, written_path};
use crate::items::{conditional, tests_only};
use crate::lexer::{Kind, Token, lex};
use crate::tree::Tree;

struct Module {
    file: String,
    tokens: Vec<Token>,
    /// Regions that only tests have.
    tests: Vec<Range<usize>>,
    imports: Vec<Import>,
    /// Names of items that the file defines at any depth.
    defined: BTreeSet<String>,
}

/// That a file uses another, and the first line where it does.
pub type Uses = BTreeMap<String, BTreeMap<String, usize>>;

/// The module path of a file below `src/`: `a/b.rs` and `a/b/mod.rs` are both `a`, `b`. None for other
/// programs (`bin/`).
fn module_path(below: &str) -> Option<Path> {
    let name = below.strip_suffix(".rs")?;
    if name == "lib" || name == "main" {
        return Some(Path::new());
    }
    let path: Path = name.strip_suffix("/mod").unwrap_or(name).split('/').map(str::to_owned).collect();
    (path[0] != "bin").then_some(path)
}

/// Whether a module is declared (`mod name;`) below an attribute `cfg` that `wanted` accepts, or is in one
/// that is.
pub fn declared_under(tree: &Tree, file: &str, wanted: impl Fn(&[Token]) -> bool + Copy) -> bool {
    let Some((root, below)) = file.split_once("/src/") else { return false };
    let path = module_path(below).unwrap_or_default();
    (1..=path.len()).any(|depth| {
        let parent = path[..depth - 1].join("/");
        let files = match parent.as_str() {
            "" => ["lib.rs".to_owned(), "main.rs".to_owned()],
            parent => [format!("{parent}.rs"), format!("{parent}/mod.rs")],
        };
        let text = files.iter().find_map(|file| tree.text(&format!("{root}/src/{file}"))).unwrap_or_default();
        let tokens = lex(text).tokens;
        let ranges = conditional(&tokens, wanted);
        let declares = |index: usize| {
            tokens[index].is("mod") && tokens.get(index + 1).is_some_and(|t| t.is(&path[depth - 1]))
        };
        ranges.into_iter().any(|range| range.into_iter().any(declares))
    })
}

/// Which files of a crate use which.
pub fn uses(tree: &Tree, name: &str) -> Uses {
    let prefix = format!("crates/{name}/src/");
    let mut modules = BTreeMap::new();
    for (file, text) in tree.with_extension("rs") {
        if let Some(path) = file.strip_prefix(&prefix).and_then(module_path)
            && !declared_under(tree, file, tests_only)
        {
            modules.insert(path.clone(), Module::read(file, text, &path));
        }
    }
    let graph = Graph { modules };
    graph.modules.iter().map(|(path, module)| (module.file.clone(), graph.used_by(path, module))).collect()
}

impl Module {
    fn read(file: &str, text: &str, path: &Path) -> Module {
        let tokens = lex(text).tokens;
        let tests = conditional(&tokens, tests_only);
        let kinds =
            ["fn", "struct", "enum", "trait", "type", "const", "static", "union", "mod", "macro_rules"];
        let named = |pair: &[Token]| kinds.iter().any(|kind| pair[0].is(kind)) && pair[1].kind == Kind::Ident;
        let defined = tokens.windows(2).filter(|pair| named(pair)).map(|pair| pair[1].text.clone()).collect();
        let imports = imports(&tokens, path, &declared(&tokens));
        Module { file: file.to_owned(), tokens, tests, imports, defined }
    }

    fn is_test(&self, index: usize) -> bool {
        self.tests.iter().any(|range| range.contains(&index))
    }

    fn children(&self) -> BTreeSet<&str> {
        declared(&self.tokens)
    }
}

/// The modules that a file declares to be in files of their own (`mod name;`).
fn declared(tokens: &[Token]) -> BTreeSet<&str> {
    let declarations = tokens.windows(3).filter(|three| three[0].is("mod") && three[2].is(";"));
    declarations.map(|three| three[1].text.as_str()).collect()
}

struct Graph {
    modules: BTreeMap<Path, Module>,
}

impl Graph {
    /// The files that a module uses.
    fn used_by(&self, path: &Path, module: &Module) -> BTreeMap<String, usize> {
        let mut used = BTreeMap::new();
        let mut add = |target: &Path, line: usize| {
            if let Some(file) = self.file_of(target, 0)
                && file != module.file
            {
                used.entry(file).or_insert(line);
            }
        };
        for import in &module.imports {
            if !module.is_test(import.tokens.start) && (!import.public || mentioned(module, import)) {
                add(&import.path, import.line);
            }
        }
        let children = module.children();
        let in_use = |index: usize| module.imports.iter().any(|import| import.tokens.contains(&index));
        for (index, token) in module.tokens.iter().enumerate() {
            let starts = ["crate", "super", "self"].iter().any(|start| token.is(start))
                || token.kind == Kind::Ident && children.contains(token.text.as_str());
            let after_path = index > 0 && module.tokens[index - 1].is(":");
            if !starts || after_path || in_use(index) || module.is_test(index) {
                continue;
            }
            let written = written_path(&module.tokens[index..]);
            if written.len() > 1 {
                let from_root = if children.contains(token.text.as_str()) {
                    path.iter().cloned().chain(written).collect()
                } else {
                    absolute(&written, path)
                };
                add(&from_root, token.line);
            }
        }
        used
    }

    /// The file that defines what a path from the root leads to.
    fn file_of(&self, path: &[String], depth: usize) -> Option<String> {
        let (length, module) =
            (0..=path.len()).rev().find_map(|len| Some((len, self.modules.get(&path[..len])?)))?;
        let Some(name) = path.get(length) else { return Some(module.file.clone()) };
        if length == 0
            && !module.defined.contains(name)
            && !module.imports.iter().any(|import| import.name == *name)
        {
            let globs = module.imports.iter().any(|import| import.name == "*");
            if !globs {
                // A path into another crate, or an unknown name.
                return None;
            }
        }
        if depth < 8 {
            let follow = |target: &Path| self.file_of(target, depth + 1);
            // What a file's tests import is no name of the file.
            let mut own = module.imports.iter().filter(|import| !module.is_test(import.tokens.start));
            let renamed = own.find(|import| import.name == *name && import.path != path[..=length]);
            if let Some(file) = renamed.and_then(|import| follow(&import.path)) {
                return Some(file);
            }
            let globs = module.imports.iter().filter(|import| import.name == "*" && import.public);
            let mut through = globs.filter_map(|import| {
                let source = self.modules.get(&import.path[..import.path.len() - 1])?;
                source.defined.contains(name).then(|| source.file.clone())
            });
            if !module.defined.contains(name)
                && let Some(file) = through.next()
            {
                return Some(file);
            }
        }
        Some(module.file.clone())
    }
}

/// Whether a name that is re-exported is also used in the file that does so.
fn mentioned(module: &Module, import: &Import) -> bool {
    module.tokens.iter().enumerate().any(|(index, token)| {
        token.kind == Kind::Ident
            && token.text == import.name
            && !module.imports.iter().any(|other| other.tokens.contains(&index))
            && !module.is_test(index)
            && !(index > 0 && module.tokens[index - 1].is("mod"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(files: &[(&str, &str)]) -> Vec<(String, String)> {
        let paths: Vec<_> =
            files.iter().map(|(path, text)| (format!("crates/x/src/{path}"), *text)).collect();
        let files: Vec<_> = paths.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let short = |file: &str| file.trim_start_matches("crates/x/src/").trim_end_matches(".rs").to_owned();
        let uses = uses(&Tree::of(&files), "x");
        let pairs = uses.iter().flat_map(|(from, to)| to.keys().map(|to| (short(from), short(to))));
        pairs.collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|&(from, to)| (from.to_owned(), to.to_owned())).collect()
    }

    #[test]
    fn imports_and_written_paths_are_uses() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c; mod d;"),
            ("a.rs", "use crate::{b::{self, B as Other}, c::C}; use std::fmt;"),
            ("b.rs", "pub struct B; fn f() { crate::c::g(); }"),
            ("c.rs", "pub struct C; fn g() { super::d::h() }"),
            ("d.rs", "fn h() -> impl X + use<> { std::mem::take(x); alloc::c::x() }"),
        ];
        assert_eq!(edges(&files), pairs(&[("a", "b"), ("a", "c"), ("b", "c"), ("c", "d")]));
    }

    #[test]
    fn a_child_goes_before_a_module_of_the_same_name_at_the_root() {
        let files = [
            ("lib.rs", "mod args; mod run;"),
            ("args/mod.rs", "mod run; use run::RunArgs; fn f(x: RunArgs) {}"),
            ("args/run.rs", "pub struct RunArgs;"),
            ("run.rs", "use crate::args::run::RunArgs;"),
        ];
        assert_eq!(edges(&files), pairs(&[("args/mod", "args/run"), ("run", "args/run")]));
    }

    #[test]
    fn facades_are_seen_through() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c; pub use a::A; pub use c::*;"),
            ("a.rs", "pub struct A;"),
            ("b.rs", "use crate::{A, C};"),
            ("c/mod.rs", "pub struct C; mod d; pub use d::D;"),
            ("c/d.rs", "pub struct D; use super::C; use crate::c::D as X;"),
        ];
        assert_eq!(edges(&files), pairs(&[("b", "a"), ("b", "c/mod"), ("c/d", "c/mod")]));
    }

    #[test]
    fn what_a_facade_itself_works_with_is_used() {
        let files = [("lib.rs", "mod a; pub use a::A; fn f(a: A) { a::g() }"), ("a.rs", "pub struct A;")];
        assert_eq!(edges(&files), pairs(&[("lib", "a")]));
    }

    #[test]
    fn tests_do_not_count() {
        let files = [
            ("lib.rs", "mod a; #[cfg(test)] mod b;"),
            ("a.rs", "#[cfg(test)] mod tests { use crate::b::B; fn f() { crate::b::g() } }"),
            ("b.rs", "use crate::a::A;"),
        ];
        assert!(edges(&files).is_empty());
        // What they import does not stand for what the file defines.
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a/mod.rs", "mod c;"),
            ("a/c.rs", "pub fn f() {} #[cfg(test)] mod tests { use super::f; }"),
            ("b.rs", "fn g() { crate::a::c::f() }"),
        ];
        assert_eq!(edges(&files), pairs(&[("b", "a/c")]));
    }
}
