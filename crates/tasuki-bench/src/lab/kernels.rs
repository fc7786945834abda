//! Kernels on labs, in turn.

use super::{
    MpiAccess, Progress, Session, TAIL_LINES, Testbed, linpack,
    mpi::{BuiltStack, Program, build_stacks, over_transports, share, start},
    turns::in_turn,
};
use crate::{
    BenchError, FailedRun, Machine,
    nas::{self, Case, Class, Kernel, NasReport, Outcome},
};
use std::{path::Path, time::Duration};
use tasuki_process::Output;

/// A kernel, built for every MPI and over every transport that is possible.
pub type KernelStacks = (Kernel, Vec<BuiltStack>);

/// What to measure on which labs.
pub struct Kernels<'a> {
    /// Labs.
    pub networks: &'a [Testbed],
    /// The programs, each on every MPI and over every transport.
    pub programs: &'a [KernelStacks],
    /// Sizes; those that a kernel does not have are passed over.
    pub classes: &'a [Class],
    /// Numbers of ranks; none: one on every host. One rank on the first network's first host comes beside
    /// them.
    pub ranks: &'a [u32],
    /// How often.
    pub repetitions: usize,
    /// Longest time for one run.
    pub limit: Duration,
    /// How jobs start.
    pub mpis: &'a dyn MpiAccess,
}

/// A case, with what runs it.
struct Planned<'a> {
    case: Case,
    network: &'a Testbed,
    stack: &'a BuiltStack,
    failed: bool,
}

/// Builds every kernel for the MPIs of these names, or for all that are installed. What is left out is noted
/// once.
pub fn kernel_stacks(
    kernels: &[Kernel],
    choices: &[String],
    mpis: &dyn MpiAccess,
    progress: &dyn Progress,
) -> Result<Vec<KernelStacks>, BenchError> {
    let mut all = Vec::new();
    let mut said = Vec::new();
    for &kernel in kernels {
        let (built, problems) = match kernel {
            Kernel::Linpack => linpack::stacks(mpis, choices)?,
            _ => build_stacks(mpis, choices, Program::Nas(kernel))?,
        };
        let (built, others) = over_transports(mpis, built);
        for problem in problems.into_iter().chain(others) {
            if !said.contains(&problem) {
                progress.note(&format!("left out: {problem}"));
                said.push(problem);
            }
        }
        all.push((kernel, built));
    }
    match all.iter().all(|(_, stacks)| stacks.is_empty()) {
        true => Err(BenchError::refused(said.join("\n"))),
        false => Ok(all),
    }
}

/// Refuses kernels that have none of these sizes.
pub fn check_classes(kernels: &[Kernel], classes: &[Class]) -> Result<(), BenchError> {
    for kernel in kernels {
        if !kernel.classes().iter().any(|class| classes.contains(class)) {
            let names = kernel.classes().map(|class| class.to_string()).join(", ");
            return Err(BenchError::refused(format!(
                "{kernel} has none of the classes asked for, but {names}"
            )));
        }
    }
    Ok(())
}

/// Names and contents of the bar charts, one per kernel and class.
pub fn kernel_plots(stem: &str, report: &NasReport) -> Result<Vec<(String, String)>, BenchError> {
    let charts = report.charts()?.into_iter();
    Ok(charts.map(|(name, svg)| (format!("{stem}-{}.svg", name.replace(' ', "-")), svg)).collect())
}

impl<'a> Kernels<'a> {
    /// All cases in the order in which each repetition runs them: what is to be compared comes side by side.
    fn plan(&self) -> Result<Vec<Planned<'a>>, BenchError> {
        let mut planned = Vec::new();
        for (kernel, stacks) in self.programs {
            for network in self.networks {
                share(self.mpis, network, stacks)?;
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
    fn ranks_on(&self, network: &Testbed, first: bool) -> Vec<u32> {
        let hosts = network.cluster.hosts.len() as u32;
        // A power of two, for clusters of three hosts, too.
        let everywhere = 1 << hosts.min(Kernel::MOST_RANKS).ilog2();
        let mut ranks = if self.ranks.is_empty() { vec![everywhere] } else { self.ranks.to_vec() };
        ranks.extend(first.then_some(1));
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    }

    /// Runs all cases in turn, repetition by repetition.
    pub fn run(&self, session: Session<'_>) -> Result<NasReport, BenchError> {
        let mut planned = self.plan()?;
        let mut report = NasReport::new(Machine::here());
        report.first_network = self.networks.first().map(|network| network.name.clone());
        report.peak_mops = self.peak_mops(session);
        let name = |one: &Planned<'_>| {
            let Case { kernel, class, ranks, network, stack, .. } = &one.case;
            format!("{kernel} {class}, {ranks} ranks, {network}, {stack}")
        };
        let step = |one: &mut Planned<'_>, repetition| {
            if !one.failed {
                one.failed = !self.add(&mut report, one, repetition);
            }
        };
        report.interrupted = in_turn(session, "nas", self.repetitions, &mut planned, name, step);
        Ok(report)
    }

    /// One processor's peak, if Linpack is to reach a share of it.
    fn peak_mops(&self, session: Session<'_>) -> Option<f64> {
        self.programs.iter().find(|(kernel, stacks)| *kernel == Kernel::Linpack && !stacks.is_empty())?;
        let peak = nas::linpack::peak_mops(Path::new("cc"));
        let note = |error: &_| session.progress.note(&format!("the processor's peak is not known: {error}"));
        peak.inspect_err(note).ok()
    }

    /// One run. False if it gave no figures.
    fn add(&self, report: &mut NasReport, one: &Planned<'_>, repetition: usize) -> bool {
        let outcome = match one.case.kernel {
            Kernel::Linpack => linpack::run(self.mpis, &one.case, one.network, one.stack, self.limit),
            _ => self.kernel(one),
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
    fn kernel(&self, one: &Planned<'_>) -> Result<Outcome, (String, String)> {
        let words = nas::Options::new(one.case.class).arguments();
        let output =
            start(self.mpis, one.network, one.stack, (one.case.hosts, one.case.ranks), &words, self.limit);
        let output = output.map_err(|error| (error.to_string(), String::new()))?;
        figures(&output, one.case.ranks).map_err(|reason| (reason, output.stderr_tail(TAIL_LINES)))
    }
}

/// The figures of a program of `bench/nas` that has ended; else why there are none. It prints them before it
/// leaves MPI, so that a run which hangs or dies on its way out has printed them, too.
fn figures(output: &Output, ranks: u32) -> Result<Outcome, String> {
    let outcome = nas::parse(&output.stdout).map_err(|error| format!("{}: {error}", output.reason()))?;
    if outcome.ranks != ranks {
        return Err(format!("it ran on {} ranks", outcome.ranks));
    }
    // A program that found its result wrong says so, and then fails.
    let is_over = output.is_success() || !(outcome.verified || output.timed_out);
    match is_over {
        true => Ok(outcome),
        false => Err(format!("{}, after it had printed its result", output.reason())),
    }
}

fn case(kernel: Kernel, class: Class, ranks: u32, network: &Testbed, stack: &BuiltStack) -> Case {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use tasuki_process::run_limited;

    /// What four ranks print whose result is right.
    const REPORT: &str = " IS Benchmark Completed.\n Class = S\n Size = 65536\n Iterations = 10\n \
        Time in seconds = 0.1\n CPU seconds = 0.3\n Total processes = 4\n Mop/s total = 6.5\n \
        Operation type = keys ranked\n Verification = SUCCESSFUL\n Version = tasuki 1\n";

    /// What is made of a program that prints this and then does that; the limit is the first when it waits.
    fn of(report: &str, then: &str) -> Result<bool, String> {
        let limit = Duration::from_secs(if then.contains("sleep") { 1 } else { 600 });
        let script = format!("printf %s \"$1\"; {then}");
        let output = run_limited(Command::new("sh").args(["-c", &script, "sh", report]), limit);
        figures(&output.expect("a shell runs"), 4).map(|outcome| outcome.verified)
    }

    #[test]
    fn a_run_that_hangs_or_dies_after_its_report_has_failed() {
        assert_eq!(of(REPORT, "exit 0"), Ok(true));
        for (then, why) in
            [("exit 139", "exit code 139"), ("kill -KILL $$", "signal 9"), ("exec sleep 1000", "time limit")]
        {
            let said = of(REPORT, then);
            assert!(said.as_ref().is_err_and(|said| said.contains(why)), "{then}: {said:?}");
        }
        // A wrong result is a result, with which the program fails by itself.
        let wrong = REPORT.replace("= SUCCESSFUL", "= UNSUCCESSFUL");
        assert_eq!(of(&wrong, "exit 1"), Ok(false));
        assert!(of(&wrong, "exec sleep 1000").is_err());
    }
}
