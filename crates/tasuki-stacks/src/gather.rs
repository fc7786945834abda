//! What all hosts of a fleet say.

use crate::{AGENT_COMMAND, agent::HostStacks, frame::ProcessStacks, gdb};
use std::time::Duration;
use tasuki_fleet::{Fleet, Task};

/// Which processes are meant.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Those of this job of the resident runtime; `None`: of all.
    pub job: Option<String>,
    /// Those of the program of this name; `None`: of all.
    pub program: Option<String>,
    /// Those of these ranks, as a list of the first and last of spans; none: of all.
    pub ranks: Vec<(u32, u32)>,
}

/// How many times the limit of one process a host may take: it looks at several processes in turn.
const TURNS: u32 = 4;

/// The processes of a fleet.
#[derive(Debug, Default)]
pub struct Stacks {
    /// By job, program, rank, host and process id.
    pub processes: Vec<ProcessStacks>,
    /// Hosts that did not answer and processes that could not be looked at, and why.
    pub problems: Vec<String>,
}

impl Stacks {
    /// Asks all hosts of a fleet; `done` is told the name of each that has answered.
    pub fn of(fleet: &Fleet, selection: &Selection, done: impl Fn(&str) + Sync) -> Self {
        let limit: Duration = gdb::LIMIT * TURNS;
        let task = Task::tasuki([AGENT_COMMAND].into_iter().chain(selection.job.as_deref())).limit(limit);
        let mut found = Self::default();
        for answer in fleet.run_each(|_| task.clone(), done) {
            let (host, label) = (answer.host.clone(), answer.label().to_owned());
            match answer.json::<HostStacks>() {
                Ok(stacks) => {
                    found
                        .problems
                        .extend(stacks.problems.iter().map(|problem| format!("{label}: {problem}")));
                    let named = stacks
                        .processes
                        .into_iter()
                        .map(|process| ProcessStacks { host: host.clone(), ..process });
                    found.processes.extend(named.filter(|process| selection.takes(process)));
                }
                Err(error) => found.problems.push(error.to_string()),
            }
        }
        for process in &found.processes {
            let problem = process
                .problem
                .as_ref()
                .map(|why| format!("{}: process {}: {why}", process.host, process.pid));
            found.problems.extend(problem);
        }
        found.processes.sort_by_key(|process| {
            let rank = process.rank.unwrap_or(u32::MAX);
            (process.job.clone(), process.program.clone(), rank, process.host.clone(), process.pid)
        });
        found
    }
}

impl Selection {
    fn takes(&self, process: &ProcessStacks) -> bool {
        let has = |rank| self.ranks.iter().any(|(first, last)| (*first..=*last).contains(&rank));
        let is_rank = self.ranks.is_empty() || process.rank.is_some_and(has);
        is_rank && self.program.as_ref().is_none_or(|program| *program == process.program)
    }
}
