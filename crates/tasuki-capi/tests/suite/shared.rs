//! Programs of `tasuki_shared.h`, as processes that meet on this machine.

use crate::build::{Language, Program, build};
use crate::run::{Ended, Running};

/// Starts so many processes, which meet at a loopback address that no other test uses.
fn start(program: &Program, size: usize, arguments: &[&str], at: u8) -> Vec<Running> {
    let [_, b, c, d] = std::process::id().to_be_bytes();
    let address = format!("127.{}.{c}.{d}", b & 31 | at << 5);
    let size_text = size.to_string();
    let process = |rank: usize| {
        let rank = rank.to_string();
        let variables = [
            ("RANK", rank.as_str()),
            ("WORLD_SIZE", &size_text),
            ("MASTER_ADDR", &address),
            ("MASTER_PORT", "29500"),
            ("TASUKI_IDENTITY", "127.0.0.1"),
        ];
        Running::start_with(program, arguments, &variables)
    };
    (0..size).map(process).collect()
}

fn end(all: Vec<Running>) -> Vec<Ended> {
    all.into_iter().map(Running::end).collect()
}

/// The heat that is left does not depend on how many processes computed it: each point is computed by one of
/// them, from the same values.
#[test]
fn the_example_gives_the_result_of_one_process() {
    let program = build("examples/jacobi.c", Language::C);
    let heat = |size: usize| {
        let ended = end(start(&program, size, &["150", "30"], size as u8));
        assert!(ended.iter().all(|one| one.status.success()), "{}", ended[0]);
        let (_, said) = ended[0].output.split_once("heat ").unwrap_or_else(|| panic!("{}", ended[0]));
        said.split(',').next().expect("a number").to_owned()
    };
    let alone = heat(1);
    assert_eq!([heat(2), heat(3)], [alone.clone(), alone]);
}

#[test]
fn calls_of_all_kinds_do_what_the_header_says() {
    let program = build("tests/c/shared.c", Language::C);
    for ended in end(start(&program, 3, &["works"], 4)) {
        ended.must_be_good();
    }
    let program = build("tests/c/shared.c", Language::Cpp);
    end(start(&program, 1, &["works"], 5))[0].must_be_good();
}

/// Those who live say which process is gone, and end; a thread that waits for a lost page does not hold them.
#[test]
fn processes_end_with_the_one_that_was_killed() {
    let program = build("tests/c/shared.c", Language::C);
    let mut all = start(&program, 3, &["dies"], 6);
    let dead = all.remove(1).end();
    dead.must_be_killed();
    for ended in end(all) {
        assert_eq!(ended.status.code(), Some(1), "{ended}");
        let told = "tasuki: shared memory is lost, and this process ends: rank 1 on host 127.0.0.1 is gone: ";
        assert!(ended.errors.contains(told), "{ended}");
    }
}

#[test]
fn half_an_environment_is_refused_by_name() {
    let program = build("tests/c/shared.c", Language::C);
    let ended = Running::start_with(&program, &["works"], &[("RANK", "0")]).end();
    let told = "a TASUKI_... variable of the environment cannot be used: WORLD_SIZE is not set";
    assert!(!ended.status.success() && ended.errors.contains(told), "{ended}");
}
