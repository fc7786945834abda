//! Short messages in a row, of which some may wait for those that follow.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use tasuki_engine::{Buffer, Completion, Endpoint, Peer, RecvArgs, Report, SendArgs};
use tasuki_random::Random;

use crate::node::{Lane, options};

/// A wait that takes longer has failed.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Most messages of a series.
const MOST: usize = 100;

struct Pair {
    from: Endpoint,
    to: Endpoint,
    there: Peer,
    /// Where messages arrive, each in a place of its own.
    into: Vec<[u8; 300]>,
    /// Of all messages so far.
    sent: u64,
}

/// What a message says, of its number.
fn content(number: u64) -> Vec<u8> {
    let len = 8 + (number * number % 7 / 6 * 200) as usize;
    number.to_ne_bytes().into_iter().cycle().take(len).collect()
}

impl Pair {
    fn new() -> Pair {
        let [from, to] = [0, 1].map(|_| Endpoint::open(&options(Lane::Packets)).unwrap());
        let there = from.add_peer(&to.address());
        to.add_peer(&from.address());
        Pair { from, to, there, into: vec![[0; 300]; MOST], sent: 0 }
    }

    fn alone() -> Pair {
        let pair = Pair::new();
        for end in [&pair.from, &pair.to] {
            // SAFETY: one thread makes all calls of this test.
            unsafe { end.assume_one_caller() };
        }
        pair
    }

    fn send(&mut self) {
        let mut bytes = content(self.sent);
        let buffers = [Buffer { ptr: bytes.as_mut_ptr(), len: bytes.len() }];
        let (peer, tag, data) = (self.there, Some(self.sent), None);
        let (inject, report, delivery, context) = (true, Report::Failure, false, 0);
        let args =
            SendArgs { peer, tag, data, buffers: &buffers, inject, report, delivery, more: false, context };
        // SAFETY: the bytes live until the call returns, and it injects.
        unsafe { self.from.send(&args) }.unwrap();
        self.sent += 1;
    }

    /// Posts receives for `count` messages, whatever their tags.
    fn expect(&mut self, count: usize) {
        for into in &mut self.into[..count] {
            let buffers = [Buffer { ptr: into.as_mut_ptr(), len: into.len() }];
            let (source, tag, ignore, multi) = (None, Some(0), u64::MAX, None);
            let (report, context) = (Report::Completion, into.as_ptr() as u64);
            let args = RecvArgs { source, tag, ignore, buffers: &buffers, multi, report, context };
            // SAFETY: the buffer outlives the receive: a test that does not get all messages panics with the
            // pair alive.
            unsafe { self.to.recv(&args) }.unwrap();
        }
    }

    /// A series; then `between`, for as long as not all has come, and the receiver's looks.
    fn send_series(&mut self, count: usize, between: impl Fn(&Endpoint)) {
        let first = self.sent;
        self.expect(count);
        (0..count).for_each(|_| self.send());
        let places = self.into[..count].iter().enumerate();
        let mut open: HashMap<u64, usize> =
            places.map(|(place, into)| (into.as_ptr() as u64, place)).collect();
        let (start, mut came) = (Instant::now(), 0);
        while came < count {
            between(&self.from);
            self.to.turn(8, |one| {
                let Completion::Recv { tag, len, context, .. } = one else { panic!("{one:?}") };
                // The n-th receive gets the n-th message; which is complete first is not said.
                let place = open.remove(&context).expect("each receive ends once");
                let wanted = content(first + place as u64);
                assert_eq!((tag, len as usize), (first + place as u64, wanted.len()));
                assert!(self.into[place][..wanted.len()] == wanted);
                came += 1;
            });
            assert!(start.elapsed() < TIMEOUT, "{came} of {count}: {}", self.from.describe());
        }
    }
}

/// Series after which the program looks at once, so that messages are coalesced; and then one with which it
/// goes off, and does not call until all of it has come, by whatever means.
fn leaves(mut pair: Pair) {
    let mut random = Random::new(u64::from(std::process::id()));
    for _ in 0..300 {
        for _ in 0..random.below(30) {
            let count = random.pick(&[1, 4, 10, 10, 10, 64, MOST]);
            pair.send_series(count, Endpoint::progress);
        }
        let count = 1 + random.below(MOST as u64) as usize;
        pair.send_series(count, |_| {});
    }
}

#[test]
fn what_a_program_leaves_behind_arrives_though_it_never_calls_again() {
    leaves(Pair::new());
    leaves(Pair::alone());
}

#[test]
fn what_is_coalesced_arrives_when_the_program_closes() {
    for round in 0..20 {
        let mut pair = Pair::new();
        for _ in 0..20 {
            pair.send_series(10, Endpoint::progress);
        }
        let count = 5 + round;
        pair.expect(count);
        (0..count).for_each(|_| pair.send());
        let Pair { from, to, into, .. } = pair;
        let closing = std::thread::spawn(move || from.close());
        let (start, mut came) = (Instant::now(), 0);
        while came < count {
            came += to.turn(8, |one| assert!(matches!(one, Completion::Recv { .. }), "{one:?}"));
            assert!(start.elapsed() < TIMEOUT, "{came} of {count}");
        }
        to.close();
        closing.join().unwrap();
        drop(into);
    }
}
