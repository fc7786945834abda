//! Stacks are as large as the user wants them, and one that is too small ends the program.

use std::ffi::OsStr;

use crate::{Program, text};

#[test]
fn stacks_are_as_large_as_the_user_wants_and_no_thread_writes_to_anothers() {
    let program = Program::build("deep.c");
    for (at, size) in ["64M", "40000", "32000 K"].into_iter().enumerate() {
        let set = [("OMP_STACKSIZE", OsStr::new(size))];
        let all: Vec<_> =
            (0..2).map(|rank| program.process_with(rank, 2, 2, 58 + at as u8, &["20"], &set)).collect();
        let ended: Vec<_> = all.into_iter().map(|child| child.wait_with_output().expect("ends")).collect();
        assert_eq!(ended[0].stdout, b"4\n", "{size}: {} {}", text(&ended[0]), text(&ended[1]));
    }
    // 8 MiB are there in any case, and more if `ulimit -s` says so.
    let all: Vec<_> = (0..2).map(|rank| program.process(rank, 2, 2, 61, &["2000"])).collect();
    for child in all {
        let output = child.wait_with_output().expect("ends");
        assert!(!output.status.success() && output.stdout.is_empty(), "{}", text(&output));
    }
}
