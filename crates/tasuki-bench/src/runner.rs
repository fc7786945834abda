//! Runs a plan: every stack in turn, several times over, so that drift of the machine affects all stacks
//! alike.

mod gather;
mod plan;

pub use plan::{CALLS, LineRate, Network, Plan, PlanError, Stack, TestPlan, TestSet};
pub use tasuki_process::Output;

use crate::{FailedRun, Machine, Report, parse_lines, raw};
use gather::Gather;
use std::{error::Error, ops::ControlFlow, time::Duration};

/// Number of lines of standard error that a report keeps of a failed run.
const TAIL_LINES: usize = 12;

/// One run of the MPI program.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// The network to run on.
    pub network: &'a Network,
    /// The stack to run over.
    pub stack: &'a Stack,
    /// Number of ranks, spread evenly over the network's hosts.
    pub ranks: u32,
    /// The program's arguments.
    pub arguments: &'a [String],
    /// Time after which the launcher must stop the run.
    pub limit: Duration,
    /// Number of the repetition, from 0.
    pub repetition: usize,
}

/// Why a launcher could not start something.
pub type LaunchError = Box<dyn Error + Send + Sync>;

/// Starts programs on networks.
pub trait Launch {
    /// Runs `tasuki-mpi-bench`, built for the stack's MPI, and returns what it printed. An error means that
    /// it could not be started; a program that failed is an [`Output`].
    fn launch(&mut self, run: &Run<'_>) -> Result<Output, LaunchError>;

    /// Measures the raw limits of a network between two of its hosts (see [`raw`]), for the ceilings. Called
    /// in every repetition. The default measures nothing.
    fn raw(&mut self, _network: &Network) -> Result<Vec<raw::Outcome>, LaunchError> {
        Ok(Vec::new())
    }
}

/// How far the run of a plan has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    /// Number of steps done.
    pub done: usize,
    /// Number of steps of the plan.
    pub total: usize,
    /// The step that begins, for example `repetition 1 of 3, mesh, openmpi-4.1: pingpong:8 stream:65536`.
    pub step: &'a str,
}

/// Runs a plan. `progress` is called before each step; `Break` ends the run there, and the report holds what
/// was measured so far. A run that fails is reported and left out of later repetitions, and does not end the
/// others.
pub fn run(
    plan: &Plan,
    launch: &mut dyn Launch,
    progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<Report, PlanError> {
    plan.check()?;
    let mut runner = Runner { plan, launch, gather: Gather::default(), failures: Vec::new() };
    let steps = plan.steps();
    let mut interrupted = false;
    for (done, step) in steps.iter().enumerate() {
        let words = step.words(plan);
        if progress(Progress { done, total: steps.len(), step: &words }).is_break() {
            interrupted = true;
            break;
        }
        runner.take(step);
    }
    let machine = Machine::here();
    let records = runner.gather.records(plan, &machine);
    Ok(Report { machine, records, failures: runner.failures, interrupted })
}

/// A step of a plan; the numbers are indices into the plan's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub repetition: usize,
    pub network: usize,
    pub work: Work,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    Raw,
    Mpi { set: usize, stack: usize },
}

struct Runner<'a> {
    plan: &'a Plan,
    launch: &'a mut dyn Launch,
    gather: Gather,
    failures: Vec<FailedRun>,
}

impl Runner<'_> {
    fn take(&mut self, step: &Step) {
        match step.work {
            Work::Raw => self.measure_raw(step),
            Work::Mpi { set, stack } => {
                let (name, tests) = (self.plan.stacks[stack].name.clone(), self.plan.sets[set].words());
                if !self.has_failed(step, &name, &tests)
                    && let Err((reason, stderr_tail)) = self.measure_mpi(step, set, stack)
                {
                    self.fail(step, name, tests, reason, stderr_tail);
                }
            }
        }
    }

    /// Whether a run has failed before. It is not tried again, as it could take its time limit in every
    /// repetition.
    fn has_failed(&self, step: &Step, stack: &str, tests: &str) -> bool {
        let network = &self.plan.networks[step.network].name;
        let same = |f: &FailedRun| f.network == *network && f.stack == stack && f.tests == tests;
        self.failures.iter().any(same)
    }

    fn fail(&mut self, step: &Step, stack: String, tests: String, reason: String, stderr_tail: String) {
        let network = self.plan.networks[step.network].name.clone();
        let repetition = step.repetition + 1;
        self.failures.push(FailedRun { network, stack, tests, repetition, reason, stderr_tail });
    }

    /// Measures the raw limits. Peers that cannot work at all are not tried again; a single test that fails
    /// is reported once.
    fn measure_raw(&mut self, step: &Step) {
        const STACK: &str = "raw";
        const ALL: &str = "raw limits";
        if self.has_failed(step, STACK, ALL) {
            return;
        }
        let outcomes = match self.launch.raw(&self.plan.networks[step.network]) {
            Ok(outcomes) => outcomes,
            Err(error) => {
                let reason = describe(error.as_ref());
                return self.fail(step, STACK.into(), ALL.into(), reason, String::new());
            }
        };
        for outcome in outcomes {
            let silent = outcome.throughputs.iter().filter(|result| result.seconds <= 0.0);
            let silent =
                silent.map(|result| (format!("{} throughput", result.protocol), "nothing arrived".into()));
            let failed =
                outcome.failures.iter().map(|f| (format!("{} {}", f.protocol, f.test), f.reason.clone()));
            for (tests, reason) in silent.chain(failed).collect::<Vec<(String, String)>>() {
                if !self.has_failed(step, STACK, &tests) {
                    self.fail(step, STACK.into(), tests, reason, String::new());
                }
            }
            self.gather.add_raw(step.network, outcome);
        }
    }

    fn measure_mpi(&mut self, step: &Step, set: usize, stack: usize) -> Result<(), (String, String)> {
        let plan = self.plan;
        let set_plan = &plan.sets[set];
        let arguments = plan.arguments(set_plan);
        let run = Run {
            network: &plan.networks[step.network],
            stack: &plan.stacks[stack],
            ranks: set_plan.ranks,
            arguments: &arguments,
            limit: plan.run_limit,
            repetition: step.repetition,
        };
        let output = self.launch.launch(&run).map_err(|error| (describe(error.as_ref()), String::new()))?;
        let fail = |reason: String| (reason, output.stderr_tail(TAIL_LINES));
        if !output.is_success() {
            return Err(fail(output.reason()));
        }
        let lines = parse_lines(&output.stdout).map_err(|error| fail(error.to_string()))?;
        check_lines(&lines, set_plan, run.network).map_err(fail)?;
        self.gather.add_mpi(step.network, stack, lines);
        Ok(())
    }
}

/// Checks that a run made all tests that it was asked for, on as many hosts as the network has.
fn check_lines(lines: &[crate::Line], set: &TestSet, network: &Network) -> Result<(), String> {
    for test in &set.tests {
        for bytes in test.sizes_or_none() {
            if !lines.iter().any(|line| line.test == test.name && line.bytes == bytes) {
                return Err(format!("no result for {} of {bytes} bytes", test.name));
            }
        }
    }
    let hosts = network.hosts.min(set.ranks);
    match lines.iter().find(|line| line.ranks != set.ranks || line.hosts != hosts) {
        Some(line) => Err(format!(
            "the program ran as {} ranks on {} hosts, not {} on {hosts}",
            line.ranks, line.hosts, set.ranks
        )),
        None => Ok(()),
    }
}

/// The text of an error and of its causes.
fn describe(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let words = cause.to_string();
        if !text.contains(&words) {
            text += ": ";
            text += &words;
        }
        source = cause.source();
    }
    text
}
