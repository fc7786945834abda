//! `tasuki demo`: the demonstration that `make run` shows.

use crate::{
    args::DemoArgs,
    bench::{Bar, LabMpis, Labs, interruption},
    failure::Failure,
    terminal::{Rows, table},
    transport::Wanted,
};
use std::{
    process::ExitCode,
    time::{Duration, Instant},
};
use tasuki_bench::{
    Record, Report,
    lab::{
        LabBuilder, Progress, Session, Testbed,
        kernels::{KernelStacks, Kernels, kernel_stacks},
        mpi::{Measurement, Program, Spread, build_stacks, over_tcp, over_transports},
    },
    nas::{Class, Kernel, NasReport},
};
use tasuki_cluster::generate::{Options, Shape, generate};
use tasuki_lab::LabOptions;
use tasuki_launch::Provider;

/// The labs, each with its title: four hosts, cabled directly and through one switch.
const NETWORKS: [(&str, &str); 2] = [("full:4", "cables"), ("star:4", "one switch")];
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
        repetitions: arguments.repetitions,
        seconds: 0.2,
        calls: None,
        mpis: &mpis,
    };
    let interrupted = interruption()?;
    let session = Session { progress: &bar, interrupted: &interrupted };
    let report = measurement.run(session)?;
    println!("{}", summary(&report));
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
    print_end(&report, arguments, begun);
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
            network.lab
        );
        networks.push(network);
    }
    Ok(networks)
}

/// Prints failures, an explanation of the figures, and the time that the demonstration took.
fn print_end(report: &Report, arguments: &DemoArgs, begun: Instant) {
    for failure in &report.failures {
        eprintln!("tasuki: {} on {}: {}: {}", failure.stack, failure.network, failure.tests, failure.reason);
        eprintln!("{}", failure.stderr_tail);
    }
    println!(
        "tcp is the MPI's own TCP, tasuki the same binary over Tasuki. On the cables every pair of hosts has \
         a line of its own; through the switch a host has one for all its peers: that is what alltoall \
         shows. All ranks of all hosts share this machine's {} cores, and an emulated switch is slower than \
         a real one: compare figures of one table, not with other machines'. Lines of {} leave the cores \
         time to spare; --rate 1G asks for more than they may have.",
        report.machine.cores, arguments.rate
    );
    eprintln!("the labs are gone again; {:.0} s in all", begun.elapsed().as_secs_f64());
}

/// Runs NAS kernels on both networks, verifies their results against the published ones, and prints the
/// figures.
fn run_kernels(
    networks: &[Testbed],
    programs: &[KernelStacks],
    mpis: &LabMpis,
    repetitions: usize,
    session: Session<'_>,
) -> Result<NasReport, Failure> {
    let (classes, ranks, limit) = (&[KERNEL_CLASS], &[], KERNEL_LIMIT);
    let report = Kernels { networks, programs, classes, ranks, repetitions, limit, mpis }.run(session)?;
    let names = KERNELS.map(Kernel::name).join(" and ");
    println!("\nNAS kernels {names}, class {KERNEL_CLASS}, verified against the published results:");
    println!("{}", report.table(over_tcp));
    Ok(report)
}

/// The table with a row per test and transport: both networks side by side, how many times as good the cables
/// are as the switch, and how many times as good Tasuki is as TCP on either.
fn summary(report: &Report) -> Rows {
    let (cables, switch) = (NETWORKS[0].1, NETWORKS[1].1);
    let mut rows =
        table(["test", "bytes", "ranks", "over", cables, switch, "unit", "cables are", "tasuki is"]);
    let mut cabled: Vec<&Record> = report.records.iter().filter(|record| record.network == cables).collect();
    let same_point = |a: &Record, b: &Record| (&a.test, a.bytes, a.ranks) == (&b.test, b.bytes, b.ranks);
    // The transports of one point come below each other.
    cabled.sort_by_key(|record| report.records.iter().position(|other| same_point(other, record)));
    for record in cabled {
        let elsewhere = |other: &&Record| {
            other.network == switch && other.stack == record.stack && same_point(other, record)
        };
        let Some(other) = report.records.iter().find(elsewhere) else { continue };
        let against_tcp = |figure: &Record| {
            let is_tcp =
                |tcp: &&Record| tcp.lane == "tcp" && tcp.network == figure.network && same_point(tcp, figure);
            let tcp = report.records.iter().find(is_tcp).filter(|_| figure.lane == Provider::NAME);
            tcp.map(|tcp| format!("{:.2} x", figure.unit.gain(figure.median, tcp.median)))
        };
        let against_tcp = against_tcp(record).zip(against_tcp(other));
        // Of tests without an MPI the name of the stack says more than the lane: tcp, tcp-spin, udp ...
        let over = if record.test.starts_with("raw-") { &record.stack } else { &record.lane };
        rows.add_row([
            record.test.clone(),
            record.bytes.to_string(),
            record.ranks.to_string(),
            over.clone(),
            Short(record.median).to_string(),
            Short(other.median).to_string(),
            record.unit.to_string(),
            format!("{:.2} x", record.unit.gain(record.median, other.median)),
            against_tcp.map_or("".into(), |(cables, switch)| format!("{cables}, {switch}")),
        ]);
    }
    rows
}

/// A figure with three significant digits.
struct Short(f64);

impl std::fmt::Display for Short {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = 2 - self.0.abs().log10().floor().clamp(-3.0, 2.0) as i32;
        write!(f, "{:.*}", digits.max(0) as usize, self.0)
    }
}
