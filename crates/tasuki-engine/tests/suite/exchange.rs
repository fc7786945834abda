//! Everybody sends to everybody, at random.

use std::collections::BTreeMap;

use tasuki_engine::Completion;
use tasuki_random::Random;
use tasuki_testkit::replay::Replay;

use crate::node::{LANES, Lane, nodes, run};

fn size(random: &mut Random) -> usize {
    let limit = random.pick(&[64, 2000, 40_000, 400_000]);
    random.below(limit) as usize
}

fn bytes(random: &mut Random, len: usize) -> Vec<u8> {
    (0..len).map(|_| random.next_u64() as u8).collect()
}

fn seed() -> u64 {
    let command = "cargo test -p tasuki-engine --test suite exchange";
    Replay { variable: "TASUKI_SEED", command }.one(|| u64::from(std::process::id()))
}

/// By context of the receive: the sender, the tag, the bytes.
type Expected = BTreeMap<u64, (usize, u64, Vec<u8>)>;

/// The n-th receive that names a sender and a tag gets the n-th message with that tag from it, bit for bit,
/// whatever is posted first and whatever else is under way.
fn exchange(lane: Lane, seed: u64) {
    println!("{lane:?}, seed {seed}");
    let mut random = Random::new(seed);
    let mut all = nodes(4, lane);
    // By receiver.
    let mut expected: Vec<Expected> = vec![BTreeMap::new(); all.len()];
    for round in 0..40 {
        for _ in 0..25 {
            let (from, to, tag) = (random.below(4) as usize, random.below(4) as usize, random.below(3));
            let size = size(&mut random);
            let bytes = bytes(&mut random, size);
            let inject = bytes.len() < 4096 && random.below(2) == 0;
            let first = random.below(2) == 0;
            let early = first.then(|| all[to].recv(Some(from), Some(tag), 0, 400_000));
            all[from].send_with(to, Some(tag), &bytes, |args| args.inject = inject);
            let recv = early.unwrap_or_else(|| all[to].recv(Some(from), Some(tag), 0, 400_000));
            expected[to].insert(recv, (from, tag, bytes));
            if random.below(4) == 0 {
                all[to].turn();
            }
        }
        if round % 3 == 0 {
            run(&mut all, |all| (0..all.len()).all(|at| receives(&all[at].done) == expected[at].len()));
        }
    }
    run(&mut all, |all| (0..all.len()).all(|at| receives(&all[at].done) == expected[at].len()));
    for (node, mut expected) in all.iter().zip(expected) {
        for done in &node.done {
            let Completion::Recv { context, source, tag, len, total, .. } = done else { continue };
            let (from, sent_tag, bytes) = expected.remove(context).expect("completes once");
            assert_eq!((*source, *tag), (node.peers[from], sent_tag));
            assert_eq!((*len, *total), (bytes.len() as u64, bytes.len() as u64));
            assert!(node.bytes(*context)[..bytes.len()] == bytes);
        }
        assert!(expected.is_empty());
    }
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
