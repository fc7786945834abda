//! The fast paths for short messages against the general path: the same programs run on two pairs of
//! endpoints, one of which never meets the conditions for a fast path, because its carrier has room for one
//! byte in a frame. What a program sees must be the same.

use std::collections::HashMap;
use std::num::NonZeroU64;

use tasuki_msg::{
    Action, Config, EarlyId, Endpoint, Event, Frame, INITIAL_CREDIT, Matching, PeerId, PeerOptions, Queue,
    RecvDone, RecvRequest, SendRequest, Sink, Source, Window,
};

use tasuki_random::Random;
use tasuki_testkit::replay::Replay;

const SEEDS: u64 = 100;
const REPLAY: Replay =
    Replay { variable: "TASUKI_MSG_SEED", command: "cargo test -p tasuki-msg --test suite fast_path" };
const STEPS: usize = 200;

/// What a program sees of a message: the receive, tag, completion data, bytes received, length of the
/// message, and a hash of the bytes.
type Seen = (u64, u64, Option<u64>, u64, u64, u64);

/// Two endpoints, and a carrier that loses and reorders nothing.
struct Pair {
    ends: [Endpoint<Window>; 2],
    peers: [PeerId; 2],
    fast_path: bool,
    taken: usize,
    done: Vec<u64>,
    buffers: HashMap<u64, Vec<u8>>,
    early: HashMap<EarlyId, Vec<u8>>,
    seen: Vec<Seen>,
}

fn content(message: u64, at: u64) -> u8 {
    (message * 31 + at * 7 + 1) as u8
}

impl Pair {
    fn new(fast_path: bool, config: Config) -> Pair {
        let mut ends =
            [(); 2].map(|()| Endpoint::new(config, Window { eager_max: 2000, ..Window::default() }));
        let peers = [0, 1].map(|at: usize| ends[at].add_peer(PeerOptions::default()));
        let (done, seen) = (Vec::new(), Vec::new());
        let (buffers, early) = (HashMap::new(), HashMap::new());
        Pair { ends, peers, fast_path, taken: 0, done, buffers, early, seen }
    }

    fn send(&mut self, request: SendRequest) {
        let request = SendRequest { peer: self.peers[0], ..request };
        if self.fast_path
            && let Some(start) = self.ends[0].send_inline(&request, 1400)
        {
            self.taken += 1;
            self.done.push(request.user);
            return self.arrive(&Frame::Start(start), request.user, 0);
        }
        self.ends[0].post_send(request).unwrap();
    }

    fn recv(&mut self, request: RecvRequest) {
        self.buffers.insert(request.user, vec![0; request.capacity as usize]);
        self.ends[1].post_recv(request).unwrap();
    }

    /// Brings a frame to the receiver, with payload of a message from byte `offset` on.
    fn arrive(&mut self, frame: &Frame, message: u64, offset: u64) {
        let done = match frame {
            Frame::Start(start) if self.fast_path => self.ends[1].recv_inline(self.peers[1], start),
            _ => None,
        };
        let placement = match &done {
            Some(done) => done.placement(),
            None => self.ends[1].handle_frame(self.peers[1], frame).unwrap(),
        };
        let bytes = (offset..offset + placement.len).map(|at| content(message, at));
        match placement.sink {
            Sink::Nowhere => {}
            Sink::Recv { user, offset: at, .. } => {
                let into = &mut self.buffers.get_mut(&user).unwrap()[at as usize..];
                into.iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
            }
            Sink::Early { buffer, size, offset: at } => {
                let into =
                    &mut self.early.entry(buffer).or_insert_with(|| vec![0; size as usize])[at as usize..];
                into.iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
            }
        }
        if let Some(done) = done {
            self.taken += 1;
            self.received(&done);
        }
    }

    /// Carries all frames that there are.
    fn settle(&mut self) {
        let room = NonZeroU64::new(if self.fast_path { 1400 } else { 1 }).unwrap();
        loop {
            let mut moved = false;
            while let Some(transmit) = self.ends[0].poll_transmit(self.peers[0], room) {
                moved = true;
                let payload = transmit.payload;
                self.arrive(
                    &transmit.frame,
                    payload.map_or(0, |it| it.user),
                    payload.map_or(0, |it| it.offset),
                );
                if let Some(payload) = payload {
                    self.ends[0].handle_released(payload.send);
                }
                self.act();
            }
            while let Some(transmit) = self.ends[1].poll_transmit(self.peers[1], room) {
                moved = true;
                let _nothing = self.ends[0].handle_frame(self.peers[0], &transmit.frame).unwrap();
            }
            self.act();
            if !moved {
                return;
            }
        }
    }

    fn act(&mut self) {
        while let Some(action) = self.ends[0].poll_action() {
            if let Action::Event(Event::SendDone { user, result: Ok(()), .. }) = action {
                self.done.push(user);
            }
        }
        while let Some(action) = self.ends[1].poll_action() {
            match action {
                Action::Copy { from, user, offset, len, .. } => {
                    let bytes = &self.early[&from][..len as usize];
                    let at = offset as usize;
                    self.buffers.get_mut(&user).unwrap()[at..at + len as usize].copy_from_slice(bytes);
                }
                Action::FreeEarly(buffer) => drop(self.early.remove(&buffer)),
                Action::Event(Event::RecvDone(done)) => self.received(&done),
                other => panic!("{other:?} in a program without it"),
            }
        }
    }

    fn received(&mut self, done: &RecvDone) {
        let bytes = &self.buffers[&done.user][done.offset as usize..][..done.len as usize];
        let sum = bytes.iter().fold(0u64, |sum, byte| sum.wrapping_mul(31) + u64::from(*byte));
        self.seen.push((done.user, done.tag, done.data, done.len, done.total, sum));
    }

    /// Counters and states in which the two paths must agree. The number of frames is not among them.
    fn traces(&self) -> [u64; 8] {
        let [a, b] = [0, 1].map(|at: usize| self.ends[at].counters(self.peers[at]).copied().unwrap());
        let status = self.ends[1].status();
        let held = self.ends[1].peer_status(self.peers[1]).unwrap().pool_held;
        [
            a.sent_messages,
            a.sent_eager,
            a.sent_bytes,
            b.received_messages,
            b.matched_messages,
            b.received_bytes,
            status.messages as u64,
            held,
        ]
    }
}

fn send(rng: &mut Random, user: u64, peer: PeerId) -> SendRequest {
    let len = rng.pick(&[0, 1, 8, 40, 64, 1400, 1401, 2000, 5000]);
    let queue = rng.pick(&[Queue::Tagged, Queue::Tagged, Queue::Msg]);
    let tag = rng.pick(&[1, 2, 0x1_0001]);
    let data = rng.chance(30).then_some(user + 7);
    SendRequest { peer, queue, tag, data, len, delivery: rng.chance(10), remote_key: None, user }
}

fn recv(rng: &mut Random, user: u64, from: PeerId) -> RecvRequest {
    let queue = rng.pick(&[Queue::Tagged, Queue::Tagged, Queue::Msg]);
    let source = rng.pick(&[Source::Any, Source::Peer(from)]);
    let matching =
        Matching { queue, source, tag: rng.pick(&[1, 2]), ignore: rng.pick(&[0, 0x1_0000, u64::MAX]) };
    let multi = rng.chance(10).then_some(100);
    RecvRequest { matching, capacity: rng.pick(&[0, 8, 64, 3000]), multi, user }
}

/// Takes what has come since the last call, sorted.
fn sorted<T: Ord>(news: &mut Vec<T>) -> Vec<T> {
    let mut news = std::mem::take(news);
    news.sort_unstable();
    news
}

fn run(seed: u64) -> usize {
    let mut rng = Random::new(seed);
    let pool_bytes = rng.pick(&[4096, 1 << 20]);
    let config = Config {
        pool_bytes,
        peer_bytes: 1 << 20,
        expected_peers: 1,
        initial_credit: rng.clone().pick(&[0, INITIAL_CREDIT]),
    };
    let mut pairs = [true, false].map(|fast_path| Pair::new(fast_path, config));
    pairs.iter_mut().for_each(Pair::settle);
    for user in 0..STEPS as u64 {
        if rng.chance(50) {
            let request = send(&mut rng, user, pairs[0].peers[0]);
            pairs.iter_mut().for_each(|pair| pair.send(request));
        } else {
            let request = recv(&mut rng, user, pairs[0].peers[1]);
            pairs.iter_mut().for_each(|pair| pair.recv(request));
        }
        pairs.iter_mut().for_each(Pair::settle);
        let [fast, slow] = &mut pairs;
        // A receive for several messages may complete them in any order.
        assert_eq!(
            sorted(&mut fast.seen),
            sorted(&mut slow.seen),
            "seed {seed}, step {user}: what was received"
        );
        assert_eq!(
            sorted(&mut fast.done),
            sorted(&mut slow.done),
            "seed {seed}, step {user}: sends that are over"
        );
        assert_eq!(fast.traces(), slow.traces(), "seed {seed}, step {user}: what is left behind");
    }
    pairs[0].taken
}

#[test]
fn the_fast_path_changes_nothing_but_the_cost() {
    let taken = std::sync::atomic::AtomicUsize::new(0);
    REPLAY.each(SEEDS, |seed| {
        taken.fetch_add(run(seed), std::sync::atomic::Ordering::Relaxed);
    });
    let taken = taken.into_inner();
    assert!(!REPLAY.is_default() || taken > SEEDS as usize * STEPS / 10, "hardly ever taken: {taken}");
}
