//! The manual pages: they are well formed, complete, and their examples compile.

use std::path::Path;
use std::process::Command;

use crate::programs::declared;

/// Headers, and the pages that tell of them.
const PAGES: [(&str, &str); 3] = [
    (include_str!("../../include/tasuki.h"), include_str!("../../man/tasuki.3")),
    (include_str!("../../include/tasuki_shared.h"), include_str!("../../man/tasuki_shared.3")),
    (include_str!("../../include/tasuki_checkpoint.h"), include_str!("../../man/tasuki_checkpoint.3")),
];

#[test]
fn the_manual_names_every_function_and_code() {
    for (header, page) in PAGES {
        for function in declared(header) {
            assert!(page.contains(&format!(".Fn {function} ")), "{function} is not in the synopsis");
        }
    }
    let (header, page) = PAGES[0];
    let words = header.lines().filter_map(|line| line.trim().split_once(" = ")).map(|(name, _)| name);
    let codes: Vec<&str> = words.filter(|name| name.starts_with("TASUKI_E")).collect();
    assert!(codes.len() > 10, "{codes:?}");
    for code in codes {
        assert!(page.contains(&format!(".It Dv {code}\n")), "{code} is not in the list of errors");
    }
}

#[test]
fn the_manual_is_well_formed() {
    for page in ["man/tasuki.3", "man/tasuki_shared.3", "man/tasuki_checkpoint.3"] {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
        let output = Command::new("groff")
            .args(["-mandoc", "-Tutf8", "-ww", "-z"])
            .arg(page)
            .output()
            .expect("groff runs");
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && complaints.is_empty(), "{complaints}");
    }
}

#[test]
fn the_examples_in_the_manual_compile() {
    for (_, page) in PAGES {
        let (_, example) = page.split_once(".Bd -literal -offset indent\n").expect("an example");
        let (example, _) = example.split_once(".Ed\n").expect("its end");
        let folder = tempfile::tempdir().expect("a folder for the program");
        let file = folder.path().join("example.c");
        std::fs::write(&file, example.replace("\\e", "\\")).expect("the program is written");
        let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
        let mut compile = Command::new("cc");
        compile.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I"]);
        assert!(compile.arg(include).arg(&file).status().expect("cc runs").success());
    }
}
