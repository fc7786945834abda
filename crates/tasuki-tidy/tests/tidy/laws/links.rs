//! Links in README, CHANGELOG and docs lead to files and headings that exist, and that are installed with
//! them; so do pages that are named in code.

use std::collections::BTreeSet;

use crate::breach::{Breach, Law};
use crate::tree::{Tree, part_of};

pub const LAW: Law = Law {
    name: "links",
    remedy: "correct the path or the heading's name, as GitHub makes it: small letters, no punctuation, a \
             hyphen for each space",
};

pub fn check(tree: &Tree) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (path, text) in tree.files() {
        // The laws' own tests name pages that do not exist.
        let mut dead = if part_of(path) == "tasuki-tidy" { Vec::new() } else { pages(text) };
        dead.retain(|(_, page)| !tree.holds(page));
        let mut dead: Vec<_> =
            dead.into_iter().map(|(line, page)| (line, format!("there is no {page}"))).collect();
        if path.ends_with(".md") {
            let links = links(text).into_iter();
            dead.extend(links.filter_map(|(line, link)| Some((line, fault(tree, path, &link)?))));
        }
        breaches.extend(dead.into_iter().map(|(line, what)| Breach {
            file: path.to_owned(),
            line,
            what,
            key: part_of(path).to_owned(),
            weight: 1,
        }));
    }
    breaches
}

/// Lines of a Markdown text that are no code, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        (!in_code && !fence).then_some((index + 1, line))
    })
}

/// Targets of links, `[text](target)`, that lead into this repository.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    for (number, line) in prose(text) {
        for part in line.split("](").skip(1) {
            let target = part.split([')', ' ']).next().unwrap_or_default();
            if !target.contains("://") && !target.starts_with("mailto:") {
                links.push((number, target.to_owned()));
            }
        }
    }
    links
}

/// What is wrong with a link in the file `from`.
fn fault(tree: &Tree, from: &str, link: &str) -> Option<String> {
    let (path, heading) = link.split_once('#').map_or((link, None), |(path, heading)| (path, Some(heading)));
    let target = if path.is_empty() { from.to_owned() } else { resolve(from, path) };
    if !tree.holds(&target) {
        return Some(format!("the link {link} leads to {target}, which does not exist"));
    }
    if is_installed(from) && !is_installed(&target) {
        return Some(format!("the link {link} leads to {target}, which scripts/install leaves out"));
    }
    let heading = heading?;
    let known = headings(tree.text(&target).unwrap_or_default());
    (!known.contains(heading)).then(|| format!("the link {link}: {target} has no such heading"))
}

/// Whether scripts/install puts a file, or the files of a folder, where a package has its documentation.
fn is_installed(path: &str) -> bool {
    let is_root_page = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"].contains(&path);
    is_root_page || ["docs", "examples"].iter().any(|folder| path.split('/').next() == Some(folder))
}

/// The path of a link in the file `from`, from the repository's root.
fn resolve(from: &str, path: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Names of a page's headings, as links use them.
fn headings(text: &str) -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    for (_, line) in prose(text) {
        let title = line.trim_start_matches('#');
        if title.len() < line.len() && title.starts_with(' ') {
            let name = slug(title.trim());
            let again = (1..).map(|number| format!("{name}-{number}"));
            let free = [name.clone()].into_iter().chain(again).find(|name| !known.contains(name));
            known.extend(free);
        }
    }
    known
}

fn slug(title: &str) -> String {
    let kept = title.chars().filter(|&character| character.is_alphanumeric() || " -_".contains(character));
    kept.flat_map(char::to_lowercase)
        .map(|character| if character == ' ' { '-' } else { character })
        .collect()
}

/// Pages of this repository that a text names without a link: `docs/internals/rate-model.md`.
fn pages(text: &str) -> Vec<(usize, String)> {
    let mut pages = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for (at, _) in line.match_indices("docs/") {
            let before = line[..at].chars().next_back();
            let is_path = |character: char| character.is_ascii_alphanumeric() || "-_./".contains(character);
            let end = line[at..].find(|character| !is_path(character)).map_or(line.len(), |end| at + end);
            let path = line[at..end].trim_end_matches('.');
            if !before.is_some_and(is_path) && path.ends_with(".md") {
                pages.push((index + 1, path.to_owned()));
            }
        }
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<(String, usize)> {
        check(&Tree::of(files)).into_iter().map(|breach| (breach.file, breach.line)).collect()
    }

    #[test]
    fn links_to_files_folders_and_headings_that_exist_pass() {
        let page = "# A page: its `title`\n\n[a](#a-page-its-title) [b](../README.md) [c](adr/) \
                    [d](https://x/y.md)\n";
        let readme = "[a](docs/a.md#a-page-its-title) docs/a.md.\n```\n[x](gone.md)\n# no heading\n```\n";
        let adr = "[up](../a.md)";
        assert!(found(&[("docs/a.md", page), ("README.md", readme), ("docs/adr/1.md", adr)]).is_empty());
    }

    #[test]
    fn dead_links_are_found() {
        let page = ("docs/a.md", "# A\n");
        assert_eq!(
            found(&[page, ("README.md", "\n[a](docs/b.md)")]),
            [("README.md".into(), 2), ("README.md".into(), 2)]
        );
        assert_eq!(found(&[page, ("docs/c.md", "[a](b.md)")]).len(), 1);
        assert_eq!(found(&[page, ("README.md", "[a](docs/a.md#b)")]).len(), 1, "no such heading");
        assert_eq!(found(&[page, ("README.md", "```\n# B\n```\n[a](#b)")]).len(), 1, "that is code");
    }

    #[test]
    fn links_to_what_a_package_lacks_are_found() {
        let source = ("crates/x/src/lib.rs", "//! A crate.");
        for page in ["README.md", "docs/a.md"] {
            let link = if page == "README.md" { "[a](crates/x)" } else { "[a](../crates/x/src/lib.rs)" };
            assert_eq!(found(&[source, (page, link)]), [(page.into(), 1)]);
        }
        let example = ("examples/a.c", "int main(void) {}");
        assert!(found(&[example, ("README.md", "[a](examples/) [b](examples/a.c)")]).is_empty());
        assert!(found(&[source, ("crates/x/notes.md", "[a](src/lib.rs)")]).is_empty(), "it is not installed");
    }

    #[test]
    fn pages_that_code_names_exist() {
        let page = ("docs/a.md", "# A\n");
        assert!(found(&[page, ("crates/x/src/b.rs", "//! See `docs/a.md`. usr/share/docs/b.md")]).is_empty());
        assert_eq!(
            found(&[page, ("crates/x/src/b.rs", "//! `docs/b.md`")]),
            [("crates/x/src/b.rs".into(), 1)]
        );
    }

    #[test]
    fn a_heading_that_comes_twice_has_two_names() {
        assert_eq!(headings("# A b\n## A b\n"), ["a-b", "a-b-1"].map(str::to_owned).into());
    }
}
