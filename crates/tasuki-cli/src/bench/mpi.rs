//! `tasuki bench mpi`: every MPI over its own TCP and over Tasuki, in turn, with the raw ceilings of the same
//! network.

use super::{
    access::{LabMpis, Networks, readiness},
    bar::{Bar, interruption},
    exit::{check_seconds, code},
};
use std::process::ExitCode;
use tasuki_args::{BenchMpi, give};
use tasuki_bench::lab::{
    Progress, Session,
    mpi::{
        Brokers, Measurement, Program, Spread, as_ordinary_user, build_stacks, compared_table,
        over_transports, plots, sweep_tests, with_variants,
    },
};
use tasuki_terminal::Failure;

/// Runs the command.
pub fn run(arguments: &BenchMpi) -> Result<ExitCode, Failure> {
    if arguments.as_user && arguments.source.cluster.is_some() {
        return Err(Failure::new(
            "--as-user starts brokers on the hosts of labs; on machines with a broker run the measurement as \
             the user (`tasuki doctor` says which lane is used)",
        ));
    }
    check(arguments)?;
    arguments.source.check_rights()?;
    arguments.results.check("mpi")?;
    let (bar, mpis) = (Bar::default(), LabMpis::over(&arguments.mpis.transport)?);
    let (stacks, problems) = build_stacks(&mpis, &arguments.mpis.mpi, Program::Bench)?;
    let (mut stacks, mut others) = over_transports(&mpis, stacks);
    if arguments.as_user {
        let (chosen, problems) = as_ordinary_user(stacks)?;
        stacks = chosen;
        others.extend(problems);
        bar.note("ranks over Tasuki are an ordinary user's, with the raw lane from a broker");
    }
    stacks = with_variants(stacks, &arguments.variant, &arguments.other_provider)?;
    if stacks.is_empty() {
        return Err(Failure::new(others.join("\n")));
    }
    problems.iter().chain(&others).for_each(|problem| bar.note(&format!("left out: {problem}")));
    let hosts = Networks::of(&arguments.source, readiness(&arguments.mpis.transport))?;
    let (stacks, notes) = hosts.place(stacks)?;
    hosts.note().iter().chain(&notes).for_each(|note| bar.note(note));
    let networks = &hosts.testbeds;
    // The brokers run to the end of the measurement.
    let _brokers = if arguments.as_user { Some(Brokers::start(networks)?) } else { None };
    let spread = if arguments.one_host { Spread::OneHost } else { Spread::All };
    let (pair, all) = match arguments.sweep {
        true => sweep_tests(),
        false => (arguments.pair.clone(), arguments.all.clone()),
    };
    let measurement = Measurement {
        networks,
        stacks: &stacks,
        pair_tests: &pair,
        all_tests: &all,
        sweep: arguments.sweep,
        spread,
        repetitions: arguments.repetitions,
        seconds: arguments.seconds,
        calls: arguments.calls,
        mpis: &mpis,
    };
    let report = measurement.run(Session { progress: &bar, interrupted: &*interruption()? })?;
    let table = compared_table(&report, spread, arguments.sweep);
    give(&arguments.results, "mpi", &table, &report.json(), || Ok(plots(&report)?))?;
    Ok(code(report.failures.is_empty()))
}

/// Refuses options at once that would fail later.
fn check(arguments: &BenchMpi) -> Result<(), Failure> {
    if arguments.repetitions == 0 {
        return Err(Failure::new("--repetitions 0: nothing would be measured"));
    }
    check_seconds(arguments.seconds)
}
