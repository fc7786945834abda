//! Everybody sends to everybody, at random.

use std::collections::{BTreeMap, VecDeque};

use tasuki_engine::Completion;

use crate::node::{LANES, Lane, nodes, run};

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn size(&mut self) -> usize {
        let limit = [64, 2000, 40_000, 400_000][self.below(4) as usize];
        self.below(limit) as usize
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}

fn seed() -> u64 {
    match std::env::var("TASUKI_SEED") {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => u64::from(std::process::id()),
    }
}

/// Messages of one (sender, receiver, tag) come in the order in which they were sent, bit for bit, whether the receives name
/// the sender or not.
fn exchange(lane: Lane, seed: u64) {
    println!("{lane:?}: replay with TASUKI_SEED={seed} cargo test -p tasuki-engine --test suite exchange");
    let mut random = Random(seed);
    let mut all = nodes(4, lane);
    let mut expected: BTreeMap<(usize, usize, u64), VecDeque<Vec<u8>>> = BTreeMap::new();
    let mut posted: Vec<BTreeMap<u64, usize>> = vec![BTreeMap::new(); all.len()];
    for round in 0..40 {
        for _ in 0..25 {
            let (from, to, tag) = (random.below(4) as usize, random.below(4) as usize, random.below(3));
            let size = random.size();
            let bytes = random.bytes(size);
            let inject = bytes.len() < 4096 && random.below(2) == 0;
            all[from].send_with(to, Some(tag), &bytes, |args| args.inject = inject);
            expected.entry((from, to, tag)).or_default().push_back(bytes);
            // One receive for each message, before or after it, from that sender or from anyone.
            let source = (random.below(2) == 0).then_some(from);
            let recv = all[to].recv(source.or(Some(from)), Some(tag), 0, 400_000);
            posted[to].insert(recv, from);
            if random.below(4) == 0 {
                all[to].turn();
            }
        }
        if round % 3 == 0 {
            run(&mut all, |all| (0..all.len()).all(|at| receives(&all[at].done) == posted[at].len()));
        }
    }
    run(&mut all, |all| (0..all.len()).all(|at| receives(&all[at].done) == posted[at].len()));
    for (at, node) in all.iter().enumerate() {
        for done in &node.done {
            let Completion::Recv { context, source, tag, len, total, .. } = done else { continue };
            let from = posted[at][context];
            assert_eq!(*source, node.peers[from]);
            let bytes = expected.get_mut(&(from, at, *tag)).unwrap().pop_front().unwrap();
            assert_eq!((*len, *total), (bytes.len() as u64, bytes.len() as u64));
            assert!(node.bytes(*context)[..bytes.len()] == bytes);
        }
    }
    assert!(expected.values().all(VecDeque::is_empty));
}

fn receives(done: &[Completion]) -> usize {
    done.iter().filter(|done| matches!(done, Completion::Recv { .. })).count()
}

#[test]
fn everybody_sends_to_everybody() {
    for lane in LANES {
        exchange(lane, seed());
    }
}
