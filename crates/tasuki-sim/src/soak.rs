//! Many seeds, on several cores. Each seed is a run of its own, so the verdict depends on the seeds alone, not on how
//! many cores there are or who is faster.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::transport::{Coverage, Failure, Options, Outcome, run};

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Soak {
    /// The first seed.
    pub first: u64,
    /// How many.
    pub seeds: u64,
    /// Threads, at least 1.
    pub jobs: usize,
    /// How to run each.
    pub options: Options,
    /// Failures after which no further seed begins; 0: never stop.
    pub failures_most: usize,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Seeds that were run to their end, failed ones included.
    pub seeds: u64,
    /// Failures, by seed.
    pub failures: Vec<Failure>,
    /// What happened in all of them.
    pub coverage: Coverage,
    /// In how many seeds each thing happened.
    pub seeds_with: Coverage,
    /// Events of the simulation.
    pub events: u64,
    /// Messages that programs sent.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Virtual time, ns.
    pub virtual_ns: u64,
    /// The longest of the runs, in virtual time, ns; and its seed.
    pub longest: (u64, u64),
    /// Depends on everything that happened in all runs, whatever their order.
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

/// Runs the seeds. `stop` ends it early, after the seeds under way; `progress` hears of each seed that is done.
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
