//! Runs of many seeds, on several cores. Each seed is a run of its own, so the verdict depends on the seeds
//! alone, not on the number of cores or on which of them is faster.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::transport::{Coverage, Failure, Options, Outcome, run};

/// A soak: the seeds to run, and how.
#[derive(Clone, Copy, Debug)]
pub struct Soak {
    /// The first seed.
    pub first: u64,
    /// Number of seeds.
    pub seeds: u64,
    /// Number of threads, at least 1.
    pub jobs: usize,
    /// How to run each seed.
    pub options: Options,
    /// Number of failures after which no further seed begins; 0: never stop.
    pub failures_most: usize,
}

/// The result of a soak.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Number of seeds that were run to their end, including failed ones.
    pub seeds: u64,
    /// Failures, by seed.
    pub failures: Vec<Failure>,
    /// What happened in all seeds, and how often.
    pub coverage: Coverage,
    /// In how many seeds each of these happened.
    pub seeds_with: Coverage,
    /// Number of events of the simulation.
    pub events: u64,
    /// Number of messages that programs sent.
    pub messages: u64,
    /// Bytes of these messages.
    pub bytes: u64,
    /// Virtual time, ns.
    pub virtual_ns: u64,
    /// Virtual time of the longest run, ns, and its seed.
    pub longest: (u64, u64),
    /// Hash of everything that happened in all runs, independent of their order.
    pub hash: u64,
}

impl Summary {
    fn add(&mut self, seed: u64, result: Result<Outcome, Failure>) {
        self.seeds += 1;
        let outcome = match result {
            Ok(outcome) => outcome,
            Err(failure) => return self.failures.push(failure),
        };
        self.coverage.merge(&outcome.coverage);
        outcome.coverage.iter().for_each(|(what, _)| self.seeds_with.add(what, 1));
        self.events += outcome.events;
        self.messages += outcome.messages;
        self.bytes += outcome.bytes;
        self.virtual_ns = self.virtual_ns.saturating_add(outcome.virtual_ns);
        self.longest = self.longest.max((outcome.virtual_ns, seed));
        self.hash = self.hash.wrapping_add(crate::mix(outcome.hash ^ crate::mix(seed)));
    }
}

/// Runs the seeds. `stop` ends the soak early, after the seeds under way; `progress` is called after each
/// seed.
pub fn soak(soak: &Soak, stop: &AtomicBool, progress: impl Fn(u64, Option<&Failure>) + Sync) -> Summary {
    let next = AtomicU64::new(0);
    let summary = Mutex::new(Summary::default());
    let work = || {
        while !stop.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= soak.seeds {
                return;
            }
            let seed = soak.first.wrapping_add(at);
            let result = run(seed, soak.options);
            progress(seed, result.as_ref().err());
            // A poisoned lock only means that another thread failed to report.
            let mut summary = summary.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            summary.add(seed, result);
            if soak.failures_most > 0 && summary.failures.len() >= soak.failures_most {
                stop.store(true, Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..soak.jobs.max(1) {
            scope.spawn(work);
        }
    });
    let mut summary = summary.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    summary.failures.sort_by_key(|failure| failure.seed);
    summary
}
