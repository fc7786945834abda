//! The commands that the table names exist: make targets, tests, examples.

use tasuki_tuning::{Measure, constants};

use crate::workspace::{files, read, root};

/// The value behind an option.
fn option<'a>(words: &[&'a str], name: &str) -> Option<&'a str> {
    words.windows(2).find(|pair| pair[0] == name).map(|pair| pair[1])
}

#[test]
fn make_has_the_target_that_measures() {
    let makefile = read("Makefile");
    for line in ["\nmeasure:", "make measure"] {
        assert!(makefile.contains(line), "Makefile: {line}");
    }
    assert!(root().join("scripts/measure").is_file());
}

#[test]
fn tests_and_simulations_of_the_table_exist() {
    for constant in constants() {
        let (Measure::Test { command, .. } | Measure::Figures { command, .. }) = constant.measure else {
            continue;
        };
        let words: Vec<&str> = command.split(' ').take_while(|word| *word != "--").collect();
        let name = constant.full_name();
        assert!(
            matches!(words[..2], ["cargo", "test" | "run"]) && words[2] == "--release",
            "{name}: {command}"
        );
        let part = option(&words, "-p").unwrap_or_else(|| panic!("{name}: {command}"));
        let folder = format!("crates/{part}");
        assert!(root().join(&folder).is_dir(), "{name}: {folder}");
        if let Some(example) = option(&words, "--example") {
            assert!(root().join(format!("{folder}/examples/{example}.rs")).is_file(), "{name}: {example}");
            continue;
        }
        let place = match option(&words, "--test") {
            Some(test) if root().join(format!("{folder}/tests/{test}")).is_dir() => format!("tests/{test}/"),
            Some(test) => format!("tests/{test}.rs"),
            None => {
                assert!(words.contains(&"--lib"), "{name}: {command}");
                "src/".to_owned()
            }
        };
        let mut tests = files(&folder, &[".rs"]);
        tests.retain(|file| file.path.starts_with(&format!("{folder}/{place}")));
        assert!(!tests.is_empty(), "{name}: {folder}/{place}");
        let filter = words.last().filter(|word| !word.starts_with('-') && words.len() > 6);
        let Some(filter) = filter.and_then(|filter| filter.split("::").last()) else { continue };
        let known = tests.iter().any(|file| {
            file.text.contains(&format!("fn {filter}")) || file.path.contains(&format!("/{filter}"))
        });
        assert!(known || filter == "tests", "{name}: no test is called {filter}");
    }
}
