//! Processes of this host, from /proc.

use crate::JOB_ID;
use std::{collections::HashMap, fs};

/// A process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// Its state: `R`, `S`, `T`, `Z` and so on (proc(5)).
    pub state: char,
}

/// All descendants of a process.
pub fn descendants(of: i32) -> Vec<Process> {
    let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
    for pid in all() {
        if let Some((parent, process)) = stat(pid) {
            children.entry(parent).or_default().push(process);
        }
    }
    let mut found = Vec::new();
    let mut open = vec![of];
    while let Some(parent) = open.pop() {
        for process in children.remove(&parent).unwrap_or_default() {
            open.push(process.pid);
            found.push(process);
        }
    }
    found
}

/// The processes of this host that are of a job by the variable [`JOB_ID`]. Zombies have no environment.
pub fn of_job(id: &str) -> Vec<i32> {
    all().into_iter().filter(|pid| is_of_job(*pid, id)).collect()
}

/// Whether a process is one of this host, and of a job by the variable [`JOB_ID`].
pub fn is_of_job(pid: i32, id: &str) -> bool {
    let wanted = format!("{JOB_ID}={id}");
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|&byte| byte == 0).any(|entry| entry == wanted.as_bytes()) && is_of_this_host(pid)
}

/// Whether a process is of this host. What shares the list of processes with it, as containers and hosts of
/// labs may, has a network of its own, and jobs of the same names.
pub fn is_of_this_host(pid: i32) -> bool {
    let network = |of: &str| fs::read_link(format!("/proc/{of}/ns/net")).ok();
    network(&pid.to_string()) == network("thread-self")
}

fn all() -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// A process in words: its number, its name, and what it does if it does not even end when it is killed.
pub fn describe(pid: i32) -> String {
    let text = fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let parts = text.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')'));
    let Some((name, rest)) = parts else { return format!("process {pid}") };
    let name: String = name.chars().filter(|c| !c.is_control()).collect();
    let state = match rest.trim_start().chars().next() {
        Some('D') => "sleeps in the kernel".to_owned(),
        state => format!("is in state {}", state.unwrap_or('?')),
    };
    format!("process {pid} ({name}) {state}")
}

/// The parent of a process, and the process.
fn stat(pid: i32) -> Option<(i32, Process)> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    // The command's name, in parentheses, may itself contain spaces and parentheses (proc(5)).
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((fields.next()?.parse().ok()?, Process { pid, state }))
}
