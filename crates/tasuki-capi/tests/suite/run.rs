//! Running programs under a watchdog.

use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;

use crate::build::Program;

/// A program that runs.
pub struct Running {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    errors: Option<JoinHandle<String>>,
}

/// The exit status and output of a program that has ended.
pub struct Ended {
    pub status: ExitStatus,
    pub output: String,
    pub errors: String,
}

/// A program that hangs is ended after so many seconds. The slowest takes a small part of this, even on a
/// busy machine.
const LIMIT_SECONDS: &str = "120";

impl Running {
    pub fn start(program: &Program, arguments: &[&str]) -> Running {
        Running::start_with(program, arguments, &[])
    }

    /// As [`Running::start`], with these variables in the program's environment.
    pub fn start_with(program: &Program, arguments: &[&str], variables: &[(&str, &str)]) -> Running {
        // `timeout` ends a program that hangs, even if this test is ended first. SIGUSR2 prints the
        // endpoint's state.
        let mut child = Command::new("timeout")
            .args(["--signal=USR2", "--kill-after=2", LIMIT_SECONDS])
            .arg(&program.path)
            .args(arguments)
            .env_remove("TASUKI_SHM")
            .env("TASUKI_DUMP", "1")
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let errors = child.stderr.take().expect("piped");
        Running { child, input, output, errors: Some(std::thread::spawn(move || read(errors))) }
    }

    /// The next line that the program writes; empty if it has ended.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the output is text");
        line
    }

    pub fn tell(&mut self, text: &str) {
        let mut input = self.input.take().expect("told once");
        // A write fails if the program has ended already, which then says why by itself.
        let _ = input.write_all(text.as_bytes());
    }

    pub fn end(mut self) -> Ended {
        drop(self.input.take());
        let mut output = String::new();
        self.output.read_to_string(&mut output).expect("the output is text");
        let status = self.child.wait().expect("the program ends");
        let errors = self.errors.take().map(|thread| thread.join().expect("reads")).unwrap_or_default();
        Ended { status, output, errors }
    }
}

impl Ended {
    /// Checks that the program has ended with success.
    #[track_caller]
    pub fn must_be_good(&self) {
        assert!(self.status.success() && self.output.ends_with("good\n"), "{self}");
    }
}

impl Ended {
    /// Checks that the program was killed: then `timeout` kills itself, or exits with 128 + 9.
    #[track_caller]
    pub fn must_be_killed(&self) {
        assert!(self.status.signal() == Some(9) || self.status.code() == Some(137), "{self}");
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\noutput:\n{}\nerrors:\n{}", self.status, self.output, self.errors)
    }
}

fn read(mut errors: ChildStderr) -> String {
    let mut text = String::new();
    // If reading fails, the part that was read is better than nothing.
    let _ = errors.read_to_string(&mut text);
    text
}
