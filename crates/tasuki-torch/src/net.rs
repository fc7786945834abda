//! The endpoint of a group, its peers by rank, and what has become of what was posted.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use tasuki_engine::{Address, Buffer, Completion, Endpoint, Options, Peer, RecvArgs, Report, SendArgs};

use crate::error::Error;

/// How many completions are taken from the engine at a time.
const BATCH: usize = 64;

/// How long a thread asks again and again, offering the processor to others in between, before it sleeps.
/// Most answers of a short operation come sooner, and waking up takes as long.
const SPIN: Duration = Duration::from_micros(300);

/// Longest sleep before the time is looked at again.
const LOOK: Duration = Duration::from_millis(50);

/// When an operation must be over.
#[derive(Clone, Copy)]
pub(crate) struct Deadline {
    pub at: Option<Instant>,
    pub timeout: Duration,
}

impl Deadline {
    pub fn after(timeout: Duration) -> Deadline {
        Deadline { at: Instant::now().checked_add(timeout), timeout }
    }
}

/// What has become of an operation.
#[derive(Clone, Debug)]
pub(crate) enum State {
    /// It is under way; the bytes that a receive expects, all of which must come.
    Pending(Option<u64>),
    /// It is over; the rank of the other side.
    Done(usize),
    Failed(Error),
}

pub(crate) struct Net {
    pub rank: usize,
    pub size: usize,
    /// `None` once it was given up, with all that was under way.
    endpoint: RwLock<Option<Endpoint>>,
    peers: OnceLock<Vec<Peer>>,
    operations: Mutex<Operations>,
}

#[derive(Default)]
struct Operations {
    last: u64,
    states: HashMap<u64, State>,
}

pub(crate) fn guard<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Net {
    pub fn open(rank: usize, size: usize) -> Result<Net, Error> {
        let endpoint = RwLock::new(Some(Endpoint::open(&Options::from_env()?)?));
        Ok(Net { rank, size, endpoint, peers: OnceLock::new(), operations: Mutex::default() })
    }

    fn with<T>(&self, body: impl FnOnce(&Endpoint) -> T) -> Result<T, Error> {
        let endpoint = self.endpoint.read().unwrap_or_else(PoisonError::into_inner);
        endpoint.as_ref().map(body).ok_or(Error::Closed)
    }

    pub fn address(&self) -> Result<String, Error> {
        self.with(|endpoint| format!("{:x}", endpoint.address()))
    }

    /// Tells the addresses of all ranks, in their order.
    pub fn connect(&self, addresses: &[&str]) -> Result<(), Error> {
        if addresses.len() != self.size {
            return Err(Error::Usage("there must be an address for each rank"));
        }
        let peers = addresses.iter().enumerate().map(|(rank, text)| {
            let address: Address = text.parse().map_err(|why| Error::address(rank, why))?;
            self.with(|endpoint| endpoint.add_peer(&address))
        });
        let peers = peers.collect::<Result<_, _>>()?;
        self.peers.set(peers).map_err(|_| Error::Usage("the ranks are connected"))
    }

    fn peer(&self, rank: usize) -> Result<Peer, Error> {
        let peers = self.peers.get().ok_or(Error::Usage("the ranks are not connected yet"))?;
        peers.get(rank).copied().ok_or(Error::Usage("there is no such rank"))
    }

    fn rank_of(&self, peer: Peer) -> usize {
        let all = self.peers.get().into_iter().flatten();
        all.enumerate().find(|(_, known)| **known == peer).map_or(usize::MAX, |(rank, _)| rank)
    }

    fn begin(&self, wanted: Option<u64>) -> u64 {
        let mut operations = guard(&self.operations);
        operations.last += 1;
        let name = operations.last;
        operations.states.insert(name, State::Pending(wanted));
        name
    }

    /// Posts a send and returns its name.
    ///
    /// # Safety
    /// The memory can be read, and does not change, until the operation is over.
    pub unsafe fn send(&self, to: usize, tag: u64, buffer: Buffer) -> Result<u64, Error> {
        let (peer, context) = (self.peer(to)?, self.begin(None));
        let buffers = &[buffer];
        let posted = self.with(|endpoint| {
            let args = SendArgs {
                peer,
                tag: Some(tag),
                data: None,
                buffers,
                inject: false,
                report: Report::Completion,
                delivery: false,
                more: false,
                context,
            };
            // SAFETY: as the caller promises.
            unsafe { endpoint.send(&args) }
        });
        self.posted(context, posted)
    }

    /// Posts a receive of exactly so many bytes and returns its name.
    ///
    /// # Safety
    /// The memory can be written, and nobody else uses it, until the operation is over.
    pub unsafe fn recv(&self, from: Option<usize>, tag: u64, buffer: Buffer) -> Result<u64, Error> {
        let source = from.map(|rank| self.peer(rank)).transpose()?;
        let context = self.begin(Some(buffer.len as u64));
        let buffers = &[buffer];
        let posted = self.with(|endpoint| {
            let report = Report::Completion;
            let args = RecvArgs { source, tag: Some(tag), ignore: 0, buffers, multi: None, report, context };
            // SAFETY: as the caller promises.
            unsafe { endpoint.recv(&args) }
        });
        self.posted(context, posted)
    }

    fn posted(
        &self,
        name: u64,
        result: Result<Result<(), tasuki_engine::PostError>, Error>,
    ) -> Result<u64, Error> {
        match result.and_then(|result| Ok(result?)) {
            Ok(()) => Ok(name),
            Err(error) => {
                self.forget(name);
                Err(error)
            }
        }
    }

    fn forget(&self, name: u64) {
        guard(&self.operations).states.remove(&name);
    }

    /// What has become of an operation, which is forgotten if it is over.
    pub fn take(&self, name: u64) -> State {
        let state = guard(&self.operations).states.get(&name).cloned();
        let state = state.unwrap_or(State::Failed(Error::Usage("there is no such operation")));
        if !matches!(state, State::Pending(_)) {
            self.forget(name);
        }
        state
    }

    /// Waits until an operation is over, and returns the rank of the other side. `about` is the rank to name
    /// if the time is over.
    pub fn finish(&self, name: u64, about: usize, deadline: Deadline) -> Result<usize, Error> {
        let begin = Instant::now();
        loop {
            self.turn()?;
            match self.take(name) {
                State::Done(rank) => return Ok(rank),
                State::Failed(error) => return Err(error),
                State::Pending(_) => {}
            }
            if begin.elapsed() < SPIN {
                continue;
            }
            let left = deadline.at.map_or(LOOK, |at| at.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Err(Error::Timeout { rank: about, seconds: deadline.timeout.as_secs() });
            }
            self.with(|endpoint| endpoint.wait(Some(left.min(LOOK))))?;
        }
    }

    /// Makes progress and notes what is over.
    pub fn turn(&self) -> Result<(), Error> {
        // The engine calls under its lock, where nothing else may be waited for.
        let mut over = Vec::new();
        self.with(|endpoint| endpoint.turn(BATCH, |completion| over.push(completion)))?;
        for completion in over {
            self.note(&completion);
        }
        Ok(())
    }

    fn note(&self, completion: &Completion) {
        let (name, state) = match *completion {
            Completion::Send { context, peer, .. } => (context, State::Done(self.rank_of(peer))),
            Completion::Recv { context, total, source, .. } => {
                let rank = self.rank_of(source);
                let state = match guard(&self.operations).states.get(&context) {
                    Some(&State::Pending(Some(wanted))) if wanted != total => {
                        State::Failed(Error::Length { rank, sent: total, wanted })
                    }
                    _ => State::Done(rank),
                };
                (context, state)
            }
            Completion::Error { context, failure, peer, .. } => {
                let known = peer.and_then(|peer| self.explain(failure, peer));
                (context, State::Failed(known.unwrap_or(Error::Failed(failure))))
            }
            // Nothing here registers memory.
            Completion::Put { .. } => return,
        };
        if let Some(known) = guard(&self.operations).states.get_mut(&name) {
            *known = state;
        }
    }

    fn explain(&self, failure: tasuki_engine::Failure, peer: Peer) -> Option<Error> {
        let rank = self.rank_of(peer);
        let known = |endpoint: &Endpoint| {
            let host = endpoint.peer_address(peer)?.host().to_string();
            let reason = endpoint.failure_reason(peer).map_or(String::new(), |why| format!(": {why}"));
            Some(Error::Peer { rank, host, failure, reason })
        };
        self.with(known).ok().flatten()
    }

    /// Closes the endpoint, after which nobody uses the memory of any operation. All that is under way, and
    /// every later call, fails.
    pub fn give_up(&self) {
        let endpoint = self.endpoint.write().unwrap_or_else(PoisonError::into_inner).take();
        drop(endpoint);
        for state in guard(&self.operations).states.values_mut() {
            if matches!(state, State::Pending(_)) {
                *state = State::Failed(Error::Closed);
            }
        }
    }
}
