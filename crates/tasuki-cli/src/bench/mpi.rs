//! `tasuki bench mpi`: every MPI over its own TCP and over Tasuki, in turn, with the raw ceilings of the same network.

use super::{
    LabNetwork,
    launch::{LabLaunch, Spread},
    ordinary::{self, Brokers},
    results::give,
    stacks::{self, BuiltStack, Program},
    turns::interruption,
    variants::{plain, with_variants},
};
use crate::{args::BenchMpi, failure::Failure, terminal::progress_bar};
use std::{ops::ControlFlow, process::ExitCode, sync::atomic::Ordering, time::Duration};
use tasuki_bench::{Plan, Record, Report, Stack, TestPlan, TestSet};
use tasuki_job::Finder;
use tasuki_launch::{Provider, Transport};

/// What to measure on which labs.
pub struct Measurement<'a> {
    /// Labs.
    pub networks: &'a [LabNetwork],
    /// MPIs.
    pub stacks: &'a [BuiltStack],
    /// Tests with two ranks, as `pingpong:8,64k`.
    pub pair_tests: &'a [String],
    /// Tests with a rank on every host; two on a single one.
    pub all_tests: &'a [String],
    /// Where the ranks are.
    pub spread: Spread,
    /// How often.
    pub repetitions: usize,
    /// Time per test and size.
    pub seconds: f64,
    /// Calls that are timed one by one.
    pub calls: Option<u32>,
}

impl Measurement<'_> {
    fn plan(&self) -> Result<Plan, Failure> {
        let parse =
            |tests: &[String]| tests.iter().map(|test| test.parse()).collect::<Result<Vec<TestPlan>, _>>();
        let hosts = self.networks.iter().map(|network| network.cluster.hosts.len()).min().unwrap_or(0);
        if hosts < 2 {
            return Err(Failure::new("a measurement needs at least two hosts"));
        }
        let all = if self.spread == Spread::All { hosts as u32 } else { 2 };
        let sets = [(2, parse(self.pair_tests)?), (all, parse(self.all_tests)?)];
        let sets = sets.into_iter().filter(|(_, tests)| !tests.is_empty());
        Ok(Plan {
            networks: self.networks.iter().map(|network| self.spread.description(network)).collect(),
            stacks: self
                .stacks
                .iter()
                .map(|stack| Stack { name: stack.name.clone(), lane: stack.transport.name().into() })
                .collect(),
            sets: sets.map(|(ranks, tests)| TestSet { ranks, tests }).collect(),
            repetitions: self.repetitions,
            seconds_per_point: self.seconds,
            samples_per_point: 10,
            calls: self.calls,
            run_limit: Duration::from_secs(180),
        })
    }

    /// Measures, with a progress bar. Ctrl-C ends it after the current step; what was measured is kept.
    pub fn run(&self) -> Result<Report, Failure> {
        let plan = self.plan()?;
        let mut launch = LabLaunch::new(self.networks, self.stacks, self.spread, self.seconds.max(0.5))?;
        let interrupted = interruption()?;
        let bar = progress_bar(0).with_prefix("bench");
        let report = tasuki_bench::run(&plan, &mut launch, &mut |progress| {
            bar.set_length(progress.total as u64);
            bar.set_position(progress.done as u64);
            bar.set_message(progress.step.to_owned());
            if interrupted.load(Ordering::Relaxed) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        bar.finish_and_clear();
        Ok(report?)
    }
}

/// Runs the command.
pub fn run(arguments: &BenchMpi) -> Result<ExitCode, Failure> {
    let (stacks, problems) = stacks::build(&Finder::local()?, &arguments.mpi, Program::Bench)?;
    let (mut stacks, mut others) = stacks::over(stacks, &arguments.transport);
    if arguments.as_user {
        let (chosen, problems) = ordinary::choose(stacks)?;
        stacks = chosen;
        others.extend(problems);
        eprintln!("tasuki: ranks over Tasuki are an ordinary user's, with the raw lane from a broker");
    }
    stacks = with_variants(stacks, &arguments.variant, &arguments.other_provider)?;
    if stacks.is_empty() {
        return Err(Failure::new(others.join("\n")));
    }
    for problem in problems.iter().chain(&others) {
        eprintln!("tasuki: left out: {problem}");
    }
    let networks = LabNetwork::of(&arguments.source)?;
    // To the end of the measurement.
    let _brokers = if arguments.as_user { Some(Brokers::start(&networks)?) } else { None };
    let spread = if arguments.one_host { Spread::OneHost } else { Spread::All };
    let report = Measurement {
        networks: &networks,
        stacks: &stacks,
        pair_tests: &arguments.pair,
        all_tests: &arguments.all,
        spread,
        repetitions: arguments.repetitions,
        seconds: arguments.seconds,
        calls: arguments.calls,
    }
    .run()?;
    give(&arguments.results, "mpi", &table(&report, spread), &report.json(), || plots(&report))?;
    Ok(if report.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The same MPI over its own TCP, if this stack is one over Tasuki.
pub fn over_tcp(stack: &str) -> Option<String> {
    stack.strip_suffix(Provider::NAME).map(|name| name.trim_end().to_owned())
}

/// With a column that compares each MPI over Tasuki with itself over libfabric's `shm`, or else over its own means, if both were
/// measured, and each variant with Tasuki as it is.
fn table(report: &Report, spread: Spread) -> String {
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
        true => report.table_against_each(&title, &peer),
        false => report.table(),
    }
}

/// A plot per test.
fn plots(report: &Report) -> Result<Vec<(String, String)>, Failure> {
    let mut files = Vec::new();
    for test in report.tests() {
        if let Some(svg) = report.svg(test)? {
            files.push((format!("{}.svg", test.replace(' ', "-")), svg));
        }
    }
    Ok(files)
}
