//! The documentation of the environment has the variables of the list, and no others.

use std::collections::BTreeSet;

use tasuki_tuning::variables::{Reader, variables};

use crate::workspace::read;

const PAGE: &str = "docs/reference/environment.md";

/// The section of a part of Tasuki in that page.
fn heading(reader: Reader) -> &'static str {
    match reader {
        Reader::Endpoints => "## Programs that send messages",
        Reader::Provider => "## The libfabric provider",
        Reader::Command => "## The `tasuki` command",
        Reader::Ranks => "## Ranks of submitted jobs",
        Reader::Tests => "## Tests",
    }
}

/// The rows of a section's table: the variables that the first cell names, and the last cell.
fn rows(page: &str, reader: Reader) -> Vec<(Vec<String>, String)> {
    let section = page.split(heading(reader)).nth(1).unwrap_or_else(|| panic!("{PAGE}: {reader}"));
    let section = section.split("\n## ").next().unwrap_or_default();
    let cells = section.lines().filter(|line| line.starts_with("| `")).map(|line| {
        line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
    });
    let rows = cells.map(|cells| {
        let quoted = cells[0].split('`').skip(1).step_by(2);
        let names = quoted.map(|name| name.split('=').next().unwrap_or_default().to_owned());
        (names.collect(), cells.last().cloned().unwrap_or_default())
    });
    rows.collect()
}

#[test]
fn the_page_has_the_variables_of_the_list() {
    let page = read(PAGE);
    for reader in Reader::ALL {
        let shown: BTreeSet<String> = rows(&page, reader)
            .into_iter()
            .flat_map(|(names, _)| names)
            .filter(|name| is_ours(name))
            .collect();
        let listed: BTreeSet<String> = variables()
            .filter(|variable| variable.readers.contains(&reader))
            .map(|variable| variable.name.to_owned())
            .collect();
        assert_eq!(shown, listed, "{PAGE}, {reader}");
    }
}

fn is_ours(name: &str) -> bool {
    name.starts_with("TASUKI_")
}

#[test]
fn the_page_has_the_defaults_of_the_list() {
    let page = read(PAGE);
    for variable in variables().filter(|variable| !variable.readers.contains(&Reader::Tests)) {
        let rows = rows(&page, variable.readers[0]);
        let row = rows.iter().find(|(names, _)| names.iter().any(|name| name == variable.name));
        let (_, default) = row.unwrap_or_else(|| panic!("{PAGE}: {}", variable.name));
        let default = default.replace('`', "");
        if !variable.default.is_empty() {
            assert_eq!(default, variable.default, "{PAGE}, {}", variable.name);
        }
    }
}

#[test]
fn the_page_has_the_words_that_a_variable_takes() {
    let page = read(PAGE);
    for variable in variables().filter(|variable| !variable.readers.contains(&Reader::Tests)) {
        let name = format!("`{}", variable.name);
        let line = page.lines().find(|line| line.starts_with("| `") && line.contains(&name));
        let line = line.unwrap_or_else(|| panic!("{PAGE}: {}", variable.name));
        for word in variable.words().iter().filter(|word| !["0", "1"].contains(word)) {
            assert!(line.contains(&format!("`{word}`")), "{PAGE}, {}: {word}", variable.name);
        }
    }
}
