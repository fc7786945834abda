//! How long programs take to start on labs.

use super::{
    MpiAccess, Session, TAIL_LINES, Testbed,
    mpi::{BuiltStack, share, start},
    turns::in_turn,
};
use crate::{
    BenchError, FailedRun, Machine,
    startup::{self, StartupCase, StartupReport},
};
use std::time::Duration;
use tasuki_cluster::{HostId, Rail};

/// What to start on which labs.
pub struct Startups<'a> {
    /// Labs.
    pub networks: &'a [Testbed],
    /// The program, built for every MPI and over every transport.
    pub stacks: &'a [BuiltStack],
    /// Numbers of ranks.
    pub ranks: &'a [u32],
    /// How often.
    pub repetitions: usize,
    /// Longest time for one start.
    pub limit: Duration,
    /// How jobs start.
    pub mpis: &'a dyn MpiAccess,
}

/// A case, with what runs it.
struct Planned<'a> {
    case: StartupCase,
    network: &'a Testbed,
    stack: &'a BuiltStack,
    failed: bool,
}

impl<'a> Startups<'a> {
    /// Starts everything in turn, repetition by repetition.
    pub fn run(&self, session: Session<'_>) -> Result<StartupReport, BenchError> {
        let mut planned = self.plan()?;
        let mut report = StartupReport::new(Machine::here());
        let name = |one: &Planned<'_>| {
            let StartupCase { ranks, network, stack, .. } = &one.case;
            format!("{ranks} ranks, {network}, {stack}")
        };
        let step = |one: &mut Planned<'_>, repetition| {
            if !one.failed {
                one.failed = !self.add(&mut report, one, repetition);
            }
        };
        report.interrupted = in_turn(session, "startup", self.repetitions, &mut planned, name, step);
        Ok(report)
    }

    /// All cases in the order in which each repetition runs them: what is to be compared comes side by side.
    fn plan(&self) -> Result<Vec<Planned<'a>>, BenchError> {
        let mut planned = Vec::new();
        for network in self.networks {
            share(self.mpis, network, self.stacks)?;
            let description = network.description();
            let direct = network.cluster.rails(HostId(0), HostId(1)).into_iter().filter(Rail::is_direct);
            let rails = direct.count();
            for &ranks in self.ranks {
                for stack in self.stacks {
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

    /// One start. False if it gave no figures.
    fn add(&self, report: &mut StartupReport, one: &Planned<'_>, repetition: usize) -> bool {
        let started = startup::now();
        let size = (one.case.hosts, one.case.ranks);
        let result = start(self.mpis, one.network, one.stack, size, &[], self.limit);
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
            Err(error) => (error.to_string(), String::new()),
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
}
