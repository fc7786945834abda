//! What all hosts of a fleet say.

use crate::{
    AGENT_COMMAND, agent::HostStacks, frame::ProcessStacks, gdb, jobs::SharedNames, place::Place,
    selection::Selection,
};
use std::{collections::BTreeSet, thread};
use tasuki_fleet::{Answer, Fleet, Task, for_each_host};

/// How many times the limit of one process a host may take: it looks at several processes in turn.
const TURNS: u32 = 4;

/// The processes of a fleet.
#[derive(Debug, Default)]
pub struct Stacks {
    /// By job, program, rank, host and process id.
    pub processes: Vec<ProcessStacks>,
    /// Ranks of jobs that have not come to Tasuki, likewise: they are before or in their MPI_Init, or do not
    /// use it.
    pub unattached: Vec<ProcessStacks>,
    /// Hosts that did not answer and processes that could not be looked at, and why.
    pub problems: Vec<String>,
}

impl Stacks {
    /// Asks all hosts of a fleet; `done` is told the name of each that has answered.
    pub fn of(fleet: &Fleet, selection: &Selection, done: impl Fn(&str) + Sync) -> Self {
        // Its agents finish if this process ends first: a debugger that is ended may leave its process
        // stopped.
        let selection = serde_json::json!(selection).to_string();
        let task = Task::tasuki([AGENT_COMMAND]).input(selection).limit(gdb::LIMIT * TURNS).lasting();
        let mut found = Self::default();
        for answer in ask(fleet, &task, done) {
            let (host, label) = (answer.host.clone(), answer.label().to_owned());
            match answer.json::<HostStacks>() {
                Ok(stacks) => {
                    let problems = stacks.problems.iter().map(|problem| format!("{label}: {problem}"));
                    found.problems.extend(problems);
                    let named = |process| ProcessStacks { host: host.clone(), ..process };
                    found.processes.extend(stacks.processes.into_iter().map(named));
                    found.unattached.extend(stacks.unattached.into_iter().map(named));
                }
                Err(error) => found.problems.push(error.to_string()),
            }
        }
        found.forget_scripts();
        let problem = |process: &ProcessStacks| {
            let why = process.problem.as_ref()?;
            Some(format!("{}: process {}: {why}", process.host, process.pid))
        };
        let problems: Vec<String> = found.all().filter_map(problem).collect();
        found.problems.extend(problems);
        for list in [&mut found.processes, &mut found.unattached] {
            list.sort_by_key(|process| {
                let rank = process.rank.unwrap_or(u32::MAX);
                (process.job.clone(), process.program.clone(), rank, process.host.clone(), process.pid)
            });
        }
        found
    }

    /// All processes, those that have come to Tasuki first.
    pub fn all(&self) -> impl Iterator<Item = &ProcessStacks> {
        self.processes.iter().chain(&self.unattached)
    }

    /// Forgets processes that were told the rank of a process with a page on another host, and are not in
    /// MPI: daemons of launchers count hosts by the variables of ranks.
    fn forget_scripts(&mut self) {
        let shared = SharedNames::among(self.all().map(ProcessStacks::claim));
        let rank = |process: &ProcessStacks| (shared.key(process), process.rank);
        let ranks: BTreeSet<_> = self.processes.iter().map(rank).collect();
        self.unattached
            .retain(|process| Place::of(&process.threads).call.is_some() || !ranks.contains(&rank(process)));
    }
}

/// Runs the task on all hosts: on all at once, but in a lab, whose hosts share this machine's memory, on as
/// many at a time as it has processors. A debugger that has read the symbols of an MPI takes some 140 MB.
fn ask(fleet: &Fleet, task: &Task, done: impl Fn(&str) + Sync) -> Vec<Answer> {
    let at_once = match fleet {
        Fleet::Lab(_) => thread::available_parallelism().map_or(1, usize::from),
        Fleet::Local | Fleet::Ssh(_) => fleet.len(),
    };
    let mut answers = Vec::new();
    for first in (0..fleet.len()).step_by(at_once.max(1)) {
        answers.extend(for_each_host(at_once.min(fleet.len() - first), |host| {
            let answer = fleet.run(first + host, task);
            done(&answer.host);
            answer
        }));
    }
    answers
}
