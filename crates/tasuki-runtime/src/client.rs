//! A command's connection to the daemon of its host.

use crate::{RuntimeError, sessions::SOCKET};
use std::{
    io::{ErrorKind, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
    path::Path,
};
use tasuki_control::{ChangeRecord, Frames, Hello, JobId, JobView, Reply, Request};

/// A command's connection to the daemon of its host.
pub struct Client {
    socket: UnixStream,
    frames: Frames,
}

impl Client {
    /// Connects a command of this version.
    ///
    /// # Errors
    /// If no daemon runs on this host, or one of another version.
    pub fn connect(version: &str) -> Result<Self, RuntimeError> {
        let socket = UnixStream::connect(SOCKET).map_err(|error| match error.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => RuntimeError::NoDaemon(SOCKET.into()),
            _ => error.into(),
        })?;
        Self::greet(socket, &Hello::of(version))
    }

    /// Says what this command is, and hears what the daemon is.
    fn greet(socket: UnixStream, own: &Hello) -> Result<Self, RuntimeError> {
        let mut client = Self { socket, frames: Frames::default() };
        // A daemon that has turned this command away has said why, which is read first.
        let sent = client.socket.write_all(&own.to_bytes());
        loop {
            if let Some((hello, length)) = Hello::read(client.frames.rest())? {
                client.frames.skip(length);
                return match hello.is_same(own) {
                    true => Ok(client),
                    false => Err(RuntimeError::Version { daemon: hello.version, own: own.version.clone() }),
                };
            }
            match (client.read(), sent.is_err()) {
                (Err(_), true) => return Err(RuntimeError::Ended),
                (read, _) => read?,
            }
        }
    }

    fn read(&mut self) -> Result<(), RuntimeError> {
        let mut bytes = [0; 64 << 10];
        match self.socket.read(&mut bytes) {
            Ok(0) => Err(RuntimeError::Ended),
            Ok(length) => {
                self.frames.feed(&bytes[..length]);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Err(RuntimeError::Ended),
            Err(error) => Err(error.into()),
        }
    }

    /// Asks something, and waits for the answer.
    ///
    /// # Errors
    /// If the daemon refuses or ends.
    pub fn ask(&mut self, request: &Request) -> Result<Reply, RuntimeError> {
        let mut bytes = Vec::new();
        tasuki_control::write(request, &mut bytes)?;
        // One that has turned this command away has said why before, and takes nothing more.
        let _ = self.socket.write_all(&bytes);
        loop {
            match self.frames.take()? {
                Some(Reply::Refused(why)) => return Err(RuntimeError::Refused(why)),
                Some(Reply::Apart(why)) => return Err(RuntimeError::Apart(why)),
                Some(reply) => return Ok(reply),
                None => self.read()?,
            }
        }
    }
}

impl Client {
    /// All jobs, with what people call those whose users could not be told of their end.
    ///
    /// # Errors
    /// If the daemon refuses or ends.
    pub fn jobs(&mut self, history: bool) -> Result<(Vec<JobView>, Vec<String>), RuntimeError> {
        let (mut all, mut from) = (Vec::new(), 0);
        loop {
            match self.ask(&Request::Jobs { history, from })? {
                Reply::Jobs { jobs, next, untold } => {
                    all.extend(jobs);
                    // Numbers grow, or it would be asked for ever.
                    match next.filter(|next| *next > from) {
                        Some(next) => from = next,
                        None => return Ok((all, untold)),
                    }
                }
                other => return Err(RuntimeError::odd(&other)),
            }
        }
    }
}

impl Client {
    /// Asks for something to be done with a job, which the user has named so.
    ///
    /// # Errors
    /// If the daemon ends, or answers oddly. That it refuses is what came of it.
    pub fn change(
        &mut self,
        id: JobId,
        job: String,
        request: &Request,
    ) -> Result<ChangeRecord, RuntimeError> {
        let answer = match self.ask(request) {
            Err(RuntimeError::Refused(why)) => Err(why),
            answer => Ok(answer?),
        };
        ChangeRecord::of(id, job, answer).map_err(|reply| RuntimeError::odd(&reply))
    }
}

impl AsFd for Client {
    /// The connection: between two answers it is readable when it has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Whether a daemon seems to run on this host.
pub fn is_here() -> bool {
    Path::new(SOCKET).exists()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// A command, and what its daemon has said before it went away.
    fn turned_away(words: &[Reply]) -> Client {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut bytes = Hello::of("1").to_bytes();
        words.iter().for_each(|reply| tasuki_control::write(reply, &mut bytes).unwrap());
        theirs.write_all(&bytes).unwrap();
        drop(theirs);
        match Client::greet(ours, &Hello::of("1")) {
            Ok(client) => client,
            Err(error) => panic!("a daemon of this version: {error}"),
        }
    }

    #[test]
    fn a_command_that_is_turned_away_hears_why() {
        let why = "anna has 128 connections";
        let mut client = turned_away(&[Reply::Refused(why.into())]);
        for _ in 0..2 {
            let request = Request::Jobs { history: false, from: 0 };
            match client.ask(&request) {
                Err(RuntimeError::Refused(said)) => assert_eq!(said, why),
                Err(RuntimeError::Ended) => return,
                other => panic!("{other:?}"),
            }
        }
        panic!("it said so twice");
    }

    #[test]
    fn a_daemon_that_ends_without_a_word_is_missed() {
        let mut client = turned_away(&[]);
        assert!(matches!(client.ask(&Request::Hosts), Err(RuntimeError::Ended)));
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(theirs);
        assert!(matches!(Client::greet(ours, &Hello::of("1")), Err(RuntimeError::Ended)));
        // One that goes away with what was asked unread.
        let (ours, theirs) = UnixStream::pair().unwrap();
        let daemon = thread::spawn(move || {
            let mut theirs = theirs;
            theirs.write_all(&Hello::of("1").to_bytes()).unwrap();
        });
        let client = Client::greet(ours, &Hello::of("1"));
        daemon.join().unwrap();
        assert!(matches!(
            client.map(|mut client| client.ask(&Request::Hosts).err()),
            Ok(Some(RuntimeError::Ended))
        ));
    }
}
