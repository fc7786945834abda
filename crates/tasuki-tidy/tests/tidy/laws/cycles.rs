//! Files of a crate use each other in one direction: what is tied into a circle can only be understood as a
//! whole.

use std::collections::BTreeSet;

use crate::breach::{Breach, Law};
use crate::modules::{Uses, uses};
use crate::tree::Tree;

/// Files that may use each other, directly or around.
const FILES: usize = 5;

pub const LAW: Law = Law {
    name: "cycles",
    remedy: "break the circle: move what two files share into a third that uses neither, or pass it as an \
             argument, until at most 5 files use each other, directly or through others",
};

pub fn check(tree: &Tree) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for name in tree.crates() {
        let uses = uses(tree, name);
        let Some(largest) = circles(&uses).into_iter().max_by_key(BTreeSet::len) else { continue };
        if largest.len() > FILES {
            breaches.push(Breach {
                file: format!("crates/{name}/src"),
                line: 1,
                what: describe(&uses, &largest),
                key: name.to_owned(),
                weight: largest.len(),
            });
        }
    }
    breaches
}

/// Every use inside the circle, with its place.
fn describe(uses: &Uses, circle: &BTreeSet<String>) -> String {
    let mut text = format!("{} files use each other:", circle.len());
    for from in circle {
        for (to, line) in uses[from].iter().filter(|(to, _)| circle.contains(*to)) {
            text += &format!("\n    {from}:{line} uses {to}");
        }
    }
    text
}

/// Sets of files each of which reaches each other one (strongly connected components), by Kosaraju's
/// algorithm.
fn circles(uses: &Uses) -> Vec<BTreeSet<String>> {
    let mut order = Vec::new();
    let mut seen = BTreeSet::new();
    for file in uses.keys() {
        visit(file, &mut seen, &mut order, &|file| uses[file].keys().collect());
    }
    let users =
        |file: &String| uses.iter().filter(|(_, to)| to.contains_key(file)).map(|(from, _)| from).collect();
    let mut seen = BTreeSet::new();
    let mut circles = Vec::new();
    for file in order.iter().rev() {
        let mut circle = Vec::new();
        visit(file, &mut seen, &mut circle, &users);
        circles.push(circle.into_iter().collect());
    }
    circles
}

/// Walks on from `file`; appends each file behind those that it leads to.
fn visit<'a>(
    file: &'a String,
    seen: &mut BTreeSet<String>,
    order: &mut Vec<String>,
    next: &impl Fn(&'a String) -> Vec<&'a String>,
) {
    if seen.insert(file.clone()) {
        for other in next(file) {
            visit(other, seen, order, next);
        }
        order.push(file.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The breach of a crate of files that each use the next, the last one the first if `closed`.
    fn ring(files: usize, closed: bool) -> Vec<Breach> {
        let texts: Vec<_> = (0..files)
            .map(|number| {
                let next = (number + 1) % files;
                let text =
                    if closed || next != 0 { format!("use crate::m{next}::X{next};") } else { String::new() };
                (format!("crates/x/src/m{number}.rs"), format!("pub struct X{number}; {text}"))
            })
            .collect();
        let root: String = (0..files).map(|number| format!("mod m{number};")).collect();
        let mut all = vec![("crates/x/Cargo.toml", ""), ("crates/x/src/lib.rs", root.as_str())];
        all.extend(texts.iter().map(|(path, text)| (path.as_str(), text.as_str())));
        check(&Tree::of(&all))
    }

    #[test]
    fn a_circle_of_six_files_is_found() {
        let found = ring(6, true);
        assert_eq!((found[0].key.as_str(), found[0].weight), ("x", 6));
        assert!(found[0].what.contains("crates/x/src/m5.rs:1 uses crates/x/src/m0.rs"), "{}", found[0].what);
    }

    #[test]
    fn five_files_and_chains_pass() {
        assert!(ring(5, true).is_empty());
        assert!(ring(9, false).is_empty());
    }
}
