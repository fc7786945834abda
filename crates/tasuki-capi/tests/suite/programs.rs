//! The programs in `tests/c` and `examples`, in one process and in two.

use std::process::Command;

use crate::build::{Language, build, library_folder};
use crate::run::{Ended, Running};

/// Runs two processes of `tests/c/pair.c`, each of which gets the other's address.
fn pair(language: Language, carrier: &str, ending: &str) -> [Ended; 2] {
    let program = build("tests/c/pair.c", language);
    let mut both = ["sends", "receives"].map(|role| Running::start(&program, &[carrier, role, ending]));
    let addresses = [both[0].line(), both[1].line()];
    both[0].tell(&addresses[1]);
    both[1].tell(&addresses[0]);
    both.map(Running::end)
}

fn pair_is_good(language: Language, carrier: &str) {
    for ended in pair(language, carrier, "closed") {
        ended.must_be_good();
    }
}

/// The process that goes on is told of the other's death.
fn pair_is_parted(carrier: &str) {
    let [stays, dies] = pair(Language::C, carrier, "killed");
    stays.must_be_good();
    dies.must_be_killed();
}

#[test]
fn two_programs_share_memory() {
    pair_is_good(Language::C, "shm");
}

#[test]
fn two_programs_exchange_packets() {
    pair_is_good(Language::C, "udp");
}

#[test]
fn two_cpp_programs_share_memory() {
    pair_is_good(Language::Cpp, "shm");
}

#[test]
fn two_programs_with_the_library_inside_exchange_packets() {
    pair_is_good(Language::Static, "udp");
}

#[test]
fn a_peer_that_dies_is_missed_in_shared_memory() {
    pair_is_parted("shm");
}

#[test]
fn a_peer_that_dies_is_missed_by_packets() {
    pair_is_parted("udp");
}

#[test]
fn what_goes_wrong_is_told() {
    for (language, carrier) in [(Language::C, "shm"), (Language::Cpp, "udp")] {
        let program = build("tests/c/errors.c", language);
        Running::start(&program, &[carrier]).end().must_be_good();
    }
}

/// Runs two processes of `tests/c/remote.c`.
fn put_and_get(language: Language, carrier: &str, ending: &str) -> [Ended; 2] {
    let program = build("tests/c/remote.c", language);
    let mut serves = Running::start(&program, &[carrier, "serves", ending]);
    let mut asks = Running::start(&program, &[carrier, "asks", ending]);
    asks.line();
    asks.tell(&serves.line());
    [asks.end(), serves.end()]
}

#[test]
fn programs_put_and_get() {
    for (language, carrier) in [(Language::C, "shm"), (Language::Cpp, "udp")] {
        for ended in put_and_get(language, carrier, "closed") {
            ended.must_be_good();
        }
    }
}

#[test]
fn memory_that_dies_is_missed() {
    for carrier in ["shm", "udp"] {
        let [asks, serves] = put_and_get(Language::C, carrier, "killed");
        asks.must_be_good();
        serves.must_be_killed();
    }
}

#[test]
fn a_child_closes_its_copy_and_opens_its_own() {
    for carrier in ["shm", "udp"] {
        let program = build("tests/c/fork.c", Language::C);
        Running::start(&program, &[carrier]).end().must_be_good();
    }
}

#[test]
fn threads_share_an_endpoint() {
    let program = build("tests/c/threads.c", Language::C);
    Running::start(&program, &[]).end().must_be_good();
}

#[test]
fn the_example_works() {
    let program = build("examples/pingpong.c", Language::C);
    let folder = tempfile::tempdir().expect("a folder for the address");
    let file = folder.path().join("address");
    let mut answers = Running::start(&program, &[]);
    std::fs::write(&file, answers.line()).expect("the address is written");
    let measures = Running::start(&program, &[file.to_str().expect("text")]).end();
    let answers = answers.end();
    assert!(measures.status.success() && answers.status.success(), "{measures}{answers}");
    // The program prints a line of titles, and one line each for sizes from 1 to 2^20, each four times the
    // one before.
    assert_eq!(measures.output.lines().count(), 1 + 11, "{measures}");
}

#[test]
fn nothing_but_the_interface_is_exported() {
    let output = Command::new("nm")
        .args(["-D", "--defined-only", "--format=posix"])
        .arg(library_folder().join("libtasuki.so"))
        .output();
    let output = String::from_utf8(output.expect("nm runs").stdout).expect("text");
    let mut exported: Vec<&str> = output.lines().filter_map(|line| line.split(' ').next()).collect();
    exported.sort_unstable();
    assert_eq!(exported, all_declared());
}

/// The functions that the headers declare.
fn all_declared() -> Vec<&'static str> {
    let headers = [
        include_str!("../../include/tasuki.h"),
        include_str!("../../include/tasuki_shared.h"),
        include_str!("../../include/tasuki_checkpoint.h"),
    ];
    let mut names: Vec<&str> = headers.into_iter().flat_map(declared).collect();
    names.sort_unstable();
    names
}

/// The functions that a header declares: the word before the first parenthesis of each line that begins with
/// a type.
pub fn declared(header: &'static str) -> impl Iterator<Item = &'static str> {
    header
        .lines()
        .filter(|line| ["int ", "void ", "const char *"].iter().any(|start| line.starts_with(start)))
        .filter_map(|line| line.split('(').next()?.split([' ', '*']).next_back())
}
