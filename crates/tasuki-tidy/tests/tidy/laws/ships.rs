//! What is installed and packaged was built for that: no test build writes where `make install` and `make
//! deb` take files from. `cargo test --workspace` switches planted defects and crash points on in the crates
//! that programs are made of, so what it builds must lie elsewhere.

use crate::breach::{Breach, Law};
use crate::tree::Tree;

pub const LAW: Law = Law {
    name: "ships",
    remedy: "build what ships with `cargo build --profile ship` (the provider with `--profile provider`), \
             without features and targets of tests; build tests with `--release`; and take what is installed \
             or packaged from target/ship, refusing files with the marker TASUKI-TEST-BUILD",
};

/// Profiles whose folders below `target` hold what ships.
const SHIPPED: [&str; 2] = ["--profile ship", "--profile provider"];

/// Arguments of `cargo build` that may switch features on that only tests have.
const OF_TESTS: [&str; 5] = ["--features", "--all-features", "--all-targets", "--tests", "--test "];

/// What these files must hold, and why.
const MUST_HOLD: [(&str, &str, &str); 6] = [
    ("Cargo.toml", "[profile.ship]", "what ships has a profile, and so a folder, of its own"),
    ("Makefile", "TASUKI := target/ship/tasuki", "`make run` runs what ships"),
    ("Makefile", "build --profile ship --locked", "`make build` builds what ships"),
    ("scripts/install", "BUILT:-target/ship}", "files are installed from the folder of what ships"),
    ("scripts/install", "grep -aq 'TASUKI-TEST-BUILD'", "files that were built for tests are refused"),
    ("scripts/deb", "grep -rla 'TASUKI-TEST-BUILD'", "files that were built for tests are refused"),
];

pub fn check(tree: &Tree) -> Vec<Breach> {
    let breach = |file: &str, line, what| Breach {
        file: file.to_owned(),
        line,
        what,
        key: file.to_owned(),
        weight: 1,
    };
    let mut breaches = Vec::new();
    for (file, text, why) in MUST_HOLD {
        if !tree.text(file).is_some_and(|all| all.contains(text)) {
            breaches.push(breach(file, 1, format!("there is no `{text}`: {why}")));
        }
    }
    let scripts = tree.files().filter(|(path, _)| *path == "Makefile" || path.starts_with("scripts/"));
    for (path, text) in scripts {
        let wrong = commands(text).into_iter().filter_map(|(line, command)| Some((line, wrong(&command)?)));
        breaches.extend(wrong.map(|(line, what)| breach(path, line, what.to_owned())));
    }
    for rule in ["deb:", "run:", "bench:"] {
        let makefile = tree.text("Makefile").unwrap_or_default();
        let found = makefile.lines().enumerate().find(|(_, line)| line.starts_with(rule));
        if !found.is_some_and(|(_, line)| line.split_whitespace().any(|word| word == "build")) {
            let line = found.map_or(1, |(index, _)| index + 1);
            breaches.push(breach("Makefile", line, format!("`{rule}` does not come after `build`")));
        }
    }
    breaches
}

/// Lines, each with its number; those that a backslash at the end continues are joined.
fn commands(text: &str) -> Vec<(usize, String)> {
    let mut commands: Vec<(usize, String)> = Vec::new();
    let mut continued = false;
    for (index, line) in text.lines().enumerate() {
        match commands.last_mut().filter(|_| continued) {
            Some((_, command)) => command.push_str(line),
            None => commands.push((index + 1, line.to_owned())),
        }
        continued = line.ends_with('\\');
    }
    commands
}

/// What is wrong with a command that calls cargo.
fn wrong(command: &str) -> Option<&'static str> {
    let ships = SHIPPED.iter().any(|profile| command.contains(profile));
    let tests = command.contains("$(CARGO) test") || command.contains("cargo test");
    if tests && ships {
        return Some("tests are built with the profile of what ships");
    }
    if tests && command.contains("$(CARGO)") && !command.contains("--release") {
        return Some("tests are built without `--release`");
    }
    (ships && OF_TESTS.iter().any(|part| command.contains(part)))
        .then_some("what ships is built with what only tests may have")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAKEFILE: &str = "TASUKI := target/ship/tasuki
build:
\t$(CARGO) build --profile ship --locked
run: build
bench: build peers
deb: build
test:
\t$(CARGO) test --release --locked --workspace
";
    const INSTALL: &str = "built=${BUILT:-target/ship}\ngrep -aq 'TASUKI-TEST-BUILD' x\n";
    const DEB: &str = "grep -rla 'TASUKI-TEST-BUILD' x\n";

    fn breaches(makefile: &str, install: &str, deb: &str) -> Vec<(String, usize)> {
        let files = [
            ("Cargo.toml", "[profile.ship]\n"),
            ("Makefile", makefile),
            ("scripts/install", install),
            ("scripts/deb", deb),
        ];
        check(&Tree::of(&files)).into_iter().map(|breach| (breach.file, breach.line)).collect()
    }

    fn makefile(from: &str, to: &str) -> Vec<(String, usize)> {
        assert!(MAKEFILE.contains(from));
        breaches(&MAKEFILE.replace(from, to), INSTALL, DEB)
    }

    #[test]
    fn a_tree_that_keeps_test_builds_apart_passes() {
        assert_eq!(breaches(MAKEFILE, INSTALL, DEB), []);
    }

    #[test]
    fn tests_that_write_where_what_ships_lies_are_found() {
        let at = |line| vec![("Makefile".to_owned(), line)];
        assert_eq!(makefile("test --release", "test --profile ship"), at(8));
        assert_eq!(makefile("test --release", "test"), at(8));
        assert_eq!(makefile("--profile ship", "--release"), at(1), "what ships would lie with tests");
    }

    #[test]
    fn features_of_tests_in_what_ships_are_found() {
        let at = |line| vec![("Makefile".to_owned(), line)];
        assert_eq!(makefile("ship --locked", "ship --locked --all-features"), at(3));
        assert_eq!(makefile("ship --locked", "ship --locked --tests"), at(3));
        assert_eq!(makefile("ship --locked", "ship --locked \\\n\t\t--tests"), at(3), "a line goes on");
    }

    #[test]
    fn files_that_come_from_elsewhere_or_unchecked_are_found() {
        assert_eq!(makefile("deb: build", "deb:"), [("Makefile".to_owned(), 6)]);
        assert_eq!(makefile("target/ship/", "target/release/"), [("Makefile".to_owned(), 1)]);
        let install = INSTALL.replace("target/ship", "target/release");
        assert_eq!(breaches(MAKEFILE, &install, DEB), [("scripts/install".to_owned(), 1)]);
        let install = INSTALL.replace("TEST-BUILD", "X");
        assert_eq!(breaches(MAKEFILE, &install, DEB), [("scripts/install".to_owned(), 1)]);
        assert_eq!(breaches(MAKEFILE, INSTALL, "\n"), [("scripts/deb".to_owned(), 1)]);
    }
}
