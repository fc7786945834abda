//! `tasuki bench nas`: real parallel programs on networks, beside one host alone.

use super::{
    LabNetwork,
    launch::{share, start},
    mpi::{interruption, over_tcp, write_all},
    stacks::{self, BuiltStack, Program},
};
use crate::{args::BenchNas, failure::Failure, mpi::Finder, terminal::progress_bar};
use std::{process::ExitCode, sync::atomic::Ordering, time::Duration};
use tasuki_bench::{
    FailedRun, Machine,
    nas::{self, Case, Class, Kernel, NasReport},
};

/// Lines of standard error that are kept of a failed run.
const TAIL_LINES: usize = 12;

/// A case, with what runs it.
struct Planned<'a> {
    case: Case,
    network: &'a LabNetwork,
    stack: &'a BuiltStack,
    failed: bool,
}

/// Runs the command.
pub fn run(arguments: &BenchNas) -> Result<ExitCode, Failure> {
    check(arguments)?;
    let programs = programs(arguments)?;
    let networks = LabNetwork::of(&arguments.source)?;
    let mut planned = plan(arguments, &networks, &programs)?;
    let report = measure(arguments, &mut planned)?;
    let table = report.table(over_tcp);
    if let Some(folder) = &arguments.output {
        let charts = report.charts()?.into_iter();
        let charts = charts.map(|(name, svg)| (format!("nas-{}.svg", name.replace(' ', "-")), svg));
        let files = [("nas.txt".to_owned(), table.clone()), ("nas.json".to_owned(), report.json())];
        write_all(folder, &files.into_iter().chain(charts).collect::<Vec<_>>())?;
    }
    print!("{}", if arguments.json { report.json() + "\n" } else { table });
    Ok(if report.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Says at once what would fail later.
fn check(arguments: &BenchNas) -> Result<(), Failure> {
    if let Some(ranks) = arguments.ranks.iter().find(|ranks| !Kernel::Is.allows(**ranks)) {
        let most = Kernel::MOST_RANKS;
        return Err(Failure::new(format!("{ranks} ranks: the kernels run on powers of two up to {most}")));
    }
    if arguments.repetitions == 0 {
        return Err(Failure::new("--repetitions 0: nothing would be measured"));
    }
    for kernel in &arguments.kernel {
        if !kernel.classes().iter().any(|class| arguments.class.contains(class)) {
            let names = kernel.classes().map(|class| class.to_string()).join(", ");
            return Err(Failure::new(format!("{kernel} has none of the classes asked for, but {names}")));
        }
    }
    Ok(())
}

/// Every kernel, built for every MPI and over every transport that is possible.
fn programs(arguments: &BenchNas) -> Result<Vec<(Kernel, Vec<BuiltStack>)>, Failure> {
    let finder = Finder::here()?;
    let mut programs = Vec::new();
    let mut said = Vec::new();
    for &kernel in &arguments.kernel {
        let (built, problems) = stacks::build(&finder, &arguments.mpi, Program::Nas(kernel))?;
        let (built, others) = stacks::over(built, &arguments.transport);
        for problem in problems.into_iter().chain(others) {
            if !said.contains(&problem) {
                eprintln!("tasuki: left out: {problem}");
                said.push(problem);
            }
        }
        programs.push((kernel, built));
    }
    match programs.iter().all(|(_, stacks)| stacks.is_empty()) {
        true => Err(Failure::new(said.join("\n"))),
        false => Ok(programs),
    }
}

/// All cases in the order in which each repetition runs them: what is to be compared comes side by side.
fn plan<'a>(
    arguments: &BenchNas,
    networks: &'a [LabNetwork],
    programs: &'a [(Kernel, Vec<BuiltStack>)],
) -> Result<Vec<Planned<'a>>, Failure> {
    let mut planned = Vec::new();
    for (at, network) in networks.iter().enumerate() {
        let hosts = network.cluster.hosts.len() as u32;
        // A power of two, for clusters of three hosts, too.
        let everywhere = 1 << hosts.min(Kernel::MOST_RANKS).ilog2();
        let mut ranks = if arguments.ranks.is_empty() { vec![everywhere] } else { arguments.ranks.clone() };
        if at == 0 {
            ranks.push(1);
        }
        ranks.sort_unstable();
        ranks.dedup();
        for (kernel, stacks) in programs {
            share(network, stacks)?;
            for class in kernel.classes().into_iter().filter(|class| arguments.class.contains(class)) {
                for &ranks in &ranks {
                    let case = |stack| case(*kernel, class, ranks, network, stack);
                    let all = stacks.iter().map(|stack| (case(stack), stack));
                    planned.extend(all.map(|(case, stack)| Planned { case, network, stack, failed: false }));
                }
            }
        }
    }
    Ok(planned)
}

fn case(kernel: Kernel, class: Class, ranks: u32, network: &LabNetwork, stack: &BuiltStack) -> Case {
    let description = network.description();
    Case {
        kernel,
        class,
        ranks,
        hosts: description.hosts.min(ranks),
        network: description.name,
        stack: stack.name.clone(),
        lane: stack.transport.name().into(),
        offloads: description.offloads,
    }
}

/// Runs all cases in turn, repetition by repetition, with a progress bar. Ctrl-C ends it after the current run; what
/// was measured is kept.
fn measure(arguments: &BenchNas, planned: &mut [Planned<'_>]) -> Result<NasReport, Failure> {
    let mut report = NasReport::new(Machine::here());
    let interrupted = interruption()?;
    let bar = progress_bar((planned.len() * arguments.repetitions) as u64).with_prefix("nas");
    for repetition in 1..=arguments.repetitions {
        for one in planned.iter_mut() {
            if interrupted.load(Ordering::Relaxed) {
                report.interrupted = true;
                bar.finish_and_clear();
                return Ok(report);
            }
            let Case { kernel, class, ranks, network, stack, .. } = &one.case;
            bar.set_message(format!("{kernel} {class}, {ranks} ranks, {network}, {stack}"));
            if !one.failed {
                one.failed = !add(&mut report, one, arguments, repetition);
            }
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(report)
}

/// One run. False if it gave no figures.
fn add(report: &mut NasReport, one: &Planned<'_>, arguments: &BenchNas, repetition: usize) -> bool {
    let words = nas::Options::new(one.case.class).arguments();
    let limit = Duration::from_secs(arguments.limit);
    let (reason, stderr_tail) =
        match start(one.network, one.case.hosts, one.stack, one.case.ranks, &words, limit) {
            // A program that found its result wrong says so, and then fails.
            Ok(output) => match nas::parse(&output.stdout) {
                Ok(outcome) if outcome.ranks == one.case.ranks => {
                    report.add(&one.case, outcome);
                    return true;
                }
                Ok(outcome) => (format!("it ran on {} ranks", outcome.ranks), output.stderr_tail(TAIL_LINES)),
                Err(error) => (format!("{}: {error}", output.reason()), output.stderr_tail(TAIL_LINES)),
            },
            Err(failure) => (failure.message, String::new()),
        };
    report.fail(FailedRun {
        network: one.case.network.clone(),
        stack: one.case.stack.clone(),
        tests: format!("{} {} on {} ranks", one.case.kernel, one.case.class, one.case.ranks),
        repetition,
        reason,
        stderr_tail,
    });
    false
}
