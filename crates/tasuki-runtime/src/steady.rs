//! Commands that last while daemons begin anew: what they ask is asked again, and standard input that rank 0
//! has not taken is sent again.

use crate::{Client, RuntimeError};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::{
    fs::File,
    io::{self, ErrorKind, Read},
    os::fd::AsFd,
    thread,
    time::{Duration, Instant},
};
use tasuki_control::{Bytes, INPUT_MAX, JobId, Reply, Request};
use tasuki_queue::PATIENCE;

/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(250);

/// Tries something again while no daemon answers, for as long as jobs wait for theirs. `notice` hears once
/// what is missing.
fn persist<T>(
    notice: impl Fn(&RuntimeError),
    mut attempt: impl FnMut() -> Result<T, RuntimeError>,
) -> Result<T, RuntimeError> {
    let mut since = None;
    loop {
        match attempt() {
            Err(error) if error.is_passing() => {
                let since = since.get_or_insert_with(|| {
                    notice(&error);
                    Instant::now()
                });
                if since.elapsed() > Duration::from_secs(PATIENCE) {
                    return Err(error);
                }
                thread::sleep(PAUSE);
            }
            result => return result,
        }
    }
}

/// A connection that is made again when it is lost.
pub struct Steady<F> {
    version: &'static str,
    client: Option<Client>,
    notice: F,
}

impl<F: Fn(&RuntimeError)> Steady<F> {
    /// Goes on with a command's connection. `notice` hears what is missing, once each time.
    pub fn new(version: &'static str, client: Option<Client>, notice: F) -> Self {
        Self { version, client, notice }
    }

    /// Asks something until it is answered.
    ///
    /// # Errors
    /// If the daemon refuses, is of another version, or stays away for ten minutes.
    pub fn ask(&mut self, request: &Request) -> Result<Reply, RuntimeError> {
        let (client, version) = (&mut self.client, self.version);
        persist(&self.notice, || {
            let mut connected = match client.take() {
                Some(client) => client,
                None => Client::connect(version)?,
            };
            let reply = connected.ask(request)?;
            *client = Some(connected);
            Ok(reply)
        })
    }
}

/// The command that attends a job: its connection, and what it reads for rank 0.
pub struct Attendant {
    version: &'static str,
    client: Client,
    job: JobId,
    /// What was read and may not have reached rank 0.
    kept: Vec<u8>,
    /// Place of the first byte of `kept` in the whole input.
    base: u64,
    /// The input is at its end.
    is_whole: bool,
}

impl Attendant {
    /// The command over whose connection a job was submitted.
    pub fn new(version: &'static str, client: Client, job: JobId) -> Self {
        Self { version, client, job, kept: Vec::new(), base: 0, is_whole: false }
    }

    /// Passes input on to rank 0, and keeps the job attended, until the job is over or cannot be attended any
    /// more. The connection lasts as long as this value.
    ///
    /// # Errors
    /// Why it ended: the daemon refuses, or stays away for ten minutes.
    pub fn attend(&mut self, mut input: File) -> Result<(), RuntimeError> {
        loop {
            match self.step(&mut input) {
                Err(error) if error.is_passing() => self.come_back()?,
                result => result?,
            }
        }
    }

    /// Waits for input or for the end of the connection, and does what follows.
    fn step(&mut self, input: &mut File) -> Result<(), RuntimeError> {
        let flags = PollFlags::POLLIN;
        let mut polled = vec![PollFd::new(self.client.as_fd(), flags)];
        if !self.is_whole {
            polled.push(PollFd::new(input.as_fd(), flags));
        }
        match poll(&mut polled, PollTimeout::NONE) {
            Err(nix::errno::Errno::EINTR) => return Ok(()),
            result => result.map_err(io::Error::from)?,
        };
        let is_ready = |at: usize| polled.get(at).is_some_and(|fd| fd.any().unwrap_or(true));
        if is_ready(0) {
            // Nothing was asked, so that this is the end.
            return Err(RuntimeError::Ended);
        }
        if is_ready(1) {
            let mut bytes = vec![0; INPUT_MAX];
            let length = match input.read(&mut bytes) {
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {
                    return Ok(());
                }
                // What cannot be read is at its end.
                result => result.unwrap_or(0),
            };
            let at = self.base + self.kept.len() as u64;
            self.is_whole = length == 0;
            self.kept.extend(&bytes[..length]);
            self.send(at, &bytes[..length])?;
        }
        Ok(())
    }

    /// Sends a piece, and drops what rank 0 has taken.
    fn send(&mut self, at: u64, bytes: &[u8]) -> Result<(), RuntimeError> {
        let request = Request::Input { job: self.job, at, bytes: Bytes::from(bytes) };
        match self.client.ask(&request)? {
            Reply::Input { taken } => {
                let done = usize::try_from(taken.saturating_sub(self.base)).unwrap_or(usize::MAX);
                self.base += self.kept.drain(..done.min(self.kept.len())).len() as u64;
                Ok(())
            }
            other => Err(RuntimeError::odd(&other)),
        }
    }

    /// Connects anew, and says again what may not have arrived.
    fn come_back(&mut self) -> Result<(), RuntimeError> {
        // What follows the job's output says that a daemon is missed.
        persist(
            |_| (),
            || {
                self.client = Client::connect(self.version)?;
                self.client.ask(&Request::Attend { job: self.job })?;
                let (base, kept) = (self.base, self.kept.clone());
                for (piece, at) in kept.chunks(INPUT_MAX).zip((base..).step_by(INPUT_MAX)) {
                    self.send(at, piece)?;
                }
                match self.is_whole {
                    true => self.send(base + kept.len() as u64, &[]),
                    false => Ok(()),
                }
            },
        )
    }
}
