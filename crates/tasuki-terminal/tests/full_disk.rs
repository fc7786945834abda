//! What is printed to a full disk, or to a reader that has gone, is lost; it ends no command before its work
//! is done, and the command says so at its end. This test has no harness, which prints, too.

#[macro_use]
extern crate tasuki_terminal;

use std::{
    fs::File,
    io,
    process::{Command, ExitCode, Stdio},
};
use tasuki_terminal::{Failure, Verdict, end, print_json, print_verdict, written};

/// Prints in every way, and says on standard error that it has come to its end.
fn prints() -> ExitCode {
    println!("a line");
    println!();
    print!("a part");
    print_verdict(Verdict::Well, "all: ", "well", "");
    let is_told = print_json(&["text"]).is_err() && written().is_err();
    eprintln!("told: {is_told}");
    // A failure of its own has its own code.
    let failed = end(Err(Failure::new("other").with_code(3)));
    eprintln!("kept: {}", failed == ExitCode::from(3));
    end(Ok(ExitCode::SUCCESS))
}

fn check(out: Stdio, why: &str) {
    let program = std::env::current_exe().expect("this test");
    let output = Command::new(program).arg("prints").stdout(out).output().expect("runs");
    let said = String::from_utf8(output.stderr).expect("a text");
    let expected =
        format!("told: true\ntasuki: other\nkept: true\ntasuki: cannot write to standard output: {why}\n");
    assert_eq!((said, output.status.code()), (expected, Some(1)), "{why}");
}

fn main() -> ExitCode {
    if std::env::args().nth(1).is_some_and(|argument| argument == "prints") {
        return prints();
    }
    // Errors by their names in errno(3). Writing to /dev/full fails as on a full disk (full(4)).
    let full = File::options().write(true).open("/dev/full").expect("Linux has it");
    check(full.into(), "No space left on device");
    let (reader, writer) = io::pipe().expect("a pipe");
    drop(reader);
    check(writer.into(), "Broken pipe");
    ExitCode::SUCCESS
}
