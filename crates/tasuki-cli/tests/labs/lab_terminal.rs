//! A command with a terminal of its own in a host: what is typed, however much at once, and signals.

use crate::support::{MARK, TestLab, skip_without_root, tasuki};
use nix::{
    poll::{PollFd, PollFlags, poll},
    pty::{OpenptyResult, openpty},
    sys::signal::{Signal, kill},
    unistd::{Pid, read, write},
};
use std::{
    os::fd::{AsFd, OwnedFd},
    process::Child,
    thread,
};

/// How long nothing may come, ms, before a test has failed.
const SILENCE: u16 = 60_000;

/// `tasuki lab exec` on a terminal whose other end is the test's.
struct Typist {
    child: Child,
    master: OwnedFd,
    seen: String,
}

impl Typist {
    fn start(lab: &TestLab, script: &str) -> Self {
        let OpenptyResult { master, slave } = openpty(None, None).expect("a terminal");
        let copy = || slave.try_clone().expect("another descriptor");
        let mut command = tasuki();
        command.args(["lab", "exec", "--lab", &lab.name, "n1", "--", "sh", "-c", script]);
        command.env(MARK, &lab.name).stdin(copy()).stdout(copy()).stderr(copy());
        let child = command.spawn().expect("starts");
        Self { child, master, seen: String::new() }
    }

    /// Reads until what was printed holds this.
    fn until(&mut self, holds: impl Fn(&str) -> bool) {
        while !holds(&self.seen) {
            let mut waiting = [PollFd::new(self.master.as_fd(), PollFlags::POLLIN)];
            assert!(poll(&mut waiting, SILENCE).expect("waits") > 0, "nothing comes behind {:?}", self.end());
            let mut bytes = [0; 65_536];
            let count = read(&self.master, &mut bytes).expect("reads");
            self.seen += &String::from_utf8_lossy(&bytes[..count]);
        }
    }

    /// The last that was printed.
    fn end(&self) -> &str {
        self.seen.lines().last().unwrap_or_default()
    }

    /// Types from a thread of its own, as this terminal takes it.
    fn types(&self, text: String) {
        let master = self.master.try_clone().expect("another descriptor");
        thread::spawn(move || {
            let mut rest = text.as_bytes();
            while let (false, Ok(count)) = (rest.is_empty(), write(&master, rest)) {
                rest = &rest[count..];
            }
        });
    }
}

impl Drop for Typist {
    fn drop(&mut self) {
        // It has ended already if the test has waited for it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_paste_of_any_length_comes_back_whole() {
    let test = "a_paste_of_any_length_comes_back_whole";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("paste", &["--shape", "full:2"]);
    // The command prints each line twice, so that more comes back than is typed. Echoes that nobody reads
    // soon enough are lost, as on every terminal.
    let mut typist = Typist::start(&lab, "stty -echo; echo ready; exec sed --unbuffered p");
    typist.until(|seen| seen.contains("ready"));
    const LINES: usize = 4000;
    typist.types((0..LINES).map(|line| format!("this is line {line} of what is pasted\n")).collect());
    typist.until(|seen| seen.matches("this is line").count() == 2 * LINES);
    typist.types("\u{4}".into());
    assert!(typist.child.wait().expect("its end").success());
}

#[test]
fn a_command_that_reads_nothing_does_not_keep_a_signal_from_ending_the_client() {
    let test = "a_command_that_reads_nothing_does_not_keep_a_signal_from_ending_the_client";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("unread", &["--shape", "full:2"]);
    let mut typist = Typist::start(&lab, "stty raw -echo; echo ready; exec sleep 1000");
    typist.until(|seen| seen.contains("ready"));
    typist.types("x".repeat(65_536));
    thread::sleep(std::time::Duration::from_millis(300));
    kill(Pid::from_raw(typist.child.id().cast_signed()), Signal::SIGTERM).expect("our child");
    let ended = (0..600).any(|_| {
        thread::sleep(std::time::Duration::from_millis(100));
        typist.child.try_wait().expect("our child").is_some()
    });
    assert!(ended, "it goes on a minute after SIGTERM");
}
