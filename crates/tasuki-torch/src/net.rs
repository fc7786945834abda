//! The endpoint of a group, and its peers by rank.

use std::sync::{Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use tasuki_engine::{Address, Buffer, Endpoint, Options, Peer, RecvArgs, Report, SendArgs};

use crate::error::Error;
use crate::states::{States, guard};

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

pub(crate) struct Net {
    pub rank: usize,
    pub size: usize,
    /// `None` once it was given up, with all that was under way.
    endpoint: RwLock<Option<Endpoint>>,
    /// Held by the thread that gives it up.
    closing: Mutex<()>,
    pub peers: OnceLock<Vec<Peer>>,
    pub states: States,
}

impl Net {
    pub fn open(rank: usize, size: usize) -> Result<Net, Error> {
        let endpoint = RwLock::new(Some(Endpoint::open(&Options::from_env()?)?));
        let (closing, peers, states) = (Mutex::default(), OnceLock::new(), States::default());
        Ok(Net { rank, size, endpoint, closing, peers, states })
    }

    pub fn with<T>(&self, body: impl FnOnce(&Endpoint) -> T) -> Result<T, Error> {
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

    pub fn rank_of(&self, peer: Peer) -> usize {
        let all = self.peers.get().into_iter().flatten();
        all.enumerate().find(|(_, known)| **known == peer).map_or(usize::MAX, |(rank, _)| rank)
    }

    /// Posts a send and returns its name.
    ///
    /// # Safety
    /// The memory can be read, and does not change, until the operation is over.
    pub unsafe fn send(&self, to: usize, tag: u64, buffer: Buffer) -> Result<u64, Error> {
        let (peer, context) = (self.peer(to)?, self.states.begin(None, false));
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
        let context = self.states.begin(Some(buffer.len as u64), from.is_none());
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
                self.states.forget(name);
                Err(error)
            }
        }
    }

    /// Closes the endpoint, after which nobody uses the memory of any operation. All that is under way, and
    /// every later call, fails.
    pub fn give_up(&self) {
        // A thread that comes second waits here until the memory is not used any more.
        let _closing = guard(&self.closing);
        // Closing waits for acknowledgements, which calls of other threads should not wait for.
        let endpoint = self.endpoint.write().unwrap_or_else(PoisonError::into_inner).take();
        drop(endpoint);
        self.states.fail_all(&Error::Closed);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::Net;

    /// Two ranks that know each other.
    pub(crate) fn pair() -> [Net; 2] {
        let nets = [0, 1].map(|rank| Net::open(rank, 2).expect("an endpoint"));
        let addresses = nets.each_ref().map(|net| net.address().expect("it is open"));
        for net in &nets {
            net.connect(&addresses.each_ref().map(String::as_str)).expect("addresses");
        }
        nets
    }
}
