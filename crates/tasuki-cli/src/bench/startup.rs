//! `tasuki bench startup`: how long a program takes to start, and what takes the time.

use super::{
    access::{LabMpis, testbed},
    bar::{Bar, interruption},
    exit::code,
    network::LabNetwork,
};
use std::{process::ExitCode, time::Duration};
use tasuki_args::{BenchStartup, give};
use tasuki_bench::lab::{
    Progress, Session, Testbed,
    mpi::{BuiltStack, Program, build_stacks, over_tcp, over_transports},
    startup::Startups,
};
use tasuki_terminal::Failure;

/// The largest number of ranks, for which the labs are made.
const RANKS_MAX: u32 = 256;

/// Runs the command.
pub fn run(arguments: &BenchStartup) -> Result<ExitCode, Failure> {
    check(arguments)?;
    arguments.source.check_rights()?;
    arguments.results.check("startup")?;
    let (bar, mpis) = (Bar::default(), LabMpis::over(&arguments.mpis.transport)?);
    let stacks = stacks(arguments, &mpis, &bar)?;
    let networks = networks(arguments)?;
    let startups = Startups {
        networks: &networks,
        stacks: &stacks,
        ranks: &arguments.ranks,
        repetitions: arguments.repetitions,
        limit: Duration::from_secs(arguments.limit),
        mpis: &mpis,
    };
    let report = startups.run(Session { progress: &bar, interrupted: &*interruption()? })?;
    let table = report.table(over_tcp);
    give(&arguments.results, "startup", &table, &report.json(), || Ok(Vec::new()))?;
    Ok(code(report.is_good()))
}

/// Refuses options at once that would fail later.
fn check(arguments: &BenchStartup) -> Result<(), Failure> {
    if arguments.source.cluster.is_some() {
        return Err(Failure::usage(
            "bench startup measures in labs only: its phases end on several hosts and are told apart by one \
             clock, which machines do not share; on machines `time tasuki run --cluster FILE -n RANKS \
             PROGRAM` says how long a start takes in all",
        ));
    }
    if let Some(ranks) = arguments.ranks.iter().find(|ranks| !(2..=RANKS_MAX).contains(*ranks)) {
        return Err(Failure::usage(format!("{ranks} ranks: give numbers from 2 to {RANKS_MAX}")));
    }
    if arguments.repetitions == 0 {
        return Err(Failure::usage("--repetitions 0: nothing would be measured"));
    }
    Ok(())
}

fn stacks(arguments: &BenchStartup, mpis: &LabMpis, bar: &Bar) -> Result<Vec<BuiltStack>, Failure> {
    let (stacks, problems) = build_stacks(mpis, &arguments.mpis.mpi, Program::Startup)?;
    let (stacks, others) = over_transports(mpis, stacks);
    if stacks.is_empty() {
        return Err(Failure::new(others.join("\n")));
    }
    problems.iter().chain(&others).for_each(|problem| bar.note(&format!("left out: {problem}")));
    Ok(stacks)
}

/// The labs that the user asked for, or if none, as many hosts as ranks on one switch and on two switches.
fn networks(arguments: &BenchStartup) -> Result<Vec<Testbed>, Failure> {
    let source = &arguments.source;
    if !source.shape.is_empty() || !source.lab_of.is_empty() || source.lab.is_some() {
        return Ok(LabNetwork::of(source)?.into_iter().map(testbed).collect());
    }
    let hosts = arguments.ranks.iter().max().copied().unwrap_or(2);
    let shapes = [format!("star:{hosts}"), format!("planes:{hosts}x2")];
    let lab =
        |shape: &String| Ok(testbed(LabNetwork::of_shape(source, &shape.parse().map_err(Failure::new)?)?));
    shapes.iter().map(lab).collect()
}
