//! Notes of processes of which a host has one: that of a process which runs is told from one that was left.

use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File},
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Child, Command},
};
use tasuki_watch::{Said, end, said};

macro_rules! kind {
    ($kind:ident, $file:literal) => {
        #[derive(Serialize, Deserialize)]
        struct $kind {
            pid: i32,
            host: String,
        }

        impl Said for $kind {
            const NAME: &'static str = "a test";
            const FILE: &'static str = concat!(env!("CARGO_TARGET_TMPDIR"), "/", $file, ".json");

            fn who(&self) -> (i32, &str) {
                (self.pid, &self.host)
            }
        }
    };
}

kind!(Left, "left");
kind!(Running, "running");

fn sleeper() -> Child {
    Command::new("sleep").arg("1000").spawn().expect("coreutils has it")
}

fn write<N: Said>(child: &Child, started: u64) {
    let note = format!(r#"{{"pid":{},"host":"h","started":{started}}}"#, child.id());
    fs::write(N::FILE, note).expect("writes");
}

/// Another process has got the number, and a user has locked the file.
#[test]
fn a_note_that_was_left_ends_nobody() {
    let mut stranger = sleeper();
    write::<Left>(&stranger, 1);
    let file = File::open(Left::FILE).expect("all may read it");
    let locked = Flock::lock(file, FlockArg::LockExclusiveNonblock).expect("nobody else has");
    assert!(said::<Left>().is_none());
    assert!(!end::<Left>().expect("there is nothing to end"));
    assert!(!Path::new(Left::FILE).exists(), "it is of no use any more");
    assert!(stranger.try_wait().expect("it is a child").is_none(), "it lives");
    drop(locked);
    stranger.kill().and_then(|()| stranger.wait()).expect("it is ended here");
}

#[test]
fn a_process_that_runs_is_named_and_ended() {
    let mut child = sleeper();
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("it runs");
    // Field 22 of proc(5); the name before it, in parentheses, has no space in it.
    let started = stat.split(' ').nth(21).and_then(|field| field.parse().ok()).expect("a number");
    write::<Running>(&child, started);
    assert_eq!(said::<Running>().map(|note| (note.pid, note.host)), Some((child.id() as i32, "h".into())));
    assert!(end::<Running>().expect("it is ours"));
    assert_eq!(child.wait().expect("it is a child").signal(), Some(15), "SIGTERM of signal(7)");
    assert!(said::<Running>().is_none());
}
