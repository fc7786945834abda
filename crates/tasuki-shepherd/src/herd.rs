//! All processes of a job, as one.

use crate::{
    Residence, cgroup,
    processes::{self, Process},
};
use nix::{
    errno::Errno,
    sys::signal::{Signal, kill},
    unistd::{Pid, getpid},
};
use std::{collections::HashSet, io, path::Path, thread, time::Duration};

/// How long all processes of a job may take to stand still before it is said that they do.
const FREEZE_LIMIT: Duration = Duration::from_secs(5);
/// How long they may take before they are killed.
const KILL_LIMIT: Duration = Duration::from_millis(100);

/// Rounds in which all processes of a job without a cgroup must be stopped: some seconds. A process stops
/// when it gets a processor, which a busy machine does not give at once.
const STOP_ROUNDS: u32 = 2_000;

/// Processes that are named where some do not end.
const NAMED_MAX: usize = 3;

/// The processes of one job.
#[derive(Debug)]
pub struct Herd {
    residence: Residence,
    frozen: bool,
}

impl Herd {
    /// The herd of a job that has no process yet.
    pub fn new(id: &str, parent: Option<&Path>) -> Self {
        Self { residence: cgroup::create(id, parent), frozen: false }
    }

    /// How it is held together.
    pub fn residence(&self) -> &Residence {
        &self.residence
    }

    /// Whether it stands still.
    pub fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// Has all stand still. Returns when they do, or after some seconds: what sleeps in the kernel until then
    /// stands still before it returns to its program.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn freeze(&mut self) -> io::Result<()> {
        self.frozen = true;
        match self.residence {
            // What does not stop now does when it gets a processor.
            Residence::Processes => drop(stop_all()),
            _ => drop(cgroup::freeze(&self.residence, FREEZE_LIMIT)?),
        }
        Ok(())
    }

    /// Has all stand still soon, without waiting for that: what runs now is interrupted, what the kernel does
    /// for a process at this moment ends first.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn begin_freeze(&mut self) -> io::Result<()> {
        self.frozen = true;
        match self.residence {
            Residence::Processes => stop_all(),
            _ => cgroup::begin_freeze(&self.residence, true),
        }
    }

    /// Has all go on.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn thaw(&mut self) -> io::Result<()> {
        self.frozen = false;
        match self.residence {
            Residence::Processes => {
                descendants().iter().for_each(|process| signal(process.pid, Signal::SIGCONT));
                Ok(())
            }
            _ => cgroup::begin_freeze(&self.residence, false),
        }
    }

    /// All that live: in the cgroup, and descendants of this process (root can leave a cgroup).
    pub fn members(&self) -> Vec<i32> {
        let mut found = cgroup::members(&self.residence);
        found.extend(descendants().iter().filter(|process| process.state != 'Z').map(|process| process.pid));
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Some of those that live, in words.
    pub fn survivors(&self) -> String {
        let all = self.members();
        let mut words: Vec<String> =
            all.iter().take(NAMED_MAX).map(|pid| processes::describe(*pid)).collect();
        words.extend((all.len() > NAMED_MAX).then(|| format!("{} others", all.len() - NAMED_MAX)));
        words.join(", ")
    }

    /// Kills all that live now. More may come while it does; so it is called until [`Herd::members`] is
    /// empty.
    pub fn kill(&mut self) {
        let killed = match &self.residence {
            Residence::V2(folder) => cgroup::kill(folder),
            Residence::V1Freezer(_) => cgroup::freeze(&self.residence, KILL_LIMIT).map(drop),
            Residence::Processes => Ok(()),
        };
        // What the cgroup could not do is done one by one.
        let _ = killed;
        self.members().into_iter().for_each(|pid| signal(pid, Signal::SIGKILL));
        // A frozen process of version 1 dies when it goes on; a stopped one dies at once.
        let _ = cgroup::begin_freeze(&self.residence, false);
        self.frozen = false;
    }

    /// Removes the cgroup of a herd that has no process left.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn remove(&self) -> io::Result<()> {
        cgroup::remove(&self.residence)
    }
}

fn descendants() -> Vec<Process> {
    processes::descendants(getpid().as_raw())
}

/// Stops all descendants. A process may fork before its signal arrives, and /proc is not read in one moment:
/// so there are rounds, until none was found running twice in a row.
fn stop_all() -> io::Result<()> {
    let (mut asked, mut quiet) = (HashSet::new(), 0);
    for round in 0..STOP_ROUNDS {
        let running: Vec<_> = descendants().into_iter().filter(|process| !stands(process, &asked)).collect();
        quiet = if running.is_empty() { quiet + 1 } else { 0 };
        if quiet == 2 {
            return Ok(());
        }
        for process in running {
            signal(process.pid, Signal::SIGSTOP);
            asked.insert(process.pid);
        }
        if round > 2 {
            thread::sleep(Duration::from_millis(1));
        }
    }
    Err(io::Error::other("processes do not stop"))
}

/// Whether a process runs nothing of its program until it is continued. One that sleeps in the kernel
/// uninterruptibly stops before it returns to its program, if it was asked to; until then it may never come
/// to that: a shell that has made a child by vfork(2) sleeps so until the child begins a program, which the
/// child does not do once it is stopped.
fn stands(process: &Process, asked: &HashSet<i32>) -> bool {
    match process.state {
        'T' | 't' | 'Z' => true,
        'D' => asked.contains(&process.pid),
        _ => false,
    }
}

/// Signals a process. One that is gone needs none.
fn signal(pid: i32, signal: Signal) {
    match kill(Pid::from_raw(pid), signal) {
        Ok(()) | Err(Errno::ESRCH) => {}
        // Without the right to signal it there is nothing else to do either; members() still names it.
        Err(_) => {}
    }
}
