//! A type's methods are in a few files: a type that is spread over many is a room without walls, where every
//! field may be changed from everywhere.

use std::collections::BTreeMap;

use crate::breach::{Breach, Law};
use crate::items::{conditional, impls, tests_only};
use crate::tree::{Tree, part_of};

/// Files of a crate that may have `impl` blocks (not of traits) of the same type.
const FILES: usize = 4;

pub const LAW: Law = Law {
    name: "blocks",
    remedy: "give the state that some of these methods work on to a type of its own, with its methods \
             beside it, until at most 4 files have an `impl` block of the type",
};

pub fn check(tree: &Tree) -> Vec<Breach> {
    let mut files: BTreeMap<(&str, String), BTreeMap<&str, usize>> = BTreeMap::new();
    for (path, lexed) in tree.rust().filter(|(path, _)| path.contains("/src/")) {
        let tests = conditional(&lexed.tokens, tests_only);
        for block in impls(&lexed.tokens) {
            let is_test = tests.iter().any(|range| range.contains(&block.tokens.start));
            if !block.of_trait && !is_test {
                files.entry((part_of(path), block.of)).or_default().entry(path).or_insert(block.line);
            }
        }
    }
    let spread = files.into_iter().filter(|(_, files)| files.len() > FILES);
    spread
        .flat_map(|((part, of), files)| {
            let count = files.len();
            files.into_iter().map(move |(path, line)| Breach {
                file: path.to_owned(),
                line,
                what: format!("one of the {count} files of {part} with `impl {of}`"),
                key: format!("{part} {of}"),
                weight: 1,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(files: &[&str]) -> usize {
        let paths: Vec<String> = (0..files.len()).map(|number| format!("crates/a/src/{number}.rs")).collect();
        let files: Vec<_> = paths.iter().map(String::as_str).zip(files.iter().copied()).collect();
        check(&Tree::of(&files)).len()
    }

    #[test]
    fn a_type_in_five_files_is_found() {
        let block = "impl super::State<u8> { fn a() {} }";
        assert_eq!(count(&[block; 4]), 0);
        assert_eq!(count(&[block; 5]), 5);
    }

    #[test]
    fn traits_tests_and_other_types_do_not_count() {
        assert_eq!(count(&["impl Drop for State { }"; 5]), 0);
        assert_eq!(count(&["#[cfg(test)] mod tests { impl State {} }"; 5]), 0);
        assert_eq!(count(&["impl A {}", "impl B {}", "impl A {}", "impl B {}", "impl A {}"]), 0);
        assert_eq!(count(&["impl A {} impl A {}"; 4]), 0);
    }
}
