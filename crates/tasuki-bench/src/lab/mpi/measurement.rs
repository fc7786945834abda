//! Every MPI over its own TCP and over Tasuki, in turn, with the raw ceilings of the same network.

use super::{
    BuiltStack, Spread,
    launch::{NetworkLaunch, share},
    sweep,
    variants::plain,
};
use crate::{
    BenchError, Plan, Record, Report, Stack, TestPlan, TestSet,
    lab::{MpiAccess, Session, Testbed},
    others::Others,
};
use std::{ops::ControlFlow, time::Duration};
use tasuki_launch::{Provider, Transport};

/// Longest time for one run of the program.
const RUN_LIMIT: Duration = Duration::from_secs(180);
/// Least time for each raw throughput, seconds.
const RAW_SECONDS_MIN: f64 = 0.5;
/// Batches per test and size.
const SAMPLES: u32 = 10;

/// What to measure on which labs.
pub struct Measurement<'a> {
    /// Labs.
    pub networks: &'a [Testbed],
    /// MPIs.
    pub stacks: &'a [BuiltStack],
    /// Tests with two ranks, as `pingpong:8,64k`.
    pub pair_tests: &'a [String],
    /// Tests with a rank on every host; two on a single one.
    pub all_tests: &'a [String],
    /// Whether these are the tests of a sweep, each of which is a run of its own.
    pub sweep: bool,
    /// Where the ranks are.
    pub spread: Spread,
    /// How often.
    pub repetitions: usize,
    /// Time per test and size, in seconds.
    pub seconds: f64,
    /// Calls that are timed one by one; `None`: batches are timed.
    pub calls: Option<u32>,
    /// How jobs start.
    pub mpis: &'a dyn MpiAccess,
}

impl Measurement<'_> {
    fn plan(&self) -> Result<Plan, BenchError> {
        let parse =
            |tests: &[String]| tests.iter().map(|test| test.parse()).collect::<Result<Vec<TestPlan>, _>>();
        let hosts = self.networks.iter().map(|network| network.cluster.hosts.len()).min().unwrap_or(0);
        if hosts < 2 {
            return Err(BenchError::refused("a measurement needs at least two hosts"));
        }
        let all = if self.spread == Spread::All { hosts as u32 } else { 2 };
        let sets = [(2, parse(self.pair_tests)?), (all, parse(self.all_tests)?)];
        let together = if self.sweep { 1 } else { usize::MAX };
        let sets = sets.iter().flat_map(|(ranks, tests)| {
            let runs = tests.chunks(together);
            runs.map(|tests| TestSet { ranks: *ranks, tests: tests.to_vec() })
        });
        Ok(Plan {
            networks: self.networks.iter().map(|network| self.spread.description(network)).collect(),
            stacks: self
                .stacks
                .iter()
                .map(|stack| Stack { name: stack.name.clone(), lane: stack.transport.name().into() })
                .collect(),
            sets: sets.collect(),
            repetitions: self.repetitions,
            seconds_per_point: self.seconds,
            samples_per_point: SAMPLES,
            calls: self.calls,
            run_limit: if self.sweep { sweep::RUN_LIMIT } else { RUN_LIMIT },
        })
    }

    /// Measures everything in turn, repetition by repetition.
    pub fn run(&self, session: Session<'_>) -> Result<Report, BenchError> {
        let plan = self.plan()?;
        for network in self.networks {
            share(self.mpis, network, self.stacks)?;
        }
        let mut launch = NetworkLaunch {
            networks: self.networks,
            stacks: self.stacks,
            spread: self.spread,
            raw_seconds: self.seconds.max(RAW_SECONDS_MIN),
            mpis: self.mpis,
        };
        let mut others = Others::default();
        let report = crate::run(&plan, &mut launch, &mut |progress| {
            match progress.done {
                0 => session.progress.begin("bench", progress.total as u64),
                _ => session.progress.advance(1),
            }
            session.progress.step(progress.step);
            others.watch_before(progress.done * self.repetitions / progress.total);
            if session.is_interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        session.progress.finish();
        others.warning().inspect(|warning| session.progress.note(warning));
        Ok(report?)
    }
}

/// The name of the same MPI over its own TCP, if this stack is one over Tasuki.
pub fn over_tcp(stack: &str) -> Option<String> {
    stack.strip_suffix(Provider::NAME).map(|name| name.trim_end().to_owned())
}

/// The report's table with a column that compares each MPI over Tasuki with itself over libfabric's `shm` if
/// that was measured, or else over its own means, and each variant with Tasuki as it is. In that of a `sweep`
/// the worst ratios come first.
pub fn compared_table(report: &Report, spread: Spread, sweep: bool) -> String {
    let shm = report.records.iter().any(|record| record.lane == Transport::Shm.name());
    let (title, suffix) = match (shm, spread) {
        (true, _) => ("against libfabric's shm", format!(" {}", Transport::Shm.name())),
        (false, Spread::OneHost) => ("against its own shared memory", String::new()),
        (false, Spread::All) => ("against its own TCP", String::new()),
    };
    let is_varied = report.records.iter().any(|record| plain(&record.stack).is_some());
    let title = if is_varied { format!("{title}; variants: against Tasuki") } else { title.to_owned() };
    let peer = |record: &Record| match plain(&record.stack) {
        Some(plain) => Some(plain.to_owned()),
        None => Some(over_tcp(&record.stack)? + &suffix),
    };
    match report.records.iter().any(|record| peer(record).is_some()) {
        true if sweep => report.table_worst_first(&title, &peer),
        true => report.table_against_each(&title, &peer),
        false => report.table(),
    }
}

/// Names and contents of the plots, one per test.
pub fn plots(report: &Report) -> Result<Vec<(String, String)>, BenchError> {
    let mut files = Vec::new();
    for test in report.tests() {
        if let Some(svg) = report.svg(test)? {
            files.push((format!("{}.svg", test.replace(' ', "-")), svg));
        }
    }
    Ok(files)
}
