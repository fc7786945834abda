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
        let sessions = Sessions::bind(&path, Hello::of("1"), "n1").unwrap();
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
            let heard = self.sessions.pull(*id);
            heard.into_iter().for_each(|heard| self.heard(*id, &heard));
        }
        for (id, heard) in self.sessions.named(Instant::now()) {
            self.heard(id, &heard);
        }
        ready.len()
    }

    fn heard(&mut self, id: SessionId, heard: &Heard) {
        match heard {
            Heard::Gone => self.gone += 1,
            Heard::Request(..) => {
                self.answered += 1;
                self.sessions.reply(id, &Reply::Refused("x".repeat(self.long)));
            }
        }
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

/// What has come from a daemon besides its first words.
fn replies(client: &mut UnixStream) -> Vec<Reply> {
    let mut bytes = Vec::new();
    let _ = client.read_to_end(&mut bytes);
    let mut frames = Frames::default();
    frames.feed(&bytes);
    let (_, length) = Hello::read(frames.rest()).unwrap().expect("first words");
    frames.skip(length);
    std::iter::from_fn(|| frames.take().unwrap()).collect()
}

#[test]
fn a_connection_too_many_is_told_so() {
    let (mut desk, _client) = Desk::with_requests(0, 0);
    desk.turn();
    let path = desk._folder.path().join("socket");
    let mut all: Vec<UnixStream> = Vec::new();
    for _ in 0..OF_USER_MAX {
        all.push(UnixStream::connect(&path).unwrap());
        desk.sessions.accept();
    }
    assert_eq!(desk.sessions.all.len(), OF_USER_MAX);
    let mut last = all.pop().expect("a connection");
    // It has asked already, as commands do.
    let _ = last.write_all(&Hello::of("1").to_bytes());
    let said = replies(&mut last);
    let [Reply::Refused(why)] = &said[..] else { panic!("{said:?}") };
    assert!(why.contains("128 connections, as many as a user may have, to the tasukid of n1"), "{why}");
}

#[test]
fn root_is_served_where_users_have_all_places() {
    let others = ALL_MAX - ROOT_MAX;
    assert_eq!((crowded(1000, 127, others - 1), crowded(0, 127, ALL_MAX - 1)), (None, None));
    let why = crowded(1000, 0, others).expect("no place is left for users");
    assert!(why.contains("as many as there may be"), "{why}");
    assert_eq!(crowded(0, 0, others), None);
    assert!(crowded(0, 128, others).is_some() && crowded(0, 0, ALL_MAX).is_some());
}

#[test]
fn a_command_whose_users_name_does_not_come_is_refused_and_others_are_served() {
    let (mut desk, mut client) = Desk::with_requests(1, 10);
    let (answer, answers) = std::sync::mpsc::channel::<()>();
    let answers = std::sync::Mutex::new(answers);
    let look_up =
        move |_: u32| answers.lock().unwrap().recv().map(|()| "anna".into()).map_err(|e| e.to_string());
    desk.sessions.names = Names::by(std::sync::Arc::new(look_up)).unwrap();
    desk.sessions.accept();
    // As of a user who is not root.
    desk.sessions.all.values_mut().for_each(|session| session.uid = 4711);
    assert!(
        (0..ROUNDS).any(|_| desk.turn() > 0 && desk.sessions.all.values().any(|one| one.parked.is_some()))
    );
    let now = Instant::now();
    assert!(desk.sessions.named(now).is_empty() && desk.answered == 0);
    assert!(desk.sessions.named(now + std::time::Duration::from_secs(11)).is_empty());
    client.set_nonblocking(true).unwrap();
    let said = replies(&mut client);
    let [Reply::Refused(why)] = &said[..] else { panic!("{said:?}") };
    assert!(why.contains("user 4711 cannot be looked up") && why.contains("longer than 10 s"), "{why}");
    // The name comes, and the connection goes on.
    let mut request = Vec::new();
    tasuki_control::write(&Request::Jobs { history: false, from: 0 }, &mut request).unwrap();
    answer.send(()).unwrap();
    let end = Instant::now() + std::time::Duration::from_secs(60);
    while desk.answered == 0 && Instant::now() < end {
        if desk.sessions.all.values().all(|session| session.parked.is_none()) {
            client.write_all(&request).unwrap();
        }
        desk.turn();
    }
    let users: Vec<_> = desk.sessions.all.values().map(|session| session.user.clone()).collect();
    assert_eq!(users, [Some(User { name: "anna".into(), is_root: false })]);
}
