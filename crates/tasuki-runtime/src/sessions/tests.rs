//! Tests of how commands are served that do not wait, or do not read.

use super::*;
use crate::daemon::flags;
use nix::poll::{PollFd, poll};
use std::net::Shutdown;

/// Rounds after which what was to come does not come any more.
const ROUNDS: u32 = 10_000;

struct Desk {
    sessions: Sessions,
    /// Bytes of text in every answer.
    long: usize,
    answered: u32,
    gone: u32,
    _folder: tempfile::TempDir,
}

impl Desk {
    /// A listening socket and a command that has sent so many requests and waits for no answer.
    fn with_requests(count: usize, long: usize) -> (Self, UnixStream) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let sessions = Sessions::bind(&path, Hello::of("1")).unwrap();
        let mut client = UnixStream::connect(&path).unwrap();
        let mut bytes = Hello::of("1").to_bytes();
        for _ in 0..count {
            tasuki_control::write(&Request::Jobs { history: false, from: 0 }, &mut bytes).unwrap();
        }
        client.write_all(&bytes).unwrap();
        client.set_nonblocking(true).unwrap();
        (Self { sessions, long, answered: 0, gone: 0, _folder: folder }, client)
    }

    /// Does once what the daemon does. Returns the number of sockets that were ready.
    fn turn(&mut self) -> usize {
        self.sessions.accept();
        let all: Vec<_> = self.sessions.sockets().collect();
        let polled = all.iter().map(|(_, fd, words, room)| PollFd::new(*fd, flags(*words, *room)));
        let mut polled: Vec<PollFd> = polled.collect();
        poll(&mut polled, 1u16).unwrap();
        let ready = all.iter().zip(&polled).filter(|(_, fd)| fd.any().unwrap_or(true));
        let ready: Vec<SessionId> = ready.map(|((id, ..), _)| *id).collect();
        for id in &ready {
            self.sessions.push(*id);
            match self.sessions.pull(*id) {
                None => {}
                Some(Heard::Gone) => self.gone += 1,
                Some(Heard::Request(..)) => {
                    self.answered += 1;
                    self.sessions.reply(*id, &Reply::Refused("x".repeat(self.long)));
                }
            }
        }
        ready.len()
    }

    /// Bytes that are kept for commands that do not read.
    fn kept(&self) -> usize {
        self.sessions.all.values().map(|session| session.out.len()).sum()
    }
}

#[test]
fn a_command_that_never_reads_has_one_answer_kept_for_it() {
    let (mut desk, mut client) = Desk::with_requests(1, 100_000);
    let mut request = Vec::new();
    tasuki_control::write(&Request::Jobs { history: false, from: 0 }, &mut request).unwrap();
    for _ in 0..200 {
        client.write_all(&request).unwrap();
        desk.turn();
        assert!(desk.kept() < 200_000, "{} bytes after {} answers", desk.kept(), desk.answered);
    }
    assert!(desk.answered > 0 && desk.gone == 0);
    // Nothing is ready as long as it does not read, and its end is found at once.
    assert_eq!(desk.turn(), 0);
    client.shutdown(Shutdown::Write).unwrap();
    assert!((0..ROUNDS).any(|_| desk.turn() > 0 && desk.gone == 1));
    assert!(desk.sessions.all.is_empty());
}

#[test]
fn requests_that_came_together_are_answered_one_after_the_other() {
    for long in [10, 1_000_000] {
        let (mut desk, mut client) = Desk::with_requests(3, long);
        let (mut frames, mut got, mut is_greeted) = (Frames::default(), 0, false);
        let mut bytes = vec![0; 64 << 10];
        for _ in 0..ROUNDS {
            desk.turn();
            while let Ok(length) = client.read(&mut bytes) {
                assert!(length > 0, "it was closed after {got} answers");
                frames.feed(&bytes[..length]);
            }
            if !is_greeted && let Ok(Some((_, length))) = Hello::read(frames.rest()) {
                frames.skip(length);
                is_greeted = true;
            }
            while is_greeted && frames.take::<Reply>().unwrap().is_some() {
                got += 1;
            }
            if got == 3 {
                break;
            }
        }
        assert_eq!(got, 3, "answers of {long} bytes");
        // Nothing is left to do, and the daemon sleeps.
        assert_eq!(desk.turn(), 0);
    }
}
