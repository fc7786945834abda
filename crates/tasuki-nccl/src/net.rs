//! One endpoint of the engine, and what has become of the operations posted to it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use tasuki_engine::{
    Address, Buffer, Completion, Endpoint, Failure, Options, Peer, RecvArgs, Report, SendArgs,
};

use crate::error::{Code, Error};
use crate::log::Log;

/// How long operations that can no longer be taken back may take to end when NCCL wants their memory or
/// closes their connection: it does so only when it aborts. After that the endpoint is given up, with all
/// other connections that use it.
pub(crate) const SETTLE: Duration = Duration::from_millis(200);

/// How many completions are taken from the engine at a time.
const BATCH: usize = 64;

/// An endpoint. Operations have names, counted from 1.
pub(crate) struct Net {
    /// `None` once the endpoint was given up, with all that was under way.
    endpoint: RwLock<Option<Endpoint>>,
    /// Held by whoever gives it up.
    closing: Mutex<()>,
    operations: Mutex<Operations>,
    last_number: AtomicU32,
    /// Several communicators may use it.
    is_shared: bool,
}

#[derive(Default)]
struct Operations {
    last: u64,
    states: HashMap<u64, State>,
}

/// What has become of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Pending,
    /// It is over: bytes moved, and the other side.
    Done(usize, Peer),
    Failed(Error),
}

fn guard<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Net {
    pub fn open(options: &Options, log: Log, is_shared: bool) -> Result<Net, Error> {
        let endpoint = Endpoint::open(options).map_err(|error| Error::new(Code::System, error))?;
        let rate = options
            .rate_mbits()
            .ok()
            .flatten()
            .map_or("no rails, or rails whose rate is not known (tasuki apply)".to_owned(), |mbits| {
                format!("{:.1} Gbit/s over all NICs of its rails", f64::from(mbits) / 1e3)
            });
        let version = env!("CARGO_PKG_VERSION");
        log.info(&format!("Tasuki {version} on {}, {rate}", endpoint.address().host()));
        let endpoint = RwLock::new(Some(endpoint));
        let (closing, operations) = (Mutex::default(), Mutex::default());
        Ok(Net { endpoint, closing, operations, last_number: AtomicU32::new(0), is_shared })
    }

    /// Runs `body` with the endpoint, unless it was given up.
    fn with<T>(&self, body: impl FnOnce(&Endpoint) -> T) -> Result<T, Error> {
        let endpoint = self.endpoint.read().unwrap_or_else(PoisonError::into_inner);
        endpoint.as_ref().map(body).ok_or_else(|| self.given_up())
    }

    /// Whether the endpoint was given up.
    pub fn is_given_up(&self) -> bool {
        self.with(|_| ()).is_err()
    }

    /// A number for a connection or a listener, unique in this endpoint and below 2^31.
    pub fn number(&self) -> Result<u32, Error> {
        let number = self.last_number.fetch_add(1, Ordering::Relaxed);
        if number < 1 << 31 {
            Ok(number)
        } else {
            Err(Error::new(Code::System, "2^31 connections were made"))
        }
    }

    pub fn address(&self) -> Result<Address, Error> {
        self.with(Endpoint::address)
    }

    pub fn add_peer(&self, address: &Address) -> Result<Peer, Error> {
        self.with(|endpoint| endpoint.add_peer(address))
    }

    fn begin(&self) -> u64 {
        let mut operations = guard(&self.operations);
        operations.last += 1;
        let name = operations.last;
        operations.states.insert(name, State::Pending);
        name
    }

    /// Posts an operation by `post`, which is given its name.
    fn post(
        &self,
        post: impl FnOnce(&Endpoint, u64) -> Result<(), tasuki_engine::PostError>,
    ) -> Result<u64, Error> {
        let name = self.begin();
        let posted = self.with(|endpoint| post(endpoint, name));
        match posted.and_then(|result| result.map_err(|error| Error::new(Code::Internal, error))) {
            Ok(()) => Ok(name),
            Err(error) => {
                self.forget(name);
                Err(error)
            }
        }
    }

    /// Posts a send and returns its name.
    ///
    /// # Safety
    /// As [`Endpoint::send`].
    pub unsafe fn send(&self, peer: Peer, tag: u64, buffer: Buffer, inject: bool) -> Result<u64, Error> {
        self.post(|endpoint, context| {
            let args = SendArgs {
                peer,
                tag: Some(tag),
                data: None,
                buffers: &[buffer],
                inject,
                report: Report::Completion,
                delivery: false,
                more: false,
                context,
            };
            // SAFETY: as the caller promises.
            unsafe { endpoint.send(&args) }
        })
    }

    /// Posts a receive and returns its name.
    ///
    /// # Safety
    /// As [`Endpoint::recv`].
    pub unsafe fn recv(&self, source: Option<Peer>, tag: u64, buffer: Buffer) -> Result<u64, Error> {
        self.post(|endpoint, context| {
            let args = RecvArgs {
                source,
                tag: Some(tag),
                ignore: 0,
                buffers: &[buffer],
                multi: None,
                report: Report::Completion,
                context,
            };
            // SAFETY: as the caller promises.
            unsafe { endpoint.recv(&args) }
        })
    }

    /// What has become of an operation; one that is not known counts as failed.
    pub fn state(&self, name: u64) -> State {
        let unknown = || State::Failed(Error::new(Code::Internal, "there is no such operation"));
        guard(&self.operations).states.get(&name).cloned().unwrap_or_else(unknown)
    }

    /// Whether the engine may still use the memory of an operation.
    pub fn is_pending(&self, name: u64) -> bool {
        guard(&self.operations).states.get(&name) == Some(&State::Pending)
    }

    /// Nobody asks for this operation any more.
    pub fn forget(&self, name: u64) {
        guard(&self.operations).states.remove(&name);
    }

    /// Takes an operation back if nothing of it has happened yet; its completion follows.
    fn cancel(&self, name: u64) {
        let _ = self.with(|endpoint| endpoint.cancel(name));
    }

    /// Ends operations: takes back what can be, waits for the rest, and gives the endpoint up if that takes
    /// longer than [`SETTLE`]. When this returns, nobody uses their memory.
    pub fn settle(&self, names: &[u64], log: Log) {
        names.iter().for_each(|&name| self.cancel(name));
        let start = Instant::now();
        while names.iter().any(|&name| self.is_pending(name)) {
            if start.elapsed() > SETTLE {
                log.info("messages are under way in memory that is to be freed: the endpoint is closed");
                self.give_up();
            }
            self.turn();
        }
    }

    /// Makes progress and notes what is over.
    pub fn turn(&self) {
        // The engine calls under its lock, where nothing else may be waited for.
        let mut over = Vec::new();
        if self.with(|endpoint| endpoint.turn(BATCH, |completion| over.push(completion))).is_err() {
            return;
        }
        for completion in over {
            if let Some((name, state)) = self.outcome(&completion)
                && let Some(known) = guard(&self.operations).states.get_mut(&name)
            {
                *known = state;
            }
        }
    }

    fn outcome(&self, completion: &Completion) -> Option<(u64, State)> {
        Some(match *completion {
            Completion::Send { context, peer, .. } => (context, State::Done(0, peer)),
            Completion::Recv { context, len, total, source, .. } if total <= len => {
                (context, State::Done(len as usize, source))
            }
            Completion::Recv { context, len, total, .. } => {
                let text = format!("a message of {total} bytes came for a receive of {len}");
                (context, State::Failed(Error::new(Code::Usage, text)))
            }
            Completion::Error { context, failure, peer, .. } => {
                (context, State::Failed(self.explain(failure, peer)))
            }
            // Nothing here registers memory.
            Completion::Put { .. } => return None,
        })
    }

    fn explain(&self, failure: Failure, peer: Option<Peer>) -> Error {
        let peer = peer.filter(|_| failure != Failure::Cancelled);
        let known = |endpoint: &Endpoint| {
            let peer = peer?;
            let host = endpoint.peer_address(peer)?.host();
            let reason = endpoint.failure_reason(peer).map_or(String::new(), |reason| format!(": {reason}"));
            Some(format!("peer on host {host}: {failure}{reason}"))
        };
        let text = self.with(known).ok().flatten().unwrap_or_else(|| failure.to_string());
        Error::new(Code::Remote, text)
    }

    /// Closes the endpoint, after which nobody uses the memory of any operation. All that is under way, and
    /// every later call, fails.
    fn give_up(&self) {
        // The thread that gives up second waits until the memory is not used any more.
        let _closing = guard(&self.closing);
        // Closing waits for acknowledgements, which calls of other threads should not wait for.
        let endpoint = self.endpoint.write().unwrap_or_else(PoisonError::into_inner).take();
        drop(endpoint);
        for state in guard(&self.operations).states.values_mut() {
            if *state == State::Pending {
                *state = State::Failed(self.given_up());
            }
        }
    }

    /// Why nothing goes on. Where several communicators use it, those that are told have not been aborted.
    fn given_up(&self) -> Error {
        let text = if self.is_shared {
            "a communicator of this process was aborted while messages were under way, and shared its \
             endpoint with this one (up to version 10 of NCCL's interface those do that one thread connects)"
        } else {
            "the communicator was aborted while messages were under way"
        };
        Error::new(Code::Remote, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_by_the_abort_of_another_communicator_says_so() {
        for is_shared in [true, false] {
            let net = Net::open(&Options::default(), Log(None), is_shared).expect("an endpoint");
            net.give_up();
            let why = net.address().expect_err("it is closed").text;
            assert_eq!(why.contains("shared its endpoint with this one"), is_shared, "{why}");
        }
    }
}
