//! Thousands of seeds of `scenario`, and what they must have reached: an oracle that finds no fault proves
//! nothing about what never happened.

use tasuki_testkit::replay::Replay;
use tasuki_testkit::{Check, Coverage};

use crate::scenario;

/// Seeds in an ordinary test run; `TASUKI_MSG_SEEDS` overrides it.
const SEEDS: u64 = 4000;

/// Replays one seed; with `TASUKI_MSG_TRACE`, every call and frame is printed.
const REPLAY: Replay = Replay {
    variable: "TASUKI_MSG_SEED",
    command: "TASUKI_MSG_TRACE=1 cargo test -p tasuki-msg --test suite everything_happens -- --nocapture",
};

/// What the seeds of an ordinary run must have reached.
const REACHED: [&str; 31] = [
    "a process was stopped",
    "claim discarded",
    "claim lost",
    "claim received",
    "complete message outlives its sender",
    "copied out of the pool",
    "credit exhausted",
    "data before its start",
    "directed receive ended",
    "discarded",
    "early in several frames",
    "empty message without credit",
    "goodbye",
    "incomplete message lost",
    "late frame",
    "message of the engine to a closed peer",
    "multi-receive retired",
    "peek found",
    "pull failed",
    "pulled",
    "recall",
    "receive cancelled",
    "receive cancelled too late",
    "receive from a peer that is gone",
    "receive lost half way",
    "return",
    "send cancelled too late",
    "silence in mid-stream",
    "start before its turn",
    "start partly early",
    "truncated",
];

/// Runs a seed; a panic counts as a failure too.
pub fn attempt(seed: u64, defect: Option<tasuki_msg::Defect>) -> Check<Coverage> {
    std::panic::catch_unwind(|| scenario::run(seed, defect))
        .unwrap_or_else(|panic| Err(format!("panic: {:?}", panic.downcast_ref::<String>())))
}

#[test]
fn everything_happens_as_the_model_says() {
    let mut coverage = Coverage::default();
    for seed in REPLAY.seeds(SEEDS) {
        match attempt(seed, None) {
            Ok(covered) => coverage.merge(&covered),
            Err(complaint) => panic!("seed {seed}: {complaint}\n{}", REPLAY.sentence(seed)),
        }
    }
    coverage.iter().for_each(|(what, times)| println!("{times:10}  {what}"));
    let missing: Vec<&str> = REACHED.into_iter().filter(|what| coverage.count(what) == 0).collect();
    assert!(!REPLAY.is_default() || missing.is_empty(), "never reached: {missing:?}");
}

#[test]
fn a_seed_replays_exactly() {
    for seed in 0..50 {
        assert_eq!(attempt(seed, None), attempt(seed, None), "seed {seed}");
    }
}
