//! Two endpoints in one process that exchange messages in lock-step, so that nobody waits and everything that
//! is done is done for a message.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use tasuki_engine::{Completion, Endpoint, Lanes, Options, Peer};

#[path = "../common/cables.rs"]
mod cables;
#[path = "../common/plain.rs"]
mod plain;

/// What carries the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    Shared,
    Udp,
    Raw,
}

/// The two ends. Namespaces and the cable between them go with the process.
pub struct Pair {
    pub ends: [Endpoint; 2],
    peers: [Peer; 2],
    into: Vec<u8>,
    from: Vec<u8>,
}

/// A wait that takes longer has failed.
const TIMEOUT: Duration = Duration::from_secs(60);

impl Pair {
    /// Two ends joined by `route`. `None` without root, which namespaces need (shared memory does not).
    pub fn new(route: Route) -> Option<Pair> {
        let ends = match route {
            Route::Shared => {
                let identity = Some(Ipv4Addr::LOCALHOST.into());
                let options = Options { identity, stats: false, ..Options::default() };
                [0, 1].map(|_| Endpoint::open(&options).expect("an endpoint"))
            }
            Route::Udp => cables::Cables::new(1)?.endpoints(Lanes::Udp),
            Route::Raw => cables::Cables::new(1)?.endpoints(Lanes::RawUdp),
        };
        let peers = [ends[0].add_peer(&ends[1].address()), ends[1].add_peer(&ends[0].address())];
        Some(Pair { ends, peers, into: Vec::new(), from: Vec::new() })
    }

    /// Sends messages there and back for what happens only at the beginning: greeting, proof of the raw lane,
    /// memory that grows.
    pub fn warm_up(&mut self, bytes: usize) {
        self.round_trips(bytes, 2000);
    }

    /// Sends `count` messages there and back. Not inlined, so that a profiler can be told to look at nothing
    /// else.
    #[inline(never)]
    pub fn round_trips(&mut self, bytes: usize, count: usize) {
        for _ in 0..count {
            self.round_trip(bytes);
        }
    }

    /// One message there and one back.
    fn round_trip(&mut self, bytes: usize) {
        if self.into.len() != bytes {
            self.into = vec![0; bytes];
            self.from = vec![1; bytes];
        }
        self.message(0, 1);
        self.message(1, 0);
    }

    /// Sends messages in a row from the first end to the second, and polls. Gives by how much `count` has
    /// grown by then. With `announce` the program says of all messages but the last that more follow.
    #[allow(dead_code, reason = "the example includes this file and uses a part")]
    pub fn send_series(
        &mut self,
        from: &mut [[u8; 8]],
        into: &mut [[u8; 8]],
        announce: bool,
        count: impl Fn() -> u64,
    ) -> u64 {
        let start = Instant::now();
        for into in &mut *into {
            // SAFETY: the buffer outlives the receive, which is over before this function is.
            unsafe { plain::recv(&self.ends[1], self.peers[1], into) };
        }
        let before = count();
        let last = from.len() - 1;
        for (at, from) in from.iter_mut().enumerate() {
            let more = announce && at < last;
            // SAFETY: nobody writes to the buffer; it outlives the send, which is over before this function
            // is.
            unsafe { plain::send_more(&self.ends[0], self.peers[0], from, more) };
        }
        let (mut sent, mut received) = (0, 0);
        sent += self.ends[0].turn(from.len(), |_| {});
        let counted = count() - before;
        while sent < from.len() || received < into.len() {
            sent += self.ends[0].turn(8, |_| {});
            received += self.ends[1].turn(8, |_| {});
            assert!(start.elapsed() < TIMEOUT, "no message: {}", self.ends[0].describe());
        }
        assert!(from == into, "in order");
        counted
    }

    fn message(&mut self, from: usize, to: usize) {
        let start = Instant::now();
        // SAFETY: the buffer outlives the receive, which is over before this function is.
        unsafe { plain::recv(&self.ends[to], self.peers[to], &mut self.into) };
        // SAFETY: nobody writes to the buffer; it outlives the send, which is over before this function is.
        unsafe { plain::send(&self.ends[from], self.peers[from], &mut self.from) };
        let (mut sent, mut received) = (false, false);
        while !(sent && received) {
            // The receiver first: most often it finds the message at once.
            self.ends[to].turn(8, |one| received |= matches!(one, Completion::Recv { .. }));
            let poll = |one| sent |= matches!(one, Completion::Send { .. });
            if self.ends[from].poll_many(8, poll) == 0 && !(sent && received) {
                self.ends[from].turn(8, |one| sent |= matches!(one, Completion::Send { .. }));
            }
            assert!(start.elapsed() < TIMEOUT, "no message: {}", self.ends[from].describe());
        }
    }
}
