//! Seeds over the packet layer: the first few thousand, and every seed that ever found a fault.

use std::sync::atomic::AtomicBool;

use tasuki_sim::REACHED;
use tasuki_sim::soak::{Soak, soak};
use tasuki_sim::transport::{Carriage, Options, Text, run};

/// Number of seeds of an ordinary test run.
const SEEDS: u64 = 2500;

/// Number of seeds with a raw lane beside UDP on every rail.
const LANES_SEEDS: u64 = 800;

/// Seeds that found a fault once, one per line; what is behind `#` says which.
const FOUND: &str = include_str!("../found-seeds.txt");

#[test]
fn every_seed_passes_and_everything_is_reached() {
    let jobs = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let what = Soak { first: 0, seeds: SEEDS, jobs, options: Options::default(), failures_most: 3 };
    let summary = soak(&what, &AtomicBool::new(false), |_, _| {});
    let failures: Vec<String> = summary.failures.iter().map(|failure| failure.to_string()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    for (what, times) in summary.coverage.iter() {
        println!("{times:12} {:9}  {what}", summary.seeds_with.count(what));
    }
    let missing: Vec<&str> =
        REACHED.iter().copied().filter(|what| summary.coverage.count(what) == 0).collect();
    assert!(missing.is_empty(), "never reached in {SEEDS} seeds: {missing:?}");
}

#[test]
fn every_seed_passes_with_two_lanes_on_each_rail() {
    let jobs = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let options = Options { carriage: Carriage::Lanes, ..Options::default() };
    let what = Soak { first: 0, seeds: LANES_SEEDS, jobs, options, failures_most: 3 };
    let summary = soak(&what, &AtomicBool::new(false), |_, _| {});
    let failures: Vec<String> = summary.failures.iter().map(|failure| failure.to_string()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    for what in ["rail deaf to raw frames", "packet lost: raw frame"] {
        assert!(summary.coverage.count(what) > 0, "never: {what}");
    }
}

#[test]
fn seeds_that_found_faults_pass() {
    for line in FOUND.lines() {
        let seed = line.split('#').next().unwrap_or_default().trim();
        if seed.is_empty() {
            continue;
        }
        let seed: u64 = seed.parse().unwrap_or_else(|_| panic!("found-seeds.txt: {line}"));
        if let Err(failure) = run(seed, Options::default()) {
            panic!("{failure}");
        }
    }
}

/// Two runs of a seed are equal in every event, whether tracing is on or off.
#[test]
fn a_seed_replays_exactly() {
    for seed in 0..100 {
        let once = run(seed, Options::default());
        let watched = run(seed, Options { text: Text::Tail(10), ..Options::default() });
        assert_eq!(once, watched, "seed {seed}");
    }
    let hash = |seed| run(seed, Options::default()).map(|outcome| outcome.hash);
    assert_ne!(hash(1), hash(2), "the hash does not depend on what happens");
}

/// The verdict on many seeds does not depend on how many threads run them.
#[test]
fn threads_do_not_matter() {
    let with = |jobs| {
        let what = Soak { first: 500, seeds: 60, jobs, options: Options::default(), failures_most: 0 };
        let summary = soak(&what, &AtomicBool::new(false), |_, _| {});
        (summary.hash, summary.coverage, summary.events)
    };
    assert_eq!(with(1), with(4));
}
