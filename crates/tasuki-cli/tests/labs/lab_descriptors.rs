//! A lab whose process has used up its file descriptors: it says so, can be asked and changed, works again
//! when there are some, and goes down.

use super::lab_clients::{ask, connection, signal};
use crate::support::{TestLab, eventually, ok, skip_without_root, tasuki, text};
use nix::sys::signal::Signal;
use std::{
    fs,
    os::fd::OwnedFd,
    path::Path,
    process::{Command, Output},
};

/// Numbers of the descriptors that a lab's process has open (proc(5)) once it waits for clients: while it
/// answers one it has fewer, and soon takes them again.
fn open(pid: &str) -> Vec<u64> {
    let waits = || fs::read_to_string(format!("/proc/{pid}/wchan")).expect("reads").contains("poll");
    eventually("the lab waits", waits);
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).expect("reads").flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Lets a lab's process open five descriptors more than it has, and returns how many these are in all.
fn limit(pid: &str) -> u64 {
    let few = open(pid).into_iter().max().unwrap_or(0) + 5;
    // The hard limit stays (prlimit(1)): not everybody who is root may raise it again.
    ok(Command::new("prlimit").args(["--pid", pid, &format!("--nofile={few}:")]));
    few
}

/// Uses up the descriptors that a lab's process may have: clients that connect and ask nothing hold one each.
fn use_up(lab: &str, pid: &str, limit: u64) -> Vec<OwnedFd> {
    let clients = (open(pid).len() as u64..limit).map(|_| connection(lab)).collect();
    eventually("all descriptors are used", || open(pid).len() as u64 == limit);
    clients
}

/// What a command says that must end soon; one that waits for ever fails.
fn ends(argv: &[&str]) -> Output {
    let mut limited = Command::new("timeout");
    limited.arg("60").arg(tasuki().get_program()).args(argv);
    let output = limited.output().expect("runs");
    assert_ne!(output.status.code(), Some(124), "{argv:?} waits for ever");
    output
}

#[test]
fn a_lab_without_descriptors_says_so_and_goes_down() {
    if skip_without_root("a_lab_without_descriptors_says_so_and_goes_down") {
        return;
    }
    let lab = TestLab::up("descriptors", &["--shape", "full:2"]);
    let name = lab.name.as_str();
    let pid = lab.status()["pid"].to_string();
    let few = limit(&pid);
    let clients = use_up(name, &pid, few);
    let exec = ["lab", "exec", "--lab", name, "n1", "--", "true"];
    // It answers as often as it is asked.
    for _ in 0..3 {
        let refused = ends(&exec);
        let said = text(&refused);
        assert!(!refused.status.success(), "{said}");
        for part in [&format!("may have {few} files open")[..], "ulimit -n", "tasuki lab down"] {
            assert!(said.contains(part), "{part:?} is missing: {said}");
        }
    }
    for argv in [&["lab", "status", name][..], &["lab", "cut", "--lab", name, "n1-n2"]] {
        let output = ends(argv);
        assert!(output.status.success(), "{argv:?}: {}", text(&output));
    }
    drop(clients);
    let output = ends(&exec);
    assert!(output.status.success(), "{}", text(&output));

    let _clients = use_up(name, &pid, few);
    let output = ends(&["lab", "down", name]);
    assert!(output.status.success(), "{}", text(&output));
    eventually("the lab's process is gone", || !Path::new(&format!("/proc/{pid}")).exists());
}

#[test]
fn descriptors_of_clients_that_have_gone_serve_those_behind_them() {
    if skip_without_root("descriptors_of_clients_that_have_gone_serve_those_behind_them") {
        return;
    }
    let lab = TestLab::up("behind", &["--shape", "full:2"]);
    let pid = lab.status()["pid"].to_string();
    let few = limit(&pid);
    let mut clients = use_up(&lab.name, &pid, few);
    let last = clients.pop().expect("a client");
    // The lab's process sees all of this at once.
    signal(&pid, Signal::SIGSTOP);
    drop(clients);
    ask(&last, &lab.name, &["touch", "/tmp/began"], "None");
    signal(&pid, Signal::SIGCONT);
    let began =
        || lab.exec("n1", &["test", "-e", "/tmp/began"]).status().is_ok_and(|status| status.success());
    eventually("the command to run", began);
}
