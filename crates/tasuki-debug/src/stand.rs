//! Ranks that stand before their program until a debugger has them.
//!
//! A launcher starts a shell in the place of the program; the shell looks who traces it, and becomes the
//! program when a debugger does. So it is the same for every MPI, no program is changed, and a rank whose
//! debugger never comes goes on by itself.

use crate::target::Debuggee;
use nix::unistd::geteuid;
use procfs::process::{Process, all_processes};
use std::{
    collections::{BTreeSet, HashMap},
    ffi::{OsStr, OsString},
};
use tasuki_load::RANK_VARIABLES;
use tasuki_stacks::halted;

/// Functions in which ranks stop: those that begin MPI, also by their names in profiling layers, which is
/// where those of Fortran lead to.
pub const STOPS: [&str; 6] =
    ["MPI_Init", "PMPI_Init", "MPI_Init_thread", "PMPI_Init_thread", "MPI_Session_init", "PMPI_Session_init"];
/// What the shell that stands is called, so that it is found.
const NAME: &str = "tasuki-stand";
/// What the shell does: it looks 20 times a second, for two minutes at most, whether a debugger has it.
const SCRIPT: &str = "shift; n=0; t=0; while [ $n -lt 2400 ]; do \
    while read -r k v; do [ \"$k\" = TracerPid: ] && t=$v; done </proc/$$/status; \
    [ \"$t\" != 0 ] && break; sleep 0.05; n=$((n+1)); done; exec \"$@\"";

/// The words before a program and its arguments with which its ranks stand before it; `job` is a name that no
/// other job has.
pub fn stand(job: &str) -> Vec<OsString> {
    ["/bin/sh", "-c", SCRIPT, NAME, job].map(OsString::from).to_vec()
}

/// The ranks of this host that stand before their program.
pub(crate) fn standing(job: &str) -> Vec<Debuggee> {
    standing_of(geteuid().as_raw(), job)
}

/// Those of the user of this number: the words of a command line, which any user may give a process, are read
/// by all.
fn standing_of(user: u32, job: &str) -> Vec<Debuggee> {
    let is_own = |process: &Process| process.uid().is_ok_and(|uid| uid == user) && is_of(process, job);
    let all: Vec<Process> = all_processes().into_iter().flatten().flatten().filter(is_own).collect();
    let pids: BTreeSet<i32> = all.iter().map(|process| process.pid).collect();
    // What the shell itself has just forked, to become `sleep`, looks like it.
    let is_shell = |process: &&Process| process.stat().is_ok_and(|stat| !pids.contains(&stat.ppid));
    all.iter().filter(is_shell).filter_map(debuggee).collect()
}

fn is_of(process: &Process, job: &str) -> bool {
    let words = process.cmdline().unwrap_or_default();
    words.len() > 5 && words[1] == "-c" && words[3] == NAME && words[4] == job
}

fn debuggee(process: &Process) -> Option<Debuggee> {
    let pid = u32::try_from(process.pid).ok()?;
    let words = process.cmdline().ok()?;
    let environment: HashMap<OsString, OsString> = process.environ().unwrap_or_default();
    let variable = |name: &&str| environment.get(OsStr::new(name))?.to_str()?.parse().ok();
    Some(Debuggee {
        pid,
        rank: RANK_VARIABLES.iter().find_map(variable),
        program: words[5].rsplit('/').next().unwrap_or_default().into(),
        job: None,
        // Processes of other users are passed over.
        user: None,
        problem: halted::obstacle(pid),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    /// A process that is ended with the test.
    struct Ended(Child);

    impl Drop for Ended {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_rank_that_stands_is_found_by_the_name_of_its_job() {
        let words = stand("a-job-of-this-test");
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(["/bin/echo", "on"]).env("PMI_RANK", "3").stdout(Stdio::null());
        let process = Ended(command.spawn().expect("starts"));
        // A parent goes on before the kernel has set the words of the program that its child executes.
        let words = format!("/proc/{}/cmdline", process.0.id());
        let has_words = || std::fs::read(&words).is_ok_and(|words| !words.is_empty());
        assert!((0..1_000_000).any(|_| has_words()), "the shell has no words");
        let found = standing("a-job-of-this-test");
        let ranks: Vec<_> = found.iter().map(|it| (it.pid, it.rank, it.program.as_str())).collect();
        assert_eq!(ranks, [(process.0.id(), Some(3), "echo")]);
        assert_eq!(standing("another-job"), []);
        assert_eq!(standing_of(geteuid().as_raw() + 1, "a-job-of-this-test"), [], "it is another user's");
    }
}
