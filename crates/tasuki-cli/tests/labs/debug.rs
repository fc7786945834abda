//! `tasuki debug` and `tasuki run --debug`: gdb on ranks where they run, asked by one command for all.

use crate::{
    stacks::{line_of, processes, two_stuck},
    support::{
        Background, TestLab, background, eventually,
        mpis::{build_for_debuggers, mpis, run_over},
        ok, skip_without_root, tasuki, text,
    },
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};
use std::{
    io::Write,
    process::{Command, Output, Stdio},
};

/// `tasuki debug` in a lab.
fn debug(lab: &TestLab, arguments: &[&str]) -> Command {
    let mut command = tasuki();
    command.args(["debug", "--lab", &lab.name]).args(arguments).stdin(Stdio::null());
    command
}

fn run(lab: &TestLab, arguments: &[&str]) -> Output {
    debug(lab, arguments).output().expect("runs")
}

/// A line of /proc/PID/status (proc(5)) of every rank of `stuck.c`.
fn lines(lab: &TestLab, name: &str) -> String {
    let script = format!("for pid in $(pgrep stuck); do grep '^{name}' /proc/$pid/status || true; done");
    ["n1", "n2"].map(|host| lab.sh(host, &script)).concat()
}

/// Waits until no rank has a debugger and none stands still, and demands that there are so many.
fn all_run(lab: &TestLab, count: usize) {
    eventually("ranks to go on", || {
        let (tracers, states) = (lines(lab, "TracerPid"), lines(lab, "State"));
        tracers.lines().filter(|line| line.ends_with("\t0")).count() == count
            && states.lines().filter(|line| !line.contains("stop")).count() == count
    });
}

#[test]
fn all_ranks_are_asked_at_once_and_go_on() {
    let test = "all_ranks_are_asked_at_once_and_go_on";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("debug", &["--shape", "full:2"]);
    let folder = tempfile::tempdir().expect("a folder");
    let mpis = mpis(test);
    let Some(mpi) = mpis.iter().find(|mpi| mpi.name == "mpich-4.3") else { return };
    let stuck = build_for_debuggers(mpi, "stuck.c", folder.path());
    let mut job = run_over("tasuki", &lab, mpi.name, 3, &stuck);
    let _job = Background(job.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("starts"));
    eventually("three ranks", || processes(&lab) == 3);
    let frames = || {
        let commands = ["--command", "frame function main", "--command", "print size", "--json"];
        let output = ok(&mut debug(&lab, &commands));
        serde_json::from_str::<Value>(&output).expect("JSON")
    };
    let main = |line: &str| format!("{}\t", line_of("stuck.c", line));
    let mut found = Value::Null;
    eventually("ranks to be where they stay", || {
        found = frames();
        let merged = found[0]["merged"].as_array().expect("answers");
        let of = |ranks: Value, line: &str| {
            let is_it = |group: &Value| {
                group["ranks"] == ranks
                    && group["text"].as_str().is_some_and(|text| text.contains(&main(line)))
            };
            merged.iter().any(is_it)
        };
        of(json!([0, 1]), "waits(size - 1)") && of(json!([2]), "computes();")
    });
    let sizes: Vec<_> = found[1]["merged"].as_array().expect("answers").iter().collect();
    assert_eq!(sizes, [&json!({"ranks": [0, 1, 2], "text": "$1 = 3\n"})], "{found:#}");
    all_run(&lab, 3);

    // What is typed, where there is no terminal: some ranks, all, a rank that there is not, and an end.
    let mut prompt = debug(&lab, &[]);
    let mut prompt = prompt.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
    let typed = "1: frame function waits\n1: print from\n2:\nprint sum > 0\nrun\n7: bt\nquit\n";
    prompt.stdin.take().expect("a pipe").write_all(typed.as_bytes()).expect("it reads");
    let said = prompt.wait_with_output().expect("ends");
    let said = text(&said);
    for part in ["[1] $1 = 2\n", "[2] $1 = 1\n"] {
        assert!(said.contains(part), "{part} is missing in {said}");
    }
    assert!(!said.contains("[0"), "{said}");
    all_run(&lab, 3);

    let waiting = text(&run(&lab, &["--waiting", "--command", "print 7"]));
    assert!(waiting.contains("[0-1] $1 = 7\n"), "{waiting}");
    all_run(&lab, 3);
}

#[test]
fn however_it_ends_ranks_go_on() {
    let test = "however_it_ends_ranks_go_on";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("enddebug", &["--shape", "full:2"]);
    let folder = tempfile::tempdir().expect("a folder");
    let Some(_job) = two_stuck(test, &lab, folder.path()) else { return };
    // Ranks stand still, or run with a breakpoint planted that none reaches at first, when it is ended.
    let stands = ["--command", "shell sleep 100"];
    let runs = ["--command", "break puts", "--command", "continue"];
    for (signal, commands) in
        [(Signal::SIGKILL, &stands[..]), (Signal::SIGKILL, &runs[..]), (Signal::SIGTERM, &runs[..])]
    {
        let mut debugger = background(&mut debug(&lab, commands));
        eventually("both ranks to have a debugger", || {
            let tracers = lines(&lab, "TracerPid");
            tracers.lines().filter(|line| !line.ends_with("\t0")).count() == 2
                || debugger.0.try_wait().is_ok_and(|end| end.is_some())
        });
        let second = run(&lab, &["--ranks", "0", "--command", "bt"]);
        assert!(text(&second).contains("a debugger has it already: process"), "{}", text(&second));
        kill(Pid::from_raw(debugger.0.id() as i32), signal).expect("signals");
        debugger.0.wait().expect("ends");
        all_run(&lab, 2);
        eventually("the debuggers to end", || {
            ["n1", "n2"].iter().all(|host| lab.sh(host, "pgrep -c gdb || true").trim() == "0")
        });
    }
    // A limit stops what runs for too long.
    let late = run(&lab, &["--limit", "1s", "--command", "continue", "--command", "print 7"]);
    let said = text(&late);
    assert!(said.contains("SIGINT") && said.contains("[0-1] $1 = 7"), "{said}");
    all_run(&lab, 2);
}

#[test]
fn ranks_that_a_signal_has_stopped_or_ended_are_known() {
    let test = "ranks_that_a_signal_has_stopped_or_ended_are_known";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("sigdebug", &["--shape", "full:2"]);
    let none = run(&lab, &["--command", "bt"]);
    assert!(none.status.code() == Some(1) && text(&none).contains("tasuki stats"), "{}", text(&none));
    let folder = tempfile::tempdir().expect("a folder");
    let Some(_job) = two_stuck(test, &lab, folder.path()) else { return };
    let blind = debug(&lab, &["--command", "bt"]).env("PATH", "/nonexistent").output().expect("runs");
    for part in ["n1: process", "n2: process", "apt-get install gdb"] {
        assert!(text(&blind).contains(part), "{part} is missing in {}", text(&blind));
    }
    lab.sh("n2", "pkill -STOP stuck");
    // A process that waits for a processor stops when it has one.
    eventually("it stands still", || lines(&lab, "State").contains("(stopped)"));
    let stopped = run(&lab, &["--stopped", "--command", "print 7"]);
    assert!(stopped.status.success() && text(&stopped).contains("[1] $1 = 7"), "{}", text(&stopped));
    assert!(lines(&lab, "State").contains("(stopped)"), "it is left as it was found");
    lab.sh("n2", "pkill -CONT stuck");
    let ended = background(&mut debug(&lab, &["--ranks", "1", "--command", "continue"]));
    eventually("a debugger to have it", || {
        lines(&lab, "TracerPid").lines().any(|line| !line.ends_with("\t0"))
    });
    lab.sh("n2", "pkill -KILL stuck");
    let said = text(&ended_output(ended));
    assert!(said.contains("ended by SIGKILL") || said.contains("has ended"), "{said}");
}

fn ended_output(mut process: Background) -> Output {
    let status = process.0.wait().expect("ends");
    let mut all = (String::new(), String::new());
    let (stdout, stderr) = (process.0.stdout.take(), process.0.stderr.take());
    std::io::Read::read_to_string(&mut stdout.expect("a pipe"), &mut all.0).expect("reads");
    std::io::Read::read_to_string(&mut stderr.expect("a pipe"), &mut all.1).expect("reads");
    Output { status, stdout: all.0.into_bytes(), stderr: all.1.into_bytes() }
}

#[test]
fn jobs_of_every_mpi_start_in_debuggers() {
    let test = "jobs_of_every_mpi_start_in_debuggers";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("rundebug", &["--shape", "full:2"]);
    let folder = tempfile::tempdir().expect("a folder");
    for mpi in mpis(test) {
        let hello = build_for_debuggers(&mpi, "hello.c", folder.path());
        for transport in ["tasuki", "tcp"] {
            let mut run = run_over(transport, &lab, mpi.name, 2, std::path::Path::new("--debug"));
            run.args(["--command", "info symbol $pc", "--command", "up", "--command", "print 7"]);
            let output = run.arg(&hello).stdin(Stdio::null()).output().expect("runs");
            let said = text(&output);
            assert!(output.status.success(), "{} {transport}: {said}", mpi.name);
            for part in ["MPI_Init", "[0-1] $1 = 7", "in main", "ring ok"] {
                assert!(said.contains(part), "{} {transport}: {part} is missing in {said}", mpi.name);
            }
        }
    }
}
