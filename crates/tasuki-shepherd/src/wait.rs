//! Waiting for everything at once.

use crate::{
    peer::{Door, Peer},
    rank::Rank,
};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{signalfd::SignalFd, timerfd::TimerFd},
};
use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    time::Instant,
};

/// Something that can be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// Signals have come.
    Signals,
    /// The owner has said something, or takes more.
    Owner,
    /// Another owner knocks.
    Door,
    /// It is time to freeze the job, or to have it go on.
    Turn,
    /// Rank 0 takes more input.
    Feed,
    /// A rank, by its index, has written to one of its streams.
    Source(usize, usize),
    /// A rank, by its index, asks by PMI or takes more answers.
    Pmi(usize),
}

/// What is waited for.
pub struct Waits<'a> {
    descriptors: Vec<PollFd<'a>>,
    tokens: Vec<Token>,
}

impl<'a> Waits<'a> {
    /// Waits for signals and for the owner, or another one.
    pub fn new(signals: &'a SignalFd, peer: &'a Peer, door: Option<&'a Door>) -> Self {
        let mut waits = Self { descriptors: Vec::new(), tokens: Vec::new() };
        waits.add(signals, PollFlags::POLLIN, Token::Signals);
        if let Some(socket) = peer.socket() {
            let more = if peer.is_idle() { PollFlags::empty() } else { PollFlags::POLLOUT };
            waits.add(socket, PollFlags::POLLIN | more, Token::Owner);
        }
        if let Some(door) = door {
            waits.add(door.socket(), PollFlags::POLLIN, Token::Door);
        }
        waits
    }

    /// Waits for the instant of a turn too. It comes before all else.
    pub fn turn(&mut self, timer: &'a TimerFd) {
        self.descriptors.insert(0, PollFd::new(timer.as_fd(), PollFlags::POLLIN));
        self.tokens.insert(0, Token::Turn);
    }

    /// Waits for ranks too. A stream for which there is no room is left out altogether, because its end
    /// would be told again and again.
    pub fn ranks(&mut self, ranks: &'a [Rank], room: bool, reserve: bool, feed: Option<&'a OwnedFd>) {
        if let Some(pipe) = feed {
            self.add(pipe, PollFlags::POLLOUT, Token::Feed);
        }
        for (index, rank) in ranks.iter().enumerate() {
            for (which, source) in rank.sources.iter().enumerate().filter(|_| room) {
                if let Some(pipe) = &source.pipe {
                    self.add(pipe, PollFlags::POLLIN, Token::Source(index, which));
                }
            }
            let Some(socket) = &rank.pmi.socket else { continue };
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::POLLIN, reserve && rank.pmi.is_wanted());
            flags.set(PollFlags::POLLOUT, !rank.pmi.answers.is_empty());
            if !flags.is_empty() {
                self.add(socket, flags, Token::Pmi(index));
            }
        }
    }

    fn add(&mut self, descriptor: &'a impl AsFd, flags: PollFlags, token: Token) {
        self.descriptors.push(PollFd::new(descriptor.as_fd(), flags));
        self.tokens.push(token);
    }

    /// What can be done now; empty when `until` has come.
    ///
    /// # Errors
    /// What the system says.
    pub fn wait(mut self, until: Option<Instant>) -> io::Result<Vec<Token>> {
        // A millisecond more, so that the time has come when the wait is over.
        let left = until.map(|until| until.saturating_duration_since(Instant::now()).as_millis() + 1);
        let limit =
            left.map_or(PollTimeout::NONE, |left| PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX));
        match poll(&mut self.descriptors, limit) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let ready = |descriptor: &PollFd| descriptor.any() == Some(true);
        let pairs = self.descriptors.iter().zip(&self.tokens);
        Ok(pairs.filter(|(descriptor, _)| ready(descriptor)).map(|(_, token)| *token).collect())
    }
}
