//! `tasuki bench startup`: how long a program takes to start, and what takes the time.

use super::{
    LabNetwork,
    launch::{share, start},
    mpi::over_tcp,
    results::give,
    stacks::{self, BuiltStack, Program},
    turns::{in_turn, interruption},
};
use crate::{args::BenchStartup, failure::Failure};
use std::{process::ExitCode, time::Duration};
use tasuki_bench::{
    FailedRun, Machine,
    startup::{self, StartupCase, StartupReport},
};
use tasuki_cluster::{HostId, Rail};
use tasuki_job::Finder;

/// Lines of standard error that are kept of a failed start.
const TAIL_LINES: usize = 12;
/// Most ranks: what the labs are made for.
const MOST_RANKS: u32 = 256;

/// A case, with what runs it.
struct Planned<'a> {
    case: StartupCase,
    network: &'a LabNetwork,
    stack: &'a BuiltStack,
    failed: bool,
}

/// Runs the command.
pub fn run(arguments: &BenchStartup) -> Result<ExitCode, Failure> {
    check(arguments)?;
    let stacks = stacks(arguments)?;
    let networks = networks(arguments)?;
    let report = measure(arguments, &mut plan(arguments, &networks, &stacks)?)?;
    let table = report.table(over_tcp);
    give(&arguments.results, "startup", &table, &report.json(), || Ok(Vec::new()))?;
    Ok(if report.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Says at once what would fail later.
fn check(arguments: &BenchStartup) -> Result<(), Failure> {
    if let Some(ranks) = arguments.ranks.iter().find(|ranks| !(2..=MOST_RANKS).contains(*ranks)) {
        return Err(Failure::new(format!("{ranks} ranks: give numbers from 2 to {MOST_RANKS}")));
    }
    if arguments.repetitions == 0 {
        return Err(Failure::new("--repetitions 0: nothing would be measured"));
    }
    Ok(())
}

fn stacks(arguments: &BenchStartup) -> Result<Vec<BuiltStack>, Failure> {
    let (stacks, problems) = stacks::build(&Finder::local()?, &arguments.mpi, Program::Startup)?;
    let (stacks, others) = stacks::over(stacks, &arguments.transport);
    if stacks.is_empty() {
        return Err(Failure::new(others.join("\n")));
    }
    problems.iter().chain(&others).for_each(|problem| eprintln!("tasuki: left out: {problem}"));
    Ok(stacks)
}

/// The labs asked for; else as many hosts as ranks on one switch, and on two.
fn networks(arguments: &BenchStartup) -> Result<Vec<LabNetwork>, Failure> {
    let source = &arguments.source;
    if !source.shape.is_empty() || !source.cluster.is_empty() || source.lab.is_some() {
        return LabNetwork::of(source);
    }
    let hosts = arguments.ranks.iter().max().copied().unwrap_or(2);
    let shapes = [format!("star:{hosts}"), format!("planes:{hosts}x2")];
    shapes.iter().map(|shape| LabNetwork::of_shape(source, &shape.parse().map_err(Failure::new)?)).collect()
}

/// All cases in the order in which each repetition runs them: what is to be compared comes side by side.
fn plan<'a>(
    arguments: &BenchStartup,
    networks: &'a [LabNetwork],
    stacks: &'a [BuiltStack],
) -> Result<Vec<Planned<'a>>, Failure> {
    let mut planned = Vec::new();
    for network in networks {
        share(network, stacks)?;
        let description = network.description();
        let direct = network.cluster.rails(HostId(0), HostId(1)).into_iter().filter(Rail::is_direct);
        let rails = direct.count();
        for &ranks in &arguments.ranks {
            for stack in stacks {
                let case = StartupCase {
                    ranks,
                    hosts: description.hosts.min(ranks),
                    rails,
                    network: description.name.clone(),
                    stack: stack.name.clone(),
                    lane: stack.transport.name().into(),
                    offloads: description.offloads.clone(),
                };
                planned.push(Planned { case, network, stack, failed: false });
            }
        }
    }
    Ok(planned)
}

/// Starts everything in turn, repetition by repetition, with a progress bar. Ctrl-C ends it after the current start;
/// what was measured is kept.
fn measure(arguments: &BenchStartup, planned: &mut [Planned<'_>]) -> Result<StartupReport, Failure> {
    let mut report = StartupReport::new(Machine::here());
    let limit = Duration::from_secs(arguments.limit);
    let name = |one: &Planned<'_>| {
        let StartupCase { ranks, network, stack, .. } = &one.case;
        format!("{ranks} ranks, {network}, {stack}")
    };
    let step = |one: &mut Planned<'_>, repetition| {
        if !one.failed {
            one.failed = !add(&mut report, one, repetition, limit);
        }
    };
    report.interrupted = in_turn("startup", &*interruption()?, arguments.repetitions, planned, name, step);
    Ok(report)
}

/// One start. False if it gave no figures.
fn add(report: &mut StartupReport, one: &Planned<'_>, repetition: usize, limit: Duration) -> bool {
    let started = startup::now();
    let result = start(one.network, one.case.hosts, one.stack, one.case.ranks, &[], limit);
    let ended = startup::now();
    let (reason, stderr_tail) = match result {
        Ok(output) if output.is_success() => match startup::parse(&output.stdout, started, ended) {
            Ok((ranks, phases)) if ranks == one.case.ranks => {
                report.add(&one.case, phases);
                return true;
            }
            Ok((ranks, _)) => (format!("it ran on {ranks} ranks"), output.stderr_tail(TAIL_LINES)),
            Err(error) => (error.to_string(), output.stderr_tail(TAIL_LINES)),
        },
        Ok(output) => (output.reason(), output.stderr_tail(TAIL_LINES)),
        Err(failure) => (failure.message, String::new()),
    };
    report.fail(FailedRun {
        network: one.case.network.clone(),
        stack: one.case.stack.clone(),
        tests: format!("{} ranks", one.case.ranks),
        repetition,
        reason,
        stderr_tail,
    });
    false
}
