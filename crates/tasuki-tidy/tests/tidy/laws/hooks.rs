//! What breaks Tasuki on purpose, so that tests can see it fail, is in no build that ships: planted defects
//! are a feature that is off, and hooks that end a program after so many steps are compiled with such a
//! feature only.

use std::ops::Range;

use crate::breach::{Breach, Law};
use crate::items::{conditional, tests_or_feature};
use crate::lexer::{Kind, Token};
use crate::manifest::{self, Manifest};
use crate::modules::declared_under;
use crate::tree::{Tree, part_of};

pub const LAW: Law = Law {
    name: "hooks",
    remedy: "put the hook below `#[cfg(feature = \"...\")]` (or its module), and switch that feature on in \
             [dev-dependencies] only, never by default",
};

/// Parts of the names of features that break something on purpose.
const FEATURES: [&str; 5] = ["defect", "crash", "stop_after", "stop-after", "fault-hook"];

/// Parts of the names of environment variables that set such a hook off. Without its name in a string no
/// build has the hook; a function that stands in for it and does nothing may be called in every build.
const HOOKS: [&str; 4] = ["STOP_AFTER", "CRASH_POINT", "CRASH_AFTER", "KILL_AFTER"];

fn breaks_something(feature: &str) -> bool {
    FEATURES.iter().any(|part| feature.contains(part))
}

pub fn check(tree: &Tree) -> Vec<Breach> {
    let mut breaches = features(tree);
    for (path, lexed) in tree.rust().filter(|(path, _)| path.contains("/src/")) {
        if declared_under(tree, path, tests_or_feature) {
            continue;
        }
        let covered = conditional(&lexed.tokens, tests_or_feature);
        let hooks = lexed
            .tokens
            .iter()
            .enumerate()
            .filter(|&(index, token)| is_hook(token) && !within(&covered, index));
        breaches.extend(hooks.map(|(_, token)| Breach {
            file: path.to_owned(),
            line: token.line,
            what: format!("`{}` is compiled into every build", token.text),
            key: part_of(path).to_owned(),
            weight: 1,
        }));
    }
    breaches
}

fn within(ranges: &[Range<usize>], index: usize) -> bool {
    ranges.iter().any(|range| range.contains(&index))
}

fn is_hook(token: &Token) -> bool {
    token.kind == Kind::Str
        && token.text.contains("TASUKI_")
        && HOOKS.iter().any(|hook| token.text.contains(hook))
}

fn features(tree: &Tree) -> Vec<Breach> {
    let workspace =
        tree.text("Cargo.toml").and_then(Manifest::parse).map(|manifest| ("Cargo.toml".to_owned(), manifest));
    let crates = tree
        .crates()
        .filter_map(|name| Some((format!("crates/{name}/Cargo.toml"), manifest::of(tree, name)?)));
    let mut breaches = Vec::new();
    for (file, manifest) in workspace.into_iter().chain(crates) {
        let ways = [
            ("a default", manifest.defaults().into_iter().collect()),
            ("a normal dependency", manifest.switched_on()),
        ];
        for (way, features) in ways {
            for feature in features.iter().filter(|feature| breaks_something(feature)) {
                breaches.push(Breach {
                    line: line_of(tree, &file, feature),
                    what: format!("{way} switches the feature `{feature}` on"),
                    key: part_of(&file).to_owned(),
                    weight: 1,
                    file: file.clone(),
                });
            }
        }
    }
    breaches
}

/// The first line of `file` that has the feature's name, or its first line.
fn line_of(tree: &Tree, file: &str, feature: &str) -> usize {
    let name = feature.rsplit('/').next().unwrap_or(feature);
    let mut lines = tree.text(file).unwrap_or_default().lines();
    lines.position(|line| line.contains(name) && !line.starts_with('#')).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<(String, usize)> {
        check(&Tree::of(files)).into_iter().map(|breach| (breach.file, breach.line)).collect()
    }

    #[test]
    fn defects_by_default_or_in_a_normal_dependency_are_found() {
        let file = "crates/tasuki-a/Cargo.toml";
        let check = |text| found(&[(file, text)]).len();
        assert_eq!(
            check("[features]\ndefects = []\n[dev-dependencies]\nb = { features = [\"defects\"] }\n"),
            0
        );
        assert_eq!(check("[features]\ndefault = [\"x\"]\nx = [\"defects\"]\ndefects = []\n"), 1);
        assert_eq!(check("[features]\ndefault = [\"b/crash-points\"]\n"), 1);
        assert_eq!(
            found(&[(file, "[dependencies]\nb = { features = [\"defects\"] }\n")]),
            [(file.to_owned(), 2)]
        );
        let workspace = "[workspace.dependencies]\nb = { path = \"b\", features = [\"defects\"] }\n";
        assert_eq!(found(&[("Cargo.toml", workspace)]).len(), 1);
    }

    #[test]
    fn hooks_outside_of_a_feature_are_found() {
        let hook = "\nconst X: &str = \"TASUKI_APPLY_STOP_AFTER\";\n";
        let path = "crates/tasuki-a/src/b.rs";
        assert_eq!(found(&[(path, hook)]), [(path.to_owned(), 2)]);
        let covered = "#[cfg(feature = \"crash-points\")]\nconst X: &str = \"TASUKI_APPLY_STOP_AFTER\";\n";
        assert!(found(&[(path, covered)]).is_empty());
        let not = "#[cfg(not(feature = \"crash-points\"))]\nconst X: &str = \"TASUKI_STOP_AFTER\";\n";
        assert_eq!(found(&[(path, not)]).len(), 1, "that is every build that ships");
        assert!(found(&[("crates/tasuki-a/tests/b.rs", hook)]).is_empty());
    }

    #[test]
    fn a_module_is_covered_by_its_declaration() {
        let hook = ("crates/tasuki-a/src/hook.rs", "const X: &str = \"TASUKI_STOP_AFTER\";");
        let declared = ("crates/tasuki-a/src/lib.rs", "#[cfg(feature = \"crash-points\")]\nmod hook;\n");
        assert!(found(&[hook, declared]).is_empty());
        assert_eq!(found(&[hook, ("crates/tasuki-a/src/lib.rs", "mod hook;\n")]).len(), 1);
    }
}
