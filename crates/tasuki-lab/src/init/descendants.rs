//! Finding and ending everything that a session's command has started.

use nix::{
    sys::{
        signal::{Signal, kill},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};
use std::{collections::HashMap, fs};

/// Ends all descendants of this process. Those that are started meanwhile are found in the next round.
pub fn end_descendants() {
    const ROUNDS: usize = 500;
    for _ in 0..ROUNDS {
        reap_all();
        let alive = descendants();
        if alive.is_empty() {
            return;
        }
        for process in alive {
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

/// All descendants of this process.
pub fn descendants() -> Vec<Pid> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for (pid, parent) in processes() {
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
    found
}

/// Pairs of process and parent, for every process in the host.
fn processes() -> Vec<(i32, i32)> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let parent = |pid: i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The command's name, in parentheses, may itself contain spaces and parentheses (proc(5)).
        let (_, rest) = stat.rsplit_once(')')?;
        Some((pid, rest.split_whitespace().nth(1)?.parse().ok()?))
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(parent)
        .collect()
}
