//! Functions, files and lines have room for what a reader can hold in his head, and for a screen.

use crate::breach::{Breach, Law};
use crate::items;
use crate::tree::{Tree, extension_of, part_of};

/// Lines of a function, from `fn` to its last brace.
const FUNCTION_LINES: usize = 70;
/// Lines of a Rust file, its unit tests counted.
const FILE_LINES: usize = 400;
/// Lines that a Rust file better has at most. How many files of a crate have more may not grow.
const GOOD_FILE_LINES: usize = 300;
/// Columns of code and comments, as in rustfmt.toml.
const CODE_COLUMNS: usize = 110;
/// Columns of Markdown, but for tables, code, and where links lead.
const TEXT_COLUMNS: usize = 120;
/// Where the `tasuki` command joins the libraries that do its work.
const COMMAND: &str = "crates/tasuki-cli/src/";
/// Lines of all Rust files there. Whatever a command works out or does has its room in a library.
const COMMAND_LINES: usize = 9_000;

pub const FUNCTIONS: Law = Law {
    name: "functions",
    remedy: "take parts that have a name of their own out of the function, until it has at most 70 lines",
};

pub const FILES: Law =
    Law { name: "files", remedy: "split the file by purpose, until each part has at most 400 lines" };

pub const LARGE_FILES: Law = Law {
    name: "large-files",
    remedy: "split a file of the crate by purpose, so that no more of its files than before have over 300 \
             lines",
};

pub const COMMAND_SIZE: Law = Law {
    name: "command-size",
    remedy: "move what is no printing of results out of tasuki-cli into the library that it belongs to, \
             until crates/tasuki-cli/src has at most 9,000 lines",
};

pub const WIDTH: Law = Law {
    name: "width",
    remedy: "wrap the line: at most 110 columns in Rust, C, scripts and the Makefile; at most 120 in \
             Markdown outside of tables, code and the targets of links",
};

pub fn functions(tree: &Tree) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (path, lexed) in tree.rust() {
        let long = items::functions(&lexed.tokens).into_iter().filter(|found| found.lines > FUNCTION_LINES);
        breaches.extend(long.map(|found| Breach {
            file: path.to_owned(),
            line: found.line,
            what: format!("`{}` has {} lines", found.name, found.lines),
            key: format!("{} {}", part_of(path), found.name),
            weight: found.lines,
        }));
    }
    breaches
}

pub fn files(tree: &Tree) -> Vec<Breach> {
    let long = |lines: usize| lines > FILE_LINES;
    over(tree, long, |path, lines| (path.to_owned(), lines))
}

pub fn large_files(tree: &Tree) -> Vec<Breach> {
    let large = |lines: usize| lines > GOOD_FILE_LINES;
    over(tree, large, |path, _| (part_of(path).to_owned(), 1))
}

pub fn command_size(tree: &Tree) -> Vec<Breach> {
    let of_command = tree.with_extension("rs").filter(|(path, _)| path.starts_with(COMMAND));
    let lines = of_command.map(|(_, text)| text.lines().count()).sum();
    let breach = Breach {
        file: COMMAND.to_owned(),
        line: lines,
        what: format!("its files have {lines} lines"),
        key: part_of(COMMAND).to_owned(),
        weight: lines,
    };
    Vec::from_iter((lines > COMMAND_LINES).then_some(breach))
}

fn over(
    tree: &Tree,
    too_long: impl Fn(usize) -> bool,
    counted: impl Fn(&str, usize) -> (String, usize),
) -> Vec<Breach> {
    let files = tree.with_extension("rs").map(|(path, text)| (path, text.lines().count()));
    let long = files.filter(|&(_, lines)| too_long(lines));
    long.map(|(path, lines)| {
        let (key, weight) = counted(path, lines);
        Breach {
            file: path.to_owned(),
            line: lines,
            what: format!("the file has {lines} lines"),
            key,
            weight,
        }
    })
    .collect()
}

/// Whether a file is written by hand in a language whose lines are counted as code.
fn is_code(path: &str) -> bool {
    let is_script =
        (path.starts_with("scripts/") || path.starts_with("packaging/")) && extension_of(path).is_empty();
    path == "Makefile" || is_script || ["rs", "c", "h", "sh", "py"].contains(&extension_of(path))
}

pub fn width(tree: &Tree) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (path, text) in tree.files() {
        let wide = match extension_of(path) {
            "md" => wide_text(text),
            _ if is_code(path) => wide_code(text),
            _ => continue,
        };
        breaches.extend(wide.into_iter().map(|(line, columns)| Breach {
            file: path.to_owned(),
            line,
            what: format!("the line has {columns} columns"),
            key: part_of(path).to_owned(),
            weight: 1,
        }));
    }
    breaches
}

/// Line and columns of lines of code that are too wide.
fn wide_code(text: &str) -> Vec<(usize, usize)> {
    let columns = text.lines().map(|line| line.chars().count()).enumerate();
    columns
        .filter(|&(_, columns)| columns > CODE_COLUMNS)
        .map(|(index, columns)| (index + 1, columns))
        .collect()
}

fn wide_text(text: &str) -> Vec<(usize, usize)> {
    let mut in_code = false;
    let mut wide = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        let exempt = in_code || line.trim_start().starts_with('|');
        let columns = without_targets(line).chars().count();
        if !exempt && columns > TEXT_COLUMNS {
            wide.push((index + 1, columns));
        }
    }
    wide
}

/// A line without what nobody can wrap: the targets of links, and bare addresses.
fn without_targets(line: &str) -> String {
    let mut left = String::new();
    let mut rest = line;
    while let Some(at) = rest.find("](") {
        left.push_str(&rest[..at + 2]);
        rest = &rest[at + 2..];
        rest = rest.find(')').map_or("", |end| &rest[end..]);
    }
    left.push_str(rest);
    left.split(' ').filter(|word| !word.contains("://")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(lines: usize) -> String {
        format!("fn long() {{\n{}}}\n", "    x();\n".repeat(lines - 2))
    }

    #[test]
    fn a_function_of_71_lines_is_found_and_one_of_70_is_not() {
        let check = |lines| functions(&Tree::of(&[("crates/a/src/b.rs", &function(lines))]));
        assert!(check(70).is_empty());
        let found = check(71);
        assert_eq!((found[0].line, found[0].key.as_str(), found[0].weight), (1, "a long", 71));
    }

    #[test]
    fn a_long_file_is_found() {
        let check = |lines| files(&Tree::of(&[("crates/a/src/b.rs", &"\n".repeat(lines))]));
        assert!(check(400).is_empty());
        assert_eq!((check(401)[0].key.as_str(), check(401)[0].weight), ("crates/a/src/b.rs", 401));
        let check = |lines| large_files(&Tree::of(&[("crates/a/src/b.rs", &"\n".repeat(lines))]));
        assert!(check(300).is_empty());
        assert_eq!((check(301)[0].key.as_str(), check(301)[0].weight), ("a", 1));
    }

    #[test]
    fn a_command_that_grows_is_found() {
        let check = |lines: usize| {
            let half = "\n".repeat(lines / 2);
            let files =
                [("crates/tasuki-cli/src/a.rs", half.as_str()), ("crates/tasuki-cli/src/b/c.rs", &half)];
            command_size(&Tree::of(&[files[0], files[1], ("crates/tasuki-cli/tests/d.rs", &half)]))
        };
        assert!(check(9_000).is_empty());
        assert_eq!((check(9_002)[0].key.as_str(), check(9_002)[0].weight), ("tasuki-cli", 9_002));
    }

    #[test]
    fn columns_of_code_are_characters() {
        let check = |path, columns| width(&Tree::of(&[(path, &format!("\n{}\n", "é".repeat(columns)))]));
        for path in ["crates/a/src/b.rs", "Makefile", "scripts/setup", "bench/x/y.c"] {
            assert!(check(path, 110).is_empty());
            assert_eq!(check(path, 111)[0].line, 2, "{path}");
        }
        assert!(check("docs/a.md", 120).is_empty());
        assert_eq!(check("docs/a.md", 121).len(), 1);
        assert!(check("packaging/units/a.service", 200).is_empty());
    }

    #[test]
    fn tables_code_and_targets_of_links_may_be_wide_in_markdown() {
        let long = "x".repeat(130);
        let text = format!("| {long} |\n```\n{long}\n```\n[a](docs/{long}) b https://{long}\n");
        assert!(width(&Tree::of(&[("docs/a.md", &text)])).is_empty());
        let text = format!("[{long}](b)\n");
        assert_eq!(width(&Tree::of(&[("docs/a.md", &text)])).len(), 1);
    }
}
