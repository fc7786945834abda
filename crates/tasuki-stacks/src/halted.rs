//! Processes that do not run: no debugger waits for them, and none leaves one of its own making.

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use procfs::process::{ProcState, Process};
use std::{fs, path::Path};

/// Why a process stands still already; `None`: it runs, sleeps or waits as usual.
pub(crate) fn why(pid: u32) -> Option<String> {
    let process = Process::new(i32::try_from(pid).ok()?).ok()?;
    match process.stat().ok()?.state().ok()? {
        ProcState::Stopped => return Some(format!("it is stopped; kill -CONT {pid} lets it go on")),
        ProcState::Tracing => return Some("a debugger has it".into()),
        ProcState::Zombie | ProcState::Dead => return Some("it has ended".into()),
        _ => {}
    }
    is_frozen(&process).then(|| "its job is held: `tasuki resume` lets it go on".into())
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
pub(crate) fn let_go(pid: u32) {
    if let Ok(pid) = i32::try_from(pid) {
        // It may have ended.
        let _ = kill(Pid::from_raw(pid), Signal::SIGCONT);
    }
}
