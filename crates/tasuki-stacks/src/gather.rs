//! What all hosts of a fleet say.

use crate::{AGENT_COMMAND, agent::HostStacks, frame::ProcessStacks, gdb};
use std::thread;
use tasuki_fleet::{Answer, Fleet, Task, for_each_host};

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
        // Its agents finish if this process ends first: a debugger that is ended may leave its process
        // stopped.
        let argv = [AGENT_COMMAND].into_iter().chain(selection.job.as_deref());
        let task = Task::tasuki(argv).limit(gdb::LIMIT * TURNS).lasting();
        let mut found = Self::default();
        for answer in ask(fleet, &task, done) {
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

/// Runs the task on all hosts: on all at once, but in a lab, whose hosts share this machine's memory, on as
/// many at a time as it has processors. A debugger that has read the symbols of an MPI takes some 100 MB.
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

impl Selection {
    fn takes(&self, process: &ProcessStacks) -> bool {
        let has = |rank| self.ranks.iter().any(|(first, last)| (*first..=*last).contains(&rank));
        let is_rank = self.ranks.is_empty() || process.rank.is_some_and(has);
        is_rank && self.program.as_ref().is_none_or(|program| *program == process.program)
    }
}
