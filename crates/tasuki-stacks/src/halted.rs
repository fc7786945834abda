//! Processes that do not run: no debugger waits for them, and none leaves one of its own making.

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use procfs::process::{ProcState, Process, Status};
use std::{fs, path::Path};

/// Why a process stands still already; `None`: it runs, sleeps or waits as usual.
pub(crate) fn why(pid: u32) -> Option<String> {
    match is_stopped(pid) {
        true => Some(format!("it is stopped; kill -CONT {pid} lets it go on")),
        false => obstacle(pid),
    }
}

/// Whether a signal has stopped a process. A debugger can look at it all the same.
pub fn is_stopped(pid: u32) -> bool {
    state(pid).is_some_and(|(_, state)| state == ProcState::Stopped)
}

/// Whether a process has ended, even if nobody has taken note of it yet.
pub fn has_ended(pid: u32) -> bool {
    state(pid).is_none_or(|(_, state)| matches!(state, ProcState::Zombie | ProcState::Dead))
}

/// Why no debugger can have a process; `None`: nothing is known to be in the way.
pub fn obstacle(pid: u32) -> Option<String> {
    let Some((process, state)) = state(pid) else { return Some("it has ended".into()) };
    if matches!(state, ProcState::Zombie | ProcState::Dead) {
        return Some("it has ended".into());
    }
    if let Some(tracer) = tracer(&process) {
        return Some(format!("a debugger has it already: {tracer}"));
    }
    is_frozen(&process).then(|| "its job is held: `tasuki resume` lets it go on".into())
}

fn state(pid: u32) -> Option<(Process, ProcState)> {
    let process = Process::new(i32::try_from(pid).ok()?).ok()?;
    let state = process.stat().ok()?.state().ok()?;
    Some((process, state))
}

/// The debugger of a process, with its number and its program's name.
fn tracer(process: &Process) -> Option<String> {
    let Status { tracerpid, .. } = process.status().ok()?;
    if tracerpid == 0 {
        return None;
    }
    let name = Process::new(tracerpid).and_then(|tracer| tracer.stat()).map(|stat| stat.comm);
    Some(format!("process {tracerpid} ({})", name.as_deref().unwrap_or("of another user")))
}

/// Whether its control group is frozen (cgroups(7), `cgroup.events`). A debugger would wait for ever.
fn is_frozen(process: &Process) -> bool {
    let groups = process.cgroups().map(|groups| groups.0).unwrap_or_default();
    let unified = groups.iter().find(|group| group.hierarchy == 0);
    let folder =
        unified.map(|group| Path::new("/sys/fs/cgroup").join(group.pathname.trim_start_matches('/')));
    let events = folder.and_then(|folder| fs::read_to_string(folder.join("cgroup.events")).ok());
    events.is_some_and(|events| events.lines().any(|line| line == "frozen 1"))
}

/// Lets a process go on that a debugger may have stopped and not continued, because it was ended on the way:
/// ptrace(2) stops with SIGSTOP, which stays behind if nobody has waited for it. A process that runs only
/// notices this if it has a handler for SIGCONT.
pub fn let_go(pid: u32) {
    if let Ok(pid) = i32::try_from(pid) {
        // It may have ended.
        let _ = kill(Pid::from_raw(pid), Signal::SIGCONT);
    }
}
