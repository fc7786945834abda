//! In steady state nothing is allocated for small eager messages, expected or unexpected, while credit goes
//! round; and waiting messages cost little memory. This is a test binary of its own, because it has an
//! allocator that counts. It counts by thread: that of the test's runner allocates, too, and on a busy
//! machine at any moment.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::num::NonZeroU64;

use tasuki_msg::{
    Action, Config, ENVELOPE, Endpoint, Event, Matching, PeerId, PeerOptions, Queue, RecvRequest,
    SendRequest, Sink, Source, Window,
};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };

    /// Bytes allocated and not freed; negative in a thread that frees what others have allocated.
    static IN_USE: Cell<i64> = const { Cell::new(0) };
}

fn count(allocations: u64, taken: usize, given_back: usize) {
    ALLOCATIONS.set(ALLOCATIONS.get() + allocations);
    IN_USE.set(IN_USE.get() + taken as i64 - given_back as i64);
}

struct Counting;

// SAFETY: every call is passed on to the system's allocator with the caller's own arguments, so its contract
// is kept by theirs; the counter touches no memory that is handed out.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size(), 0);
        // SAFETY: the caller promises a layout of non-zero size.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(0, 0, layout.size());
        // SAFETY: the caller promises that `at` came from `alloc` with this layout.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, size, layout.size());
        // SAFETY: the caller promises that `at` came from `alloc` with this layout, and that `size` is valid.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Pair {
    ends: [Endpoint<Window>; 2],
    peers: [PeerId; 2],
    received: u64,
    early: u64,
}

impl Pair {
    fn send(&mut self, from: usize, tag: u64) {
        let (queue, data, remote_key) = (Queue::Tagged, Some(1), None);
        let (len, delivery, user) = (64, false, 0);
        let request =
            SendRequest { peer: self.peers[from], queue, tag, data, len, delivery, remote_key, user };
        self.ends[from].post_send(request).unwrap();
    }

    fn recv(&mut self, at: usize, tag: u64, ignore: u64) {
        let matching = Matching { queue: Queue::Tagged, source: Source::Any, tag, ignore };
        self.ends[at].post_recv(RecvRequest { matching, capacity: 64, multi: None, user: 0 }).unwrap();
    }

    fn carry(&mut self) {
        let room = NonZeroU64::new(1400).unwrap();
        for _ in 0..4 {
            for from in [0, 1] {
                while let Some(peer) = self.ends[from].poll_active() {
                    while let Some(transmit) = self.ends[from].poll_transmit(peer, room) {
                        let to = 1 - from;
                        let placement = self.ends[to].handle_frame(self.peers[to], &transmit.frame).unwrap();
                        self.early += u64::from(matches!(placement.sink, Sink::Early { .. }));
                        if let Some(payload) = transmit.payload {
                            self.ends[from].handle_released(payload.send);
                        }
                    }
                }
            }
            for end in &mut self.ends {
                while let Some(action) = end.poll_action() {
                    self.received += u64::from(matches!(action, Action::Event(Event::RecvDone(_))));
                }
            }
        }
    }

    /// Some messages each way, some expected and some not, with tags that keep changing.
    fn round(&mut self, round: u64) {
        for at in [0, 1] {
            for k in 0..8 {
                let tag = round * 8 + k;
                if k % 2 == 0 {
                    self.recv(at, tag, 3 << 62);
                    self.send(1 - at, tag);
                } else {
                    self.send(1 - at, tag);
                    self.carry();
                    self.recv(at, tag, 3 << 62);
                }
            }
            self.recv(at, 0, u64::MAX);
            self.send(1 - at, round);
            self.carry();
        }
    }
}

/// Checks what `docs/internals/message-layer.md` states: an unexpected envelope costs less than its charge (1
/// KiB) at the receiver, with four kinds of wildcard in use and no two tags alike; a send that waits for its
/// receiver costs less than 512 bytes.
fn envelopes_are_small(pair: &mut Pair) {
    const ENVELOPES: u64 = 50_000;
    for ignore in [0, 3 << 62, 1 << 61, u64::MAX >> 1] {
        let kind = Matching { queue: Queue::Tagged, source: Source::Any, tag: 1 << 63, ignore };
        pair.send(0, 1);
        pair.carry();
        assert_eq!(pair.ends[1].peek(&kind), None);
        pair.recv(1, 1, 0);
        pair.carry();
    }
    let in_use = || IN_USE.get().unsigned_abs();
    let before = in_use();
    (0..ENVELOPES).for_each(|tag| pair.send(0, tag));
    let posted = in_use();
    pair.carry();
    let arrived = in_use();
    assert_eq!(pair.ends[1].status().unexpected as u64, ENVELOPES);
    let (send, envelope) = ((posted - before) / ENVELOPES, (arrived - posted) / ENVELOPES);
    println!("{send} bytes per send, {envelope} per envelope");
    assert!(send < 512 && envelope < ENVELOPE, "{send} bytes per send, {envelope} per envelope");
}

#[test]
fn small_messages_allocate_nothing_in_steady_state() {
    let config = Config { pool_bytes: 1 << 16, peer_bytes: 1 << 14, expected_peers: 1, initial_credit: 0 };
    let mut ends = [(); 2].map(|()| Endpoint::new(config, Window::default()));
    let peers = [0, 1].map(|at: usize| ends[at].add_peer(PeerOptions::default()));
    let mut pair = Pair { ends, peers, received: 0, early: 0 };
    (0..5000).for_each(|round| pair.round(round));
    let before = (ALLOCATIONS.get(), pair.received, pair.early);
    (5000..24_000).for_each(|round| pair.round(round));
    let after = ALLOCATIONS.get();
    assert_eq!(pair.received - before.1, 19_000 * 18);
    assert!(pair.early - before.2 >= 19_000 * 8, "the unexpected path is walked too");
    assert_eq!(after - before.0, 0, "allocations in {} messages", pair.received - before.1);
    envelopes_are_small(&mut pair);
}
