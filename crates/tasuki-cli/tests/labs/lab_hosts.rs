//! Hosts of a lab: what each has of its own, and how commands run in them.

use crate::support::{TestLab, background, eventually, marked, ok, skip_without_root, tasuki, text};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{fs, io::Write, process::Stdio};

#[test]
fn a_host_has_a_name_processes_and_folders_of_its_own() {
    if skip_without_root("a_host_has_a_name_processes_and_folders_of_its_own") {
        return;
    }
    let lab = TestLab::up("own", &["--shape", "full:2"]);
    assert_eq!(lab.run("n1", &["hostname"]).trim(), "n1");
    assert_eq!(lab.run("n2", &["hostname"]).trim(), "n2");
    for folder in ["/tmp", "/dev/shm", "/run"] {
        let file = format!("{folder}/only-{}", lab.name);
        lab.run("n1", &["touch", &file]);
        assert!(!fs::exists(&file).expect("look"), "{file} is on the machine");
        assert!(!lab.exec("n2", &["test", "-e", &file]).status().expect("runs").success());
        assert!(lab.exec("n1", &["test", "-e", &file]).status().expect("runs").success());
    }
    // There are process 1 and two of the test's own, and no others.
    let processes = lab.sh("n1", "ls -d /proc/[0-9]* | wc -l");
    assert!(processes.trim().parse::<u32>().expect("a number") <= 5, "{processes}");
    // System V shared memory is per IPC namespace: a segment of n1 is not seen in n2.
    lab.run("n1", &["ipcmk", "-M", "4096"]);
    let segments = |host: &str| lab.sh(host, "tail -n +2 /proc/sysvipc/shm | wc -l").trim().to_owned();
    assert_eq!((segments("n1").as_str(), segments("n2").as_str()), ("1", "0"));
}

#[test]
fn a_command_has_its_own_exit_code_streams_and_signals() {
    if skip_without_root("a_command_has_its_own_exit_code_streams_and_signals") {
        return;
    }
    let lab = TestLab::up("exec", &["--shape", "full:2"]);
    let code = |script: &str| lab.exec("n1", &["sh", "-c", script]).status().expect("runs").code();
    assert_eq!(code("exit 0"), Some(0));
    assert_eq!(code("exit 7"), Some(7));
    assert_eq!(code("kill -9 $$"), Some(128 + 9));

    let mut cat = lab.exec("n2", &["sh", "-c", "cat; echo to-stderr >&2"]);
    let cat = cat.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut cat = cat.expect("starts");
    let mut input = cat.stdin.take().expect("piped");
    input.write_all(b"through the host").expect("writes");
    drop(input);
    let output = cat.wait_with_output().expect("ends");
    assert_eq!(output.stdout, b"through the host");
    assert_eq!(output.stderr, b"to-stderr\n");

    // SIGTERM to the client is passed on to the command, whose own exit code counts.
    let script = "trap 'echo caught; exit 5' TERM; echo ready; while :; do sleep 0.01; done";
    let mut child = background(&mut lab.exec("n1", &["sh", "-c", script]));
    let mut ready = [0u8; 6];
    let stdout = child.0.stdout.as_mut().expect("piped");
    std::io::Read::read_exact(stdout, &mut ready).expect("reads");
    kill(Pid::from_raw(child.0.id() as i32), Signal::SIGTERM).expect("signals");
    assert_eq!(child.0.wait().expect("ends").code(), Some(5));
}

#[test]
fn errors_name_what_is_wrong() {
    if skip_without_root("errors_name_what_is_wrong") {
        return;
    }
    let lab = TestLab::up("errors", &["--shape", "full:3"]);
    let refused = |command: &mut std::process::Command, argv: &[&str]| {
        let output = command.output().expect("runs");
        let text = text(&output);
        assert!(!output.status.success(), "{text}");
        for word in argv {
            assert!(text.contains(word), "{word:?} is not in: {text}");
        }
    };
    refused(&mut lab.exec("n9", &["true"]), &["n9", "n1, n2, n3"]);
    refused(&mut lab.exec("n1", &["no-such-program"]), &["no-such-program", "No such file"]);
    refused(tasuki().args(["lab", "up", "--shape", "full:2", "--name", &lab.name]), &["already up", "down"]);
    refused(tasuki().args(["lab", "up", "--shape", "full:2", "--name", "a/b"]), &["a/b"]);
    refused(tasuki().args(["lab", "down", "no-such-lab"]), &["no-such-lab", &lab.name]);
    refused(tasuki().args(["lab", "cut", "--lab", &lab.name, "n1-n7"]), &["n1-n7"]);
    refused(tasuki().args(["lab", "cut", "--lab", &lab.name, "n1-n2", "--from", "n3"]), &["n3", "n1:eth1"]);
    refused(tasuki().args(["lab", "loss", "--lab", &lab.name, "all", "120%"]), &["100%"]);
}

#[test]
fn folders_under_tmp_are_shared_when_a_command_needs_them() {
    if skip_without_root("folders_under_tmp_are_shared_when_a_command_needs_them") {
        return;
    }
    let lab = TestLab::up("share", &["--shape", "full:2"]);
    let folder = tempfile::tempdir_in("/tmp").expect("a folder");
    let script = folder.path().join("program");
    fs::write(&script, "#!/bin/sh\necho from-the-machine > result\n").expect("writes");
    ok(std::process::Command::new("chmod").arg("+x").arg(&script));
    // The folder is shared as the working directory, and the program as itself.
    ok(lab.exec("n2", &["./program"]).current_dir(folder.path()));
    assert_eq!(fs::read_to_string(folder.path().join("result")).expect("a result"), "from-the-machine\n");
    ok(lab.exec("n1", &[script.to_str().expect("UTF-8")]).current_dir("/"));
}

#[test]
fn a_job_ends_everywhere_with_its_root() {
    if skip_without_root("a_job_ends_everywhere_with_its_root") {
        return;
    }
    let lab = TestLab::up("job", &["--shape", "full:3"]);
    let before = marked(&lab.name).len();
    // Daemons on two hosts, started as MPI launchers do: their sessions end and they go on.
    let script = "for h in n2 n3; do /run/tasuki/bin/tasuki-agent $h 'setsid sleep 1000 </dev/null \
                  >/dev/null 2>&1 & echo started'; done; setsid sleep 1000 & ";
    let job = |script: &str| {
        let mut command = tasuki();
        command.args(["lab", "exec", "--lab", &lab.name, "--job", "n1", "--", "sh", "-c", script]);
        command.env(crate::support::MARK, &lab.name);
        command
    };
    assert_eq!(ok(&mut job(script)).matches("started").count(), 2);
    // There is no waiting here: when the client returns, they are gone.
    assert_eq!(marked(&lab.name).len(), before);
    assert_eq!(lab.sh("n2", "cat /proc/[0-9]*/comm | grep -c sleep || true").trim(), "0");

    // They are also gone when the client is killed.
    let mut child = background(&mut job(&format!("{script} wait; sleep 1000")));
    let stdout = child.0.stdout.as_mut().expect("piped");
    let mut started = [0u8; 16];
    std::io::Read::read_exact(stdout, &mut started).expect("reads");
    child.0.kill().expect("kills");
    let sleeping = |host: &str| lab.sh(host, "cat /proc/[0-9]*/comm | grep -c sleep || true").trim() != "0";
    eventually("the job's processes to end", || !["n1", "n2", "n3"].into_iter().any(sleeping));
    assert_eq!(lab.status()["hosts"][1]["processes"], 0);
}
