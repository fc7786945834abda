//! `tasuki demo`: the demonstration that `make run` shows.

mod page;

use crate::bench::{Bar, LabMpis, Labs, interruption};
use std::{
    process::ExitCode,
    time::{Duration, Instant},
};
use tasuki_args::{DemoArgs, transport::Wanted};
use tasuki_bench::{
    ending,
    lab::{
        LabBuilder, Progress, Session, Testbed,
        kernels::{KernelStacks, Kernels, kernel_stacks},
        mpi::{Measurement, Program, Spread, build_stacks, over_transports},
    },
    nas::{Class, Kernel, NasReport},
};
use tasuki_cluster::generate::{Options, Shape, generate};
use tasuki_lab::LabOptions;
use tasuki_terminal::{Failure, visible_json};

/// The labs, each with its title: four hosts, cabled directly and through one switch.
const NETWORKS: [(&str, &str); 2] = [("full:4", page::CABLES), ("star:4", page::SWITCH)];
const PAIR_TESTS: [&str; 2] = ["pingpong:8,1k,64k", "stream:8k,64k"];
const ALL_TESTS: [&str; 4] = ["barrier", "allreduce:8", "alltoall:16k,64k", "heat:8k"];
const TRANSPORTS: [Wanted; 2] = [Wanted::Tcp, Wanted::Tasuki];
/// Real programs: two of those in the cross-connection paper, in the size for workstations.
const KERNELS: [Kernel; 2] = [Kernel::Is, Kernel::Cg];
const KERNEL_CLASS: Class = Class::W;
const KERNEL_LIMIT: Duration = Duration::from_secs(120);

/// Builds the labs, measures a stock MPI on them, and takes them down.
pub fn run(arguments: &DemoArgs) -> Result<ExitCode, Failure> {
    let begun = Instant::now();
    tasuki_lab::need_root()?;
    let choice = arguments.mpi.clone().unwrap_or_else(|| "openmpi-4.1".into());
    let (bar, mpis) = (Bar::default(), LabMpis::over(&TRANSPORTS)?);
    let (stacks, problems) = build_stacks(&mpis, std::slice::from_ref(&choice), Program::Bench)?;
    let (stacks, others) = over_transports(&mpis, stacks);
    let kernels = kernel_stacks(&KERNELS, &[choice], &mpis, &bar)?;
    problems.iter().chain(&others).for_each(|problem| bar.note(&format!("left out: {problem}")));

    let mut networks = labs(arguments)?;
    let measurement = Measurement {
        networks: &networks,
        stacks: &stacks,
        pair_tests: &PAIR_TESTS.map(str::to_owned),
        spread: Spread::All,
        all_tests: &ALL_TESTS.map(str::to_owned),
        sweep: false,
        repetitions: arguments.repetitions,
        seconds: 0.2,
        calls: None,
        mpis: &mpis,
    };
    let interrupted = interruption()?;
    let session = Session { progress: &bar, interrupted: &interrupted };
    let report = measurement.run(session)?;
    // After Ctrl-C the command ends with its report and makes no further measurement.
    let kernels = match report.interrupted {
        true => None,
        false => {
            // Reports compare with the first network, which becomes the switch.
            networks.reverse();
            Some(run_kernels(&networks, &kernels, &mpis, arguments.repetitions, session)?)
        }
    };
    drop(networks);
    let kernels_measured = kernels.as_ref().map(NasReport::records).unwrap_or_default();
    if arguments.json {
        let kernels = kernels.as_ref().map_or("[]".into(), NasReport::json);
        println!("{}", visible_json(&format!("{{\"mpi\": {}, \"nas\": {kernels}}}", report.json())));
    } else {
        print!("{}", page::page(&report, &kernels_measured, arguments.rate));
    }
    if let Some(kernels) = &kernels {
        eprint!("{}", ending(kernels.failures(), kernels.interrupted));
    }
    eprint!("{}", ending(&report.failures, report.interrupted));
    eprintln!("the labs are gone again; {:.0} s in all", begun.elapsed().as_secs_f64());
    let good = report.failures.is_empty() && kernels.is_none_or(|kernels| kernels.is_good());
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Builds the labs of both networks.
fn labs(arguments: &DemoArgs) -> Result<Vec<Testbed>, Failure> {
    let mut networks = Vec::new();
    for (shape, title) in NETWORKS {
        let cluster = generate(&shape.parse::<Shape>()?, &Options::default())?;
        let mut options = LabOptions::named(format!("demo-{}", title.replace(' ', "-")));
        options.rate = Some(arguments.rate);
        let network = Labs.build(title, cluster, options)?;
        eprintln!(
            "{title}: {} hosts, {} cables at {}, lab {}",
            network.cluster.hosts.len(),
            network.cluster.cables.len(),
            arguments.rate,
            network.lab().unwrap_or_default()
        );
        networks.push(network);
    }
    Ok(networks)
}

/// Runs NAS kernels on both networks and verifies their results against the published ones.
fn run_kernels(
    networks: &[Testbed],
    programs: &[KernelStacks],
    mpis: &LabMpis,
    repetitions: usize,
    session: Session<'_>,
) -> Result<NasReport, Failure> {
    let (classes, ranks, limit) = (&[KERNEL_CLASS], &[], KERNEL_LIMIT);
    Ok(Kernels { networks, programs, classes, ranks, repetitions, limit, mpis }.run(session)?)
}
