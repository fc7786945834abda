//! Pages of `docs/adr`, each of which records a costly choice, have the same four parts.

use crate::breach::{Breach, Law};
use crate::tree::Tree;

pub const LAW: Law = Law {
    name: "records",
    remedy: "give the page the headings `## Context`, `## Choice`, `## Rejected` and `## Evidence`, each \
             once, in this order, and none other of this level",
};

const PARTS: [&str; 4] = ["Context", "Choice", "Rejected", "Evidence"];

pub fn check(tree: &Tree) -> Vec<Breach> {
    let pages = tree.with_extension("md").filter(|(path, _)| path.starts_with("docs/adr/"));
    let found = pages.map(|(path, text)| {
        let headings =
            text.lines().enumerate().filter_map(|(index, line)| Some((index, line.strip_prefix("## ")?)));
        (path, headings.collect::<Vec<_>>())
    });
    let wrong = found.filter(|(_, headings)| headings.iter().map(|&(_, text)| text.trim()).ne(PARTS));
    wrong
        .map(|(path, headings)| Breach {
            file: path.to_owned(),
            line: headings.first().map_or(1, |&(index, _)| index + 1),
            what: format!("headings are {:?}", headings.iter().map(|&(_, text)| text).collect::<Vec<_>>()),
            key: path.to_owned(),
            weight: 1,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaches(text: &str) -> usize {
        check(&Tree::of(&[("docs/adr/0001-x.md", text), ("docs/other.md", "# x\n")])).len()
    }

    #[test]
    fn a_page_has_its_four_parts_in_order() {
        assert_eq!(breaches("# 1. x\n## Context\n## Choice\na\n### b\n## Rejected\n## Evidence\n"), 0);
        assert_eq!(breaches("# 1. x\n## Context\n## Choice\n## Rejected\n"), 1, "one is missing");
        assert_eq!(breaches("## Context\n## Rejected\n## Choice\n## Evidence\n"), 1, "another order");
        assert_eq!(
            breaches("**Context.** a **Choice.** b **Rejected.** c **Evidence.** d"),
            1,
            "no headings"
        );
        assert_eq!(breaches("## Context\n## Choice\n## Rejected\n## Evidence\n## More\n"), 1, "one too many");
    }
}
