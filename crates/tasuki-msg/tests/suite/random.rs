//! Thousands of seeds of `scenario`, and what they must have met on the way.

use crate::scenario;
use crate::world::{Check, Coverage};

/// Seeds in an ordinary test run; `TASUKI_MSG_SEEDS` overrides it.
const SEEDS: u64 = 4000;

/// What the ordinary run must have met, so that its silence means something.
const REACHED: [&str; 30] = [
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

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Runs a seed; a panic counts as a failure too.
pub fn attempt(seed: u64, defect: Option<tasuki_msg::Defect>) -> Check<Coverage> {
    std::panic::catch_unwind(|| scenario::run(seed, defect))
        .unwrap_or_else(|panic| Err(format!("panic: {:?}", panic.downcast_ref::<String>())))
}

#[test]
fn everything_happens_as_the_model_says() {
    if let Some(seed) = number("TASUKI_MSG_SEED") {
        if let Err(complaint) = scenario::run(seed, None) {
            panic!("seed {seed}: {complaint}");
        }
        return;
    }
    let mut coverage = Coverage::new();
    for seed in 0..number("TASUKI_MSG_SEEDS").unwrap_or(SEEDS) {
        match attempt(seed, None) {
            Ok(covered) => covered.into_iter().for_each(|(what, n)| *coverage.entry(what).or_default() += n),
            Err(complaint) => panic!(
                "seed {seed}: {complaint}\nreplay: TASUKI_MSG_TRACE=1 TASUKI_MSG_SEED={seed} \
                 cargo test -p tasuki-msg --test suite everything_happens -- --nocapture"
            ),
        }
    }
    println!("{coverage:#?}");
    let missing: Vec<&str> = REACHED.into_iter().filter(|what| !coverage.contains_key(what)).collect();
    assert!(number("TASUKI_MSG_SEEDS").is_some() || missing.is_empty(), "never met: {missing:?}");
}

#[test]
fn a_seed_replays_exactly() {
    for seed in 0..50 {
        assert_eq!(attempt(seed, None), attempt(seed, None), "seed {seed}");
    }
}
