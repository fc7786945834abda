//! The manual page: it is well formed, complete, and its example compiles.

use std::path::Path;
use std::process::Command;

use crate::programs::declared;

const PAGE: &str = include_str!("../../man/tasuki.3");

#[test]
fn the_manual_names_every_function_code_and_flag() {
    for function in declared() {
        assert!(PAGE.contains(&format!(".Fn {function} ")), "{function} is not in the synopsis");
    }
    let header = include_str!("../../include/tasuki.h");
    let words = header.lines().filter_map(|line| line.trim().split_once(" = ")).map(|(name, _)| name);
    let codes: Vec<&str> = words.filter(|name| name.starts_with("TASUKI_E")).collect();
    assert!(codes.len() > 10, "{codes:?}");
    for code in codes {
        assert!(PAGE.contains(&format!(".It Dv {code}\n")), "{code} is not in the list of errors");
    }
}

#[test]
fn the_manual_is_well_formed() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("man/tasuki.3");
    let output = Command::new("groff")
        .args(["-mandoc", "-Tutf8", "-ww", "-z"])
        .arg(page)
        .output()
        .expect("groff runs");
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && complaints.is_empty(), "{complaints}");
}

#[test]
fn the_example_in_the_manual_compiles() {
    let (_, example) = PAGE.split_once(".Bd -literal -offset indent\n").expect("an example");
    let (example, _) = example.split_once(".Ed\n").expect("its end");
    let folder = tempfile::tempdir().expect("a folder for the program");
    let file = folder.path().join("example.c");
    std::fs::write(&file, example.replace("\\e", "\\")).expect("the program is written");
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let mut compile = Command::new("cc");
    compile.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I"]).arg(include).arg(&file);
    assert!(compile.status().expect("cc runs").success());
}
