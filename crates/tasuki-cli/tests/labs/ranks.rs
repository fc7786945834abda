//! `tasuki run --launcher none`: ranks of programs without an MPI, on all hosts of a lab, on machines that
//! ssh reaches, and on this machine alone.

use crate::support::{
    PYTHON, TestLab, background, eventually,
    jobs::{JOB_MARK, processes},
    machines::Machines,
    ok, skip_without_root, skip_without_torch, tasuki, text, unique,
};
use std::{
    io::{Read, Write},
    path::Path,
    process::{Command, Output, Stdio},
};

/// A program of sockets of its own: rank 0 hears from each of the others where the environment says, and
/// answers.
const MEET: &str = r#"
import os, socket
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
at = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank == 0:
    server = socket.create_server(at, backlog=size)
    peers = [server.accept()[0] for _ in range(size - 1)]
    names = sorted(peer.makefile().readline().strip() for peer in peers)
    for peer in peers:
        peer.sendall(b"met\n")
    print("met", *names)
else:
    while True:
        try:
            connection = socket.create_connection(at)
            break
        except ConnectionRefusedError:
            pass
    connection.sendall(f"{rank}@{socket.gethostname()}\n".encode())
    assert connection.makefile().readline() == "met\n"
"#;

fn run(lab: &TestLab, arguments: &[&str]) -> Command {
    let mut command = tasuki();
    command.args(["run", "--launcher", "none", "--lab", &lab.name]).args(arguments);
    command
}

fn said(output: &Output) -> Vec<String> {
    let mut lines: Vec<_> = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn ranks_of_any_program_meet_over_the_cables() {
    if skip_without_root("ranks_of_any_program_meet_over_the_cables") {
        return;
    }
    // The outer hosts of a line reach each other through the middle one.
    let lab = TestLab::up("ranks", &["--shape", "mesh:3x1"]);
    assert_eq!(ok(run(&lab, &["-n", "4", PYTHON, "-c", MEET]).stdin(Stdio::null())), "met 1@n2 2@n3 3@n1\n");

    let told = "echo $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $NODE_RANK $GLOO_SOCKET_IFNAME \
                $NCCL_SOCKET_IFNAME $MASTER_ADDR $MASTER_PORT $A";
    let output = run(&lab, &["-n", "4", "--label", "--port", "4007", "-x", "A=b", "sh", "-c", told]).output();
    let output = output.expect("runs");
    let first = lab.sh("n1", "ip -4 -o address show tasuki0 | grep -o 'inet [0-9.]*'");
    let first = first.trim().trim_start_matches("inet ");
    let line =
        |rank, local, of, node| format!("[{rank}] 4 {local} {of} {node} tasuki0 =tasuki0 {first} 4007 b");
    let expected = [line(0, 0, 2, 0), line(1, 0, 1, 1), line(2, 0, 1, 2), line(3, 1, 2, 0)];
    assert_eq!(said(&output), expected, "{}", text(&output));

    // Standard input of more than any buffer on the way goes to rank 0, and ends.
    let mut command = run(&lab, &["-n", "2", "sh", "-c", "wc -c"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
    child.stdin.take().expect("a pipe").write_all(&vec![b'x'; 3_000_000]).expect("is read");
    assert_eq!(said(&child.wait_with_output().expect("ends")), ["0", "3000000"]);
}

#[test]
fn whatever_fails_the_job_ends_on_all_hosts() {
    if skip_without_root("whatever_fails_the_job_ends_on_all_hosts") {
        return;
    }
    let lab = TestLab::up("ranks-end", &["--shape", "full:3"]);
    let lasting = "sleep 1000 & while :; do sleep 1000; done";
    let marked = |mark: &str, arguments: &[&str]| {
        let mut command = run(&lab, arguments);
        command.env(JOB_MARK, mark);
        command
    };
    for (then, code, how) in [("exit 7", 7, "ended with exit code 7"), ("kill -9 $$", 137, "was killed by")] {
        let mark = unique("rank");
        let script = format!("[ $RANK != 1 ] || {{ {then}; }}; {lasting}");
        let output = marked(&mark, &["-n", "3", "sh", "-c", &script]).stdin(Stdio::null()).output();
        let output = output.expect("runs");
        assert_eq!(output.status.code(), Some(code), "{}", text(&output));
        assert!(text(&output).contains(&format!("rank 1 on n2 {how}")), "{}", text(&output));
        eventually("the job's processes end", || processes(&mark).is_empty());
    }
    let mark = unique("late");
    let output = marked(&mark, &["-n", "3", "--timeout", "1s", "sh", "-c", lasting]).output().expect("runs");
    assert_eq!(output.status.code(), Some(124), "{}", text(&output));
    eventually("the job's processes end", || processes(&mark).is_empty());

    // Ctrl-C, and the end of the command without a word.
    for (signal, code) in [("INT", Some(130)), ("TERM", Some(143)), ("KILL", None)] {
        let mark = unique("signal");
        let script = format!("echo begun; {lasting}");
        let mut child = background(&mut marked(&mark, &["-n", "3", "sh", "-c", &script]));
        let mut begun = [0; 18];
        child.0.stdout.as_mut().expect("a pipe").read_exact(&mut begun).expect("three lines");
        ok(Command::new("kill").args(["-s", signal, &child.0.id().to_string()]));
        assert_eq!(child.0.wait().expect("ends").code(), code, "{signal}");
        eventually("the job's processes end", || processes(&mark).is_empty());
    }
}

#[test]
fn machines_over_ssh_and_this_one_alone_run_ranks_too() {
    let test = "machines_over_ssh_and_this_one_alone_run_ranks_too";
    let program = ["-n", "2", PYTHON, "-c", MEET];
    let mut alone = tasuki();
    alone.args(["run", "--launcher", "none"]).args(["-n", "3", "sh", "-c", "echo $MASTER_ADDR $RANK"]);
    if skip_without_root(test) {
        assert_eq!(said(&alone.output().expect("runs")), ["127.0.0.1 0", "127.0.0.1 1", "127.0.0.1 2"]);
        return;
    }
    let Some(machines) = Machines::up(test, "pair:1", 2) else { return };
    let over_ssh = |arguments: &[&str]| {
        let all = [&["run", "--launcher", "none", "--cluster", "cluster.toml"][..], arguments].concat();
        machines.tasuki(&all).stdin(Stdio::null()).output().expect("runs")
    };
    let bare = over_ssh(&program);
    assert!(!bare.status.success() && text(&bare).contains("not set up"), "{}", text(&bare));
    ok(&mut machines.tasuki(&["apply", "cluster.toml"]));
    let output = over_ssh(&program);
    assert_eq!(said(&output), ["met 1@n2"], "{}", text(&output));
    let absent = over_ssh(&["-n", "2", "./absent"]);
    assert!(text(&absent).contains("there is no program ./absent"), "{}", text(&absent));
    // A folder that the first host has for itself.
    let only_here = "mkdir -p /run/only && cp /bin/echo /run/only/echo";
    machines.lab.sh("n1", only_here);
    let lacking = over_ssh(&["-n", "2", "/run/only/echo"]);
    assert!(text(&lacking).contains("n2: there is no /run/only/echo"), "{}", text(&lacking));
}

/// All hosts of a line sum tensors by Gloo, as a user's program would: `init_method="env://"`.
#[test]
fn torch_distributed_needs_no_torchrun() {
    if skip_without_torch("torch_distributed_needs_no_torchrun") {
        return;
    }
    let lab = TestLab::up("ranks-torch", &["--shape", "mesh:3x1"]);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/all_reduce.py");
    let file = file.to_str().expect("text");
    let said = ok(run(&lab, &["-n", "3", "-x", "OMP_NUM_THREADS=1", PYTHON, file]).stdin(Stdio::null()));
    assert_eq!(said.lines().count(), 4, "{said}");
}
