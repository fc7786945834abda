//! What one host says of its own processes.

use crate::{
    frame::{ProcessStacks, Thread},
    gdb,
    jobs::user_name,
    selection::Selection,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};
use tasuki_load::ProcessSample;

/// The hidden subcommand of `tasuki` that reads a [`Selection`] and prints a host's [`HostStacks`], both as
/// JSON.
pub const AGENT_COMMAND: &str = "stacks-agent";

/// The processes of one host that use Tasuki.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct HostStacks {
    /// Processes, in no order.
    pub processes: Vec<ProcessStacks>,
    /// Ranks of jobs that have not come to Tasuki, likewise.
    #[serde(default)]
    pub unattached: Vec<ProcessStacks>,
    /// What could not be read, and why.
    pub problems: Vec<String>,
}

impl HostStacks {
    /// Those of the host that this process runs on. Processes that are not meant do not stand still.
    pub fn local(selection: &Selection) -> Self {
        let (samples, problems) = tasuki_load::processes();
        let unattached = tasuki_load::unattached(&samples);
        let meant = |samples: Vec<ProcessSample>| {
            samples.into_iter().filter(|sample| selection.has(sample)).collect::<Vec<_>>()
        };
        let (wanted, unattached) = (meant(samples), meant(unattached));
        // A process with several endpoints has a page for each, and one debugger at a time.
        let all = wanted.iter().chain(&unattached);
        let pids: BTreeSet<u32> = all.filter(|sample| is_known(sample)).map(ProcessSample::pid).collect();
        let pids: Vec<u32> = pids.into_iter().collect();
        let threads: HashMap<u32, _> = at_once(&pids, |pid| (*pid, gdb::threads(*pid))).into_iter().collect();
        let users: BTreeSet<u32> =
            wanted.iter().chain(&unattached).filter_map(|sample| sample.page.user).collect();
        let users: BTreeMap<u32, String> = users.into_iter().map(|user| (user, user_name(user))).collect();
        let stacks = |samples: &[ProcessSample]| {
            let one = |sample: &ProcessSample| ProcessStacks {
                user: sample.page.user.and_then(|user| users.get(&user).cloned()),
                ..process(sample, threads.get(&sample.pid()))
            };
            samples.iter().map(one).collect()
        };
        Self { processes: stacks(&wanted), unattached: stacks(&unattached), problems }
    }
}

/// Does the same for all items, as many at a time as this process may use processors.
fn at_once<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let workers = thread::available_parallelism().map_or(1, usize::from).min(items.len());
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = work(item);
                    done.lock().expect("no worker panics while it holds this").push(result);
                }
            });
        }
    });
    done.into_inner().expect("no worker panics while it holds this")
}

/// Whether a process's number on this host is known: else the kernel says nothing of it.
fn is_known(sample: &ProcessSample) -> bool {
    sample.cpu_ns.is_some()
}

fn process(sample: &ProcessSample, threads: Option<&Result<Vec<Thread>, String>>) -> ProcessStacks {
    let page = &sample.page;
    let (threads, problem) = match threads.filter(|_| is_known(sample)) {
        Some(Ok(threads)) => (threads.clone(), None),
        Some(Err(problem)) => (Vec::new(), Some(problem.clone())),
        None => {
            let why = "its process id on this host is not known, or it has ended";
            (Vec::new(), Some(why.to_owned()))
        }
    };
    ProcessStacks {
        host: page.host.clone(),
        pid: sample.pid(),
        address: page.identity.address.clone(),
        program: page.program.clone(),
        rank: page.rank,
        ranks: sample.ranks,
        job: sample.job.clone(),
        user: None,
        receives_posted: page.endpoint.receives_posted,
        unexpected: page.endpoint.unexpected,
        sends_pending: page.sends_pending(),
        threads,
        problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_worked_on_once() {
        let items: Vec<u32> = (0..100).collect();
        let mut found = at_once(&items, |item| item * 2);
        found.sort_unstable();
        assert_eq!(found, items.iter().map(|item| item * 2).collect::<Vec<_>>());
        assert!(at_once(&[], |item: &u32| *item).is_empty());
    }
}
