//! Kernels on networks, in turn: what `tasuki bench nas` and `tasuki demo` share.

use super::{
    LabNetwork,
    launch::{share, start},
    linpack,
    stacks::{self, BuiltStack, Program},
    turns::{in_turn, interruption},
};
use crate::{failure::Failure, transport::Wanted};
use std::{path::Path, time::Duration};
use tasuki_bench::{
    FailedRun, Machine,
    nas::{self, Case, Class, Kernel, NasReport, Outcome},
};
use tasuki_job::Finder;

/// Lines of standard error that are kept of a failed run.
pub(super) const TAIL_LINES: usize = 12;

/// What to measure on which labs.
pub struct Kernels<'a> {
    /// Labs.
    pub networks: &'a [LabNetwork],
    /// The programs, each on every MPI and over every transport.
    pub programs: &'a [(Kernel, Vec<BuiltStack>)],
    /// Sizes; those that a kernel does not have are passed over.
    pub classes: &'a [Class],
    /// Numbers of ranks; none: one on every host. One rank on the first network's first host comes beside them.
    pub ranks: &'a [u32],
    /// How often.
    pub repetitions: usize,
    /// Longest time for one run.
    pub limit: Duration,
}

/// A case, with what runs it.
struct Planned<'a> {
    case: Case,
    network: &'a LabNetwork,
    stack: &'a BuiltStack,
    failed: bool,
}

/// Every kernel, built for every MPI and over every transport that is possible.
pub fn programs(
    kernels: &[Kernel],
    mpis: &[String],
    transports: &[Wanted],
) -> Result<Vec<(Kernel, Vec<BuiltStack>)>, Failure> {
    let finder = Finder::local()?;
    let mut programs = Vec::new();
    let mut said = Vec::new();
    for &kernel in kernels {
        let (built, problems) = match kernel {
            Kernel::Linpack => linpack::stacks(&finder, mpis)?,
            _ => stacks::build(&finder, mpis, Program::Nas(kernel))?,
        };
        let (built, others) = stacks::over(built, transports);
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

/// Says at once that a kernel would not run in any of these sizes.
pub fn check_classes(kernels: &[Kernel], classes: &[Class]) -> Result<(), Failure> {
    for kernel in kernels {
        if !kernel.classes().iter().any(|class| classes.contains(class)) {
            let names = kernel.classes().map(|class| class.to_string()).join(", ");
            return Err(Failure::new(format!("{kernel} has none of the classes asked for, but {names}")));
        }
    }
    Ok(())
}

/// Names and contents of the bar charts, one per kernel and class.
pub fn plots(stem: &str, report: &NasReport) -> Result<Vec<(String, String)>, Failure> {
    let charts = report.charts()?.into_iter();
    Ok(charts.map(|(name, svg)| (format!("{stem}-{}.svg", name.replace(' ', "-")), svg)).collect())
}

impl<'a> Kernels<'a> {
    /// All cases in the order in which each repetition runs them: what is to be compared comes side by side.
    fn plan(&self) -> Result<Vec<Planned<'a>>, Failure> {
        let mut planned = Vec::new();
        for (kernel, stacks) in self.programs {
            for network in self.networks {
                share(network, stacks)?;
            }
            for class in kernel.classes().into_iter().filter(|class| self.classes.contains(class)) {
                for (at, network) in self.networks.iter().enumerate() {
                    for ranks in self.ranks_on(network, at == 0) {
                        let case = |stack| case(*kernel, class, ranks, network, stack);
                        let all = stacks.iter().map(|stack| (case(stack), stack));
                        planned.extend(all.map(|(case, stack)| Planned {
                            case,
                            network,
                            stack,
                            failed: false,
                        }));
                    }
                }
            }
        }
        Ok(planned)
    }

    /// Numbers of ranks on a network; on the first one rank comes beside them.
    fn ranks_on(&self, network: &LabNetwork, first: bool) -> Vec<u32> {
        let hosts = network.cluster.hosts.len() as u32;
        // A power of two, for clusters of three hosts, too.
        let everywhere = 1 << hosts.min(Kernel::MOST_RANKS).ilog2();
        let mut ranks = if self.ranks.is_empty() { vec![everywhere] } else { self.ranks.to_vec() };
        ranks.extend(first.then_some(1));
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    }

    /// Runs all cases in turn, repetition by repetition, with a progress bar. Ctrl-C ends it after the current run; what
    /// was measured is kept.
    pub fn run(&self) -> Result<NasReport, Failure> {
        let mut planned = self.plan()?;
        let mut report = NasReport::new(Machine::here());
        report.peak_mops = self.peak_mops();
        let name = |one: &Planned<'_>| {
            let Case { kernel, class, ranks, network, stack, .. } = &one.case;
            format!("{kernel} {class}, {ranks} ranks, {network}, {stack}")
        };
        let step = |one: &mut Planned<'_>, repetition| {
            if !one.failed {
                one.failed = !add(&mut report, one, repetition, self.limit);
            }
        };
        report.interrupted = in_turn("nas", &*interruption()?, self.repetitions, &mut planned, name, step);
        Ok(report)
    }

    /// One processor's peak, if Linpack is to reach a share of it.
    fn peak_mops(&self) -> Option<f64> {
        self.programs.iter().find(|(kernel, stacks)| *kernel == Kernel::Linpack && !stacks.is_empty())?;
        let peak = nas::linpack::peak_mops(Path::new("cc"));
        peak.inspect_err(|error| eprintln!("tasuki: the processor's peak is not known: {error}")).ok()
    }
}

fn case(kernel: Kernel, class: Class, ranks: u32, network: &LabNetwork, stack: &BuiltStack) -> Case {
    let description = network.description();
    Case {
        kernel,
        class,
        ranks,
        hosts: description.hosts.min(ranks),
        nics: network.cluster.hosts.iter().map(|host| host.nics.len()).min().unwrap_or(1),
        network: description.name,
        stack: stack.name.clone(),
        lane: stack.transport.name().into(),
        offloads: description.offloads,
    }
}

/// One run. False if it gave no figures.
fn add(report: &mut NasReport, one: &Planned<'_>, repetition: usize, limit: Duration) -> bool {
    let outcome = match one.case.kernel {
        Kernel::Linpack => linpack::run(&one.case, one.network, one.stack, limit),
        _ => kernel(one, limit),
    };
    let (reason, stderr_tail) = match outcome {
        Ok(outcome) => {
            report.add(&one.case, outcome);
            return true;
        }
        Err(failed) => failed,
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

/// One run of a program of `bench/nas`; else why there are no figures, and the end of what it said.
fn kernel(one: &Planned<'_>, limit: Duration) -> Result<Outcome, (String, String)> {
    let words = nas::Options::new(one.case.class).arguments();
    let output = start(one.network, one.case.hosts, one.stack, one.case.ranks, &words, limit);
    let output = output.map_err(|failure| (failure.message, String::new()))?;
    // A program that found its result wrong says so, and then fails.
    let reason = match nas::parse(&output.stdout) {
        Ok(outcome) if outcome.ranks == one.case.ranks => return Ok(outcome),
        Ok(outcome) => format!("it ran on {} ranks", outcome.ranks),
        Err(error) => format!("{}: {error}", output.reason()),
    };
    Err((reason, output.stderr_tail(TAIL_LINES)))
}
