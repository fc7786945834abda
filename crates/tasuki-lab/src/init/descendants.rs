//! Finding and ending everything that a session's command has started.

use nix::{
    sys::{
        signal::{Signal, kill},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};
use std::{collections::HashMap, fs, io};

/// Ends all descendants of this process. Those that are started meanwhile are found in the next round.
pub fn end_descendants() {
    const ROUNDS: usize = 500;
    for _ in 0..ROUNDS {
        reap_all();
        let alive = descendants();
        if alive.as_ref().is_some_and(Vec::is_empty) {
            return;
        }
        for process in alive.into_iter().flatten() {
            let _ = kill(process, Signal::SIGKILL);
        }
        // This is only the pause between two rounds: it does not assume how long anything takes.
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// Reaps all children that have ended.
fn reap_all() {
    let reap = || waitpid(None, Some(WaitPidFlag::WNOHANG));
    while reap().is_ok_and(|status| status != WaitStatus::StillAlive) {}
}

/// All descendants of this process; `None` if the kernel does not say now which there are, because the
/// machine is out of descriptors or memory.
pub fn descendants() -> Option<Vec<Pid>> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for (pid, parent) in processes().ok()? {
        children.entry(parent).or_default().push(pid);
    }
    let mut found = Vec::new();
    let mut open = vec![std::process::id() as i32];
    while let Some(parent) = open.pop() {
        for &child in children.get(&parent).into_iter().flatten() {
            found.push(Pid::from_raw(child));
            open.push(child);
        }
    }
    Some(found)
}

/// Pairs of process and parent, for every process in the host.
fn processes() -> io::Result<Vec<(i32, i32)>> {
    let mut pairs = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        match fs::read_to_string(format!("/proc/{pid}/stat")) {
            Ok(stat) => pairs.extend(parent(&stat).map(|parent| (pid, parent))),
            // It has ended since the folder was read.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(pairs)
}

/// The parent in the text of `/proc/PID/stat` (proc(5)).
fn parent(stat: &str) -> Option<i32> {
    // The command's name, in parentheses, may itself contain spaces and parentheses.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}
