//! Clients of a lab that go away before they have their answer.

use crate::support::{MARK, TestLab, eventually, ok, skip_without_root, tasuki};
use nix::{
    sys::{
        memfd::{MFdFlags, memfd_create},
        signal::{Signal, kill},
        socket::{
            AddressFamily, ControlMessage, MsgFlags, SockFlag, SockType, UnixAddr, connect, sendmsg, socket,
        },
    },
    unistd::Pid,
};
use std::{
    ffi::OsString,
    fs::File,
    io::{IoSlice, Read, Seek, Write},
    os::fd::{AsRawFd, OwnedFd},
    process::Command,
};

/// A connection to a lab.
pub fn connection(lab: &str) -> OwnedFd {
    let client = socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None);
    let client = client.expect("a socket");
    let address = UnixAddr::new_abstract(format!("tasuki-lab/{lab}").as_bytes()).expect("a name");
    connect(client.as_raw_fd(), &address).expect("connects");
    client
}

/// Asks a lab to run a command in `n1`, as the root of a job or in none.
pub fn ask(client: &OwnedFd, lab: &str, argv: &[&str], job: &str) {
    let strings = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    let env = vec![(OsString::from(MARK), OsString::from(lab)), ("PATH".into(), "/usr/bin:/bin".into())];
    let request = serde_json::json!({ "Exec": {
        "host": "n1", "argv": strings(argv), "env": env, "cwd": "/", "share": [], "job": job,
        "terminal": false,
    }});
    let mut text = File::from(memfd_create(c"request", MFdFlags::MFD_CLOEXEC).expect("a file"));
    text.write_all(request.to_string().as_bytes()).expect("writes");
    let null = File::options().read(true).write(true).open("/dev/null").expect("opens");
    let descriptors = [&text, &null, &null, &null].map(AsRawFd::as_raw_fd);
    let control = [ControlMessage::ScmRights(&descriptors)];
    let payload = [IoSlice::new(b"m")];
    sendmsg::<()>(client.as_raw_fd(), &payload, &control, MsgFlags::empty(), None).expect("sends");
}

/// Sends a lab's process a signal.
pub fn signal(pid: &str, signal: Signal) {
    kill(Pid::from_raw(pid.parse().expect("a number")), signal).expect("signals");
}

/// How many processes descend from this one: all that a lab has begun, if it is the lab's.
fn descendants(pid: &str) -> usize {
    let table = ok(Command::new("ps").args(["-e", "-o", "pid=,ppid="]));
    let pairs: Vec<(&str, &str)> = table.lines().filter_map(|line| line.trim().split_once(' ')).collect();
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(pairs.iter().filter(|(_, its)| its.trim() == parent).map(|(pid, _)| pid));
        next += 1;
    }
    found.len() - 1
}

#[test]
fn commands_of_clients_that_go_at_once_end() {
    if skip_without_root("commands_of_clients_that_go_at_once_end") {
        return;
    }
    let lab = TestLab::up("gone", &["--shape", "full:2"]);
    let pid = lab.status()["pid"].to_string();
    let before = descendants(&pid);
    for job in ["None", "Root"] {
        for _ in 0..8 {
            // It goes before the lab can say that the command runs.
            ask(&connection(&lab.name), &lab.name, &["sh", "-c", "setsid sleep 1000 & sleep 1000"], job);
        }
        // The lab serves its clients one after the other: it has begun all commands when it answers this.
        assert_eq!(lab.status()["pid"].to_string(), pid);
        eventually("the commands to end", || descendants(&pid) == before);
    }
}

#[test]
fn a_lab_that_is_stopped_is_said_to_be() {
    if skip_without_root("a_lab_that_is_stopped_is_said_to_be") {
        return;
    }
    let lab = TestLab::up("halted", &["--shape", "full:2"]);
    let pid = lab.status()["pid"].to_string();
    signal(&pid, Signal::SIGSTOP);
    let name = lab.name.as_str();
    let commands: [&[&str]; 4] = [
        &["lab", "status", name],
        &["lab", "exec", "--lab", name, "n1", "--", "true"],
        &["lab", "cut", "--lab", name, "n1-n2"],
        &["lab", "down", name],
    ];
    // Files and no pipes: the request of `exec` has its streams, and the lab has not taken it yet.
    let said = commands.map(|argv| {
        let mut file = tempfile::tempfile().expect("a file");
        let stream = || file.try_clone().expect("a copy");
        tasuki().args(argv).stdout(stream()).stderr(stream()).status().expect("runs");
        let mut text = String::new();
        file.rewind().expect("rewinds");
        file.read_to_string(&mut text).expect("UTF-8");
        text
    });
    signal(&pid, Signal::SIGCONT);
    for (argv, said) in commands.iter().zip(said) {
        assert!(said.contains(&format!("kill -CONT {pid}")), "{argv:?}: {said}");
    }
    eventually("the lab to end, as it was told", || {
        tasuki().args(["lab", "status", name]).output().is_ok_and(|output| !output.status.success())
    });
}
