//! Programs of `tasuki_checkpoint.h`, each alone. Those of several processes are in the tests of the command.

use crate::build::{Language, build};
use crate::run::Running;

#[test]
fn calls_of_all_kinds_do_what_the_header_says() {
    for language in [Language::C, Language::Cpp, Language::Static] {
        let program = build("tests/c/checkpoint.c", language);
        let folder = tempfile::tempdir().expect("a folder");
        let within = folder.path().join("%h").to_string_lossy().into_owned();
        for part in ["saves", "goes-on"] {
            Running::start_with(&program, &[part], &[("TASUKI_CHECKPOINT", &within)]).end().must_be_good();
        }
        // The host's name in the place of %h, and nothing left but the lock and the note of what is over.
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
        let left = std::fs::read_dir(folder.path().join(host.trim())).expect("the folder").flatten();
        let mut left: Vec<_> = left.map(|entry| entry.file_name()).collect();
        left.sort();
        assert_eq!(left, ["over", "rank-0.lock"]);
    }
}

#[test]
fn variables_that_cannot_be_are_named() {
    let program = build("tests/c/checkpoint.c", Language::C);
    let told =
        |variables: &[(&str, &str)]| Running::start_with(&program, &["goes-on"], variables).end().errors;
    let none = told(&[]);
    assert!(none.contains("no folder for checkpoints: set TASUKI_CHECKPOINT to one on a disk"), "{none}");
    let wrong = told(&[("TASUKI_CHECKPOINT", "/tmp/x"), ("TASUKI_CHECKPOINT_EVERY", "soon")]);
    assert!(wrong.contains("TASUKI_CHECKPOINT_EVERY=soon: not a number of seconds"), "{wrong}");
}
