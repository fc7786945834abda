//! Entries of the changelog are a line each.

use crate::breach::{Breach, Law};
use crate::tree::Tree;

pub const LAW: Law = Law {
    name: "changelog",
    remedy: "say what changed for users in one line that begins with `- `, of at most 120 columns; how and \
             why belongs in docs/",
};

const PAGE: &str = "CHANGELOG.md";

pub fn check(tree: &Tree) -> Vec<Breach> {
    let lines = tree.text(PAGE).unwrap_or_default().lines().enumerate();
    let of_versions = lines.skip_while(|(_, line)| !line.starts_with("## "));
    let is_entry = |line: &str| line.starts_with("- ") && line.chars().count() <= 120;
    let wrong = of_versions.filter(|(_, line)| !(line.is_empty() || line.starts_with('#') || is_entry(line)));
    wrong
        .map(|(index, line)| Breach {
            file: PAGE.to_owned(),
            line: index + 1,
            what: format!("no entry of one line: {}", line.chars().take(60).collect::<String>()),
            key: PAGE.to_owned(),
            weight: 1,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_of_two_lines_or_of_121_columns_is_found() {
        let lines = |text: &str| -> Vec<usize> {
            check(&Tree::of(&[(PAGE, text)])).into_iter().map(|breach| breach.line).collect()
        };
        let long =
            |columns: usize| format!("# Changelog\n\nText.\n\n## 1.0\n- {}\n", "é".repeat(columns - 2));
        assert_eq!(lines(&long(120)), [0; 0]);
        assert_eq!(lines(&long(121)), [6]);
        assert_eq!(
            lines("# Changelog\n\n## 1.0\n\n### Cables\n- One thing,\n  and more of it.\n- Other.\n"),
            [7]
        );
    }
}
