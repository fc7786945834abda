//! README's table of crates says what each may use; the manifests say what each does use. Arrows point to
//! rows above.

use std::collections::{BTreeMap, BTreeSet};

use crate::breach::{Breach, Law};
use crate::manifest::{self, Manifest};
use crate::tree::Tree;

pub const LAW: Law = Law {
    name: "arrows",
    remedy: "make the last column of README's table (\"How it is put together\") and [dependencies] of the \
             crate's \
             Cargo.toml say the same, with every crate below those that it uses; if that needs an arrow \
             upwards, the code is in the wrong crate",
};

/// A row names one crate or several, and what they may use.
struct Row {
    line: usize,
    crates: Vec<String>,
    /// None: all crates of the rows above.
    uses: Option<BTreeSet<String>>,
}

fn full_name(short: &str) -> String {
    let short = short.trim().trim_matches('`');
    if short.starts_with("tasuki-") { short.to_owned() } else { format!("tasuki-{short}") }
}

/// The rows of the table whose heading ends in "may use".
fn rows(readme: &str) -> Vec<Row> {
    let lines = readme.lines().enumerate().skip_while(|(_, line)| !line.trim_end().ends_with("| may use |"));
    lines.skip(2).map_while(|(index, line)| row(index + 1, line)).collect()
}

fn row(line: usize, text: &str) -> Option<Row> {
    let cells: Vec<&str> = text.strip_prefix('|')?.strip_suffix('|')?.split('|').collect();
    let (names, uses) = (cells.first()?, cells.last()?.trim());
    let uses = match uses {
        "all" => None,
        "-" => Some(BTreeSet::new()),
        uses => Some(uses.split(',').map(full_name).collect()),
    };
    Some(Row { line, crates: names.split(',').map(full_name).collect(), uses })
}

pub fn check(tree: &Tree) -> Vec<Breach> {
    let rows = rows(tree.text("README.md").unwrap_or_default());
    let mut breaches = Vec::new();
    let mut breach = |line, name: &str, what: String| {
        breaches.push(Breach { file: "README.md".into(), line, what, key: name.into(), weight: 1 });
    };
    let manifests: BTreeMap<&str, Manifest> =
        tree.crates().filter_map(|name| Some((name, manifest::of(tree, name)?))).collect();
    let mut above = BTreeSet::new();
    for row in &rows {
        for name in &row.crates {
            let Some(manifest) = manifests.get(name.as_str()) else {
                breach(row.line, name, format!("there is no crate {name}"));
                continue;
            };
            compare(row, name, manifest, &above, &mut breach);
        }
        above.extend(row.crates.iter().cloned());
    }
    for name in manifests.keys().filter(|&&name| !above.contains(name)) {
        breach(1, name, format!("the table of crates does not list {name}"));
    }
    breaches
}

fn compare(
    row: &Row,
    name: &str,
    manifest: &Manifest,
    above: &BTreeSet<String>,
    breach: &mut impl FnMut(usize, &str, String),
) {
    let used = manifest.internal();
    for other in used.iter().filter(|&other| !above.contains(other)) {
        breach(row.line, name, format!("{name} uses {other}, which is not in a row above"));
    }
    let Some(listed) = &row.uses else { return };
    for other in used.difference(listed) {
        breach(row.line, name, format!("{name} depends on {other}, which its row does not name"));
    }
    for other in listed.difference(&used) {
        breach(row.line, name, format!("the row of {name} names {other}, on which it does not depend"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "| crate | holds | may use |\n|---|---|---|\n";

    fn found(rows: &str, manifests: &[(&str, &str)]) -> Vec<String> {
        let readme = format!("# X\n\n{HEAD}{rows}\nText.\n");
        let paths: Vec<_> =
            manifests.iter().map(|(name, text)| (format!("crates/{name}/Cargo.toml"), *text)).collect();
        let mut files = vec![("README.md", readme.as_str())];
        files.extend(paths.iter().map(|(path, text)| (path.as_str(), *text)));
        check(&Tree::of(&files)).into_iter().map(|breach| breach.what).collect()
    }

    const WIRE: (&str, &str) = ("tasuki-wire", "[dependencies]\n");
    const PROTO: (&str, &str) = ("tasuki-proto", "[dependencies]\ntasuki-wire.workspace = true\n");

    #[test]
    fn a_table_that_agrees_passes() {
        assert!(
            found("| `tasuki-wire` | x | - |\n| `tasuki-proto` | y | wire |\n", &[WIRE, PROTO]).is_empty()
        );
        let both = ("tasuki-c", "[build-dependencies]\ntasuki-proto.workspace = true\n");
        let rows = "| `tasuki-wire` | x | - |\n| `tasuki-proto` | y | wire |\n| `tasuki-c` | z | all |\n";
        assert!(found(rows, &[WIRE, PROTO, both]).is_empty());
    }

    #[test]
    fn what_a_row_says_too_much_or_too_little_is_found() {
        let rows = "| `tasuki-wire` | x | - |\n| `tasuki-proto` | y | - |\n";
        assert_eq!(
            found(rows, &[WIRE, PROTO]),
            ["tasuki-proto depends on tasuki-wire, which its row does not name"]
        );
        let rows = "| `tasuki-proto`, `tasuki-wire` | x | - |\n";
        assert!(found(rows, &[WIRE, PROTO]).iter().any(|what| what.contains("not in a row above")));
        let rows = "| `tasuki-wire` | x | - |\n| `tasuki-proto` | y | wire, msg |\n";
        assert!(found(rows, &[WIRE, PROTO])[0].contains("names tasuki-msg, on which it does not depend"));
    }

    #[test]
    fn an_arrow_upwards_is_found() {
        let rows = "| `tasuki-proto` | y | wire |\n| `tasuki-wire` | x | - |\n";
        assert_eq!(
            found(rows, &[WIRE, PROTO]),
            ["tasuki-proto uses tasuki-wire, which is not in a row above"]
        );
    }

    #[test]
    fn crates_that_are_not_listed_and_rows_without_a_crate_are_found() {
        assert_eq!(
            found("| `tasuki-wire` | x | - |\n", &[WIRE, PROTO]),
            ["the table of crates does not list tasuki-proto"]
        );
        assert_eq!(
            found("| `tasuki-wire`, `tasuki-gone` | x | - |\n", &[WIRE]),
            ["there is no crate tasuki-gone"]
        );
    }

    #[test]
    fn dev_dependencies_are_no_arrows() {
        let dev = ("tasuki-wire", "[dev-dependencies]\ntasuki-proto.workspace = true\n");
        assert!(
            found("| `tasuki-wire` | x | - |\n| `tasuki-proto` | y | wire |\n", &[dev, PROTO]).is_empty()
        );
    }
}
