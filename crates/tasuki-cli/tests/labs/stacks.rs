//! `tasuki stacks`: the MPI function in which each rank of a job is, and the line that has called it.

use crate::support::{
    Background, TestLab, background, eventually,
    mpis::{build_for_debuggers, mpis, run_over},
    ok, skip_without_root, tasuki, text,
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};
use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

/// The line of a program of the launcher's tests that has this text.
pub fn line_of(program: &str, wanted: &str) -> u64 {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tasuki-launch/tests/programs").join(program);
    let source = fs::read_to_string(path).expect("the program");
    let at = source.lines().position(|line| line.contains(wanted)).expect("the line");
    at as u64 + 1
}

fn stacks(lab: &TestLab) -> Value {
    let output = ok(tasuki().args(["stacks", "--json", "--lab", &lab.name]));
    serde_json::from_str(&output).expect("JSON")
}

#[test]
fn ranks_are_where_their_program_says() {
    let test = "ranks_are_where_their_program_says";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("stacks", &["--shape", "full:2"]);
    let folder = tempfile::tempdir().expect("a folder");
    for mpi in mpis(test).iter().filter(|mpi| ["mpich-4.3", "openmpi-5.0"].contains(&mpi.name)) {
        let stuck = build_for_debuggers(mpi, "stuck.c", folder.path());
        let mut job = run_over("tasuki", &lab, mpi.name, 3, &stuck);
        let said = fs::File::create(folder.path().join("said")).expect("a file");
        job.stdin(Stdio::null()).stdout(said);
        let _job = Background(job.spawn().expect("starts"));
        let begun =
            || fs::read_to_string(folder.path().join("said")).expect("a file").matches("begun").count();
        eventually("three ranks to begin", || begun() == 3);
        // A rank may still be on its way from its line to the function of MPI, and its page tells of receives
        // from time to time. MPIs post receives of their own besides.
        let mut found = Value::Null;
        eventually("two ranks in MPI_Recv", || {
            found = stacks(&lab);
            let groups = found["groups"].as_array().expect("groups");
            groups.len() == 2
                && groups[0]["processes"] == 2
                && groups[0]["receives_posted"].as_u64() >= Some(2)
        });
        let (waiting, computing) = (&found["groups"][0], &found["groups"][1]);
        let line = line_of("stuck.c", "MPI_Recv(");
        let call = json!({"call": "MPI_Recv", "function": "waits", "source": format!("stuck.c:{line}")});
        assert_eq!((&waiting["place"], &waiting["ranks"]), (&call, &json!([0, 1])), "{found:#}");
        let place = &computing["place"];
        assert_eq!((&place["call"], &place["function"]), (&Value::Null, &json!("computes")), "{found:#}");
        assert_eq!(computing["ranks"], json!([2]));
        let last = waiting["path"].as_array().and_then(|path| path.first()).expect("a path");
        assert_eq!(last["line"], line_of("stuck.c", "waits(size - 1)"), "main is at its call");

        let one = ok(tasuki().args(["stacks", "--lab", &lab.name, "--ranks", "1-1", "--all"]));
        for part in ["MPI_Recv", "waits", "thread", "main at stuck.c:"] {
            assert!(one.contains(part), "{part} is missing in\n{one}");
        }
        assert!(!one.contains("computes"), "{one}");
    }
}

/// `stuck.c` on two ranks of a lab once both use Tasuki; `None`: its MPI is not installed.
pub fn two_stuck(test: &str, lab: &TestLab, folder: &Path) -> Option<Background> {
    let mpis = mpis(test);
    let mpi = mpis.iter().find(|mpi| mpi.name == "mpich-4.3")?;
    let stuck = build_for_debuggers(mpi, "stuck.c", folder);
    let mut job = run_over("tasuki", lab, mpi.name, 2, &stuck);
    let job = Background(job.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("starts"));
    eventually("two ranks", || processes(lab) == 2);
    Some(job)
}

#[test]
fn what_cannot_be_looked_at_is_said_with_what_helps() {
    let test = "what_cannot_be_looked_at_is_said_with_what_helps";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("nostacks", &["--shape", "full:2"]);
    let none = tasuki().args(["stacks", "--lab", &lab.name]).output().expect("runs");
    assert_eq!(none.status.code(), Some(1));
    assert!(text(&none).contains("tasuki stats"), "{}", text(&none));
    let folder = tempfile::tempdir().expect("a folder");
    let Some(_job) = two_stuck(test, &lab, folder.path()) else { return };
    // A program without gdb in its path finds none.
    let mut blind = Command::new(tasuki().get_program());
    blind.args(["stacks", "--lab", &lab.name]).env("PATH", "/nonexistent");
    let blind = blind.output().expect("runs");
    let said = text(&blind);
    assert_eq!(blind.status.code(), Some(1), "{said}");
    for part in ["n1: process", "n2: process", "apt-get install gdb"] {
        assert!(said.contains(part), "{part} is missing in {said}");
    }
}

/// How many processes of a lab use Tasuki.
pub fn processes(lab: &TestLab) -> usize {
    let pages = ok(tasuki().args(["stats", "--json", "--lab", &lab.name]));
    serde_json::from_str::<Vec<Value>>(&pages).expect("JSON").len()
}

#[test]
fn whoever_ends_it_leaves_ranks_running() {
    let test = "whoever_ends_it_leaves_ranks_running";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("endstacks", &["--shape", "full:2"]);
    let folder = tempfile::tempdir().expect("a folder");
    let Some(_job) = two_stuck(test, &lab, folder.path()) else { return };
    // Lines of /proc/PID/status (proc(5)) of all ranks that begin so.
    let lines = |name: &str| {
        let script = format!("for pid in $(pgrep stuck); do grep '^{name}' /proc/$pid/status || true; done");
        ["n1", "n2"].map(|host| lab.sh(host, &script)).concat()
    };
    for signal in [Signal::SIGINT, Signal::SIGKILL] {
        let mut command = tasuki();
        let mut stacks = background(command.args(["stacks", "--lab", &lab.name]));
        eventually("a debugger to have a rank", || {
            lines("TracerPid").lines().any(|line| !line.ends_with("\t0"))
                || stacks.0.try_wait().is_ok_and(|end| end.is_some())
        });
        // On a busy machine it may have ended before a debugger was seen.
        if stacks.0.try_wait().is_ok_and(|end| end.is_none()) {
            kill(Pid::from_raw(stacks.0.id() as i32), signal).expect("signals");
        }
        stacks.0.wait().expect("ends");
        eventually("the debuggers to end", || {
            ["n1", "n2"].iter().all(|host| lab.sh(host, "pgrep -c gdb || true").trim() == "0")
        });
        let states = lines("State");
        assert!(!states.contains("(stopped)") && states.lines().count() >= 2, "{states}");
    }
}
