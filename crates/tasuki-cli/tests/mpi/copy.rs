//! `tasuki run --copy`: a program, its library and its input that lie in a folder of the first host alone run
//! on all hosts, and nothing of them is left there.

use crate::support::{
    TestLab, background, eventually,
    machines::{Machines, TASUKI},
    mpis::{Mpi, mpis, peers},
    ok, skip_without_root, tasuki, text,
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{path::Path, process::Command};

/// The folder of the first host that other hosts do not see.
const OWN: &str = "/tmp/own";
/// What jobs have below /tmp.
const LEFT: &str = "ls -d /tmp/tasuki-* 2>/dev/null | sed 's/[0-9a-f]\\{32\\}/JOB/'";

/// Builds the program with its library, into a folder of the host that no other host sees.
fn build(lab: &TestLab, host: &str, mpi: &Mpi) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tasuki-launch/tests/programs/copied.c");
    let compile = |argv: &[&str]| ok(Command::new(&mpi.mpicc).args(argv).arg(&source).current_dir(&folder));
    compile(&["-DLIBRARY", "-shared", "-fPIC", "-o", "libword.so"]);
    let mut link = Command::new(&mpi.mpicc);
    link.args(["-o", "copied"]).arg(&source).args(["-L.", "-lword"]).current_dir(&folder);
    ok(&mut link);
    let at = folder.path().display();
    lab.sh(
        host,
        &format!(
            "rm -rf {OWN}; mkdir -p {OWN}/lib {OWN}/data && cp {at}/copied {OWN}/ && cp {at}/libword.so \
             {OWN}/lib/ && echo 14 > {OWN}/data/input"
        ),
    );
}

/// `tasuki run` on the first host, in that folder.
fn run(machines: &Machines, mpi: &Mpi, options: &[&str], argv: &[&str]) -> Command {
    let file = machines.sshd.path().join("cluster.toml").display().to_string();
    let common = ["run", "--cluster", &file, "--mpi", mpi.name, "-n", "3"];
    let words = [&common[..], options, &["./copied"], argv].concat();
    let line: Vec<_> = words.iter().map(|word| tasuki_process::quote(word.as_ref())).collect();
    let script = format!("cd {OWN} && export LD_LIBRARY_PATH={OWN}/lib && exec {TASUKI} {}", line.join(" "));
    let mut command = machines.sshd.command(&machines.lab, "n1", &["sh", "-c", &script], "/run/cache");
    command.env("TASUKI_PROVIDER", machines.sshd.path().join("provider"));
    command
}

fn left(lab: &TestLab) -> Vec<String> {
    ["n1", "n2", "n3"].iter().map(|host| lab.sh(host, LEFT)).collect()
}

/// Kills `tasuki run` on its host.
const KILL: &str = r#"for p in /proc/[0-9]*; do case "$(tr '\0' ' ' < $p/cmdline)" in
    /run/tasuki/bin/tasuki\ run\ *) kill -9 ${p#/proc/};; esac; done"#;
const NOTHING: [&str; 3] = ["", "", ""];

#[test]
fn a_program_of_one_host_runs_on_all_and_leaves_nothing() {
    let test = "a_program_of_one_host_runs_on_all_and_leaves_nothing";
    if skip_without_root(test) {
        return;
    }
    let all = mpis(test);
    let Some(machines) = Machines::up(test, "full:3", 3) else { return };
    ok(&mut machines.tasuki(&["apply", "cluster.toml", "--no-watch", "--remote", TASUKI]));
    let lab = &machines.lab;
    for mpi in &all {
        build(lab, "n1", mpi);
        // Without it the error names hosts, path and remedy, and the launcher is not started.
        let output = run(&machines, mpi, &[], &[]).output().expect("runs");
        let said = text(&output);
        for words in ["n2: there is no /tmp/own/copied", "n3: there is no /tmp/own/copied", "--copy"] {
            assert!(output.status.code() == Some(1) && said.contains(words), "{}: {said}", mpi.name);
        }
        // What a crash has left on a host is gone with the next start.
        lab.sh("n2", "mkdir -m 700 /tmp/tasuki-job-1; touch /tmp/tasuki-job-1/x");
        let output = run(&machines, mpi, &["--copy", "--files", "data/input"], &[]).output().expect("runs");
        let said = text(&output);
        assert!(output.status.success() && said.contains("greetings, sum 42"), "{}: {said}", mpi.name);
        assert!(said.contains("sent 3 files"), "{}: {said}", mpi.name);
        assert_eq!(left(lab), NOTHING, "{}", mpi.name);
        // A whole folder; and a job that fails.
        let output = run(&machines, mpi, &["--copy", "--files", "./data"], &["fail"]).output().expect("runs");
        assert!(!output.status.success(), "{}: {}", mpi.name, text(&output));
        assert_eq!(left(lab), NOTHING, "{}", mpi.name);
    }
}

#[test]
fn an_interrupted_job_leaves_nothing_and_what_it_wrote_is_kept() {
    let test = "an_interrupted_job_leaves_nothing_and_what_it_wrote_is_kept";
    if skip_without_root(test) {
        return;
    }
    let all = mpis(test);
    let Some(mpi) = all.first() else { return };
    let Some(machines) = Machines::up(test, "ring:3", 3) else { return };
    ok(&mut machines.tasuki(&["apply", "cluster.toml", "--no-watch", "--remote", TASUKI]));
    let lab = &machines.lab;
    build(lab, "n1", mpi);
    let options = ["--copy", "--files", "data/input"];
    let mode = "stat -c '%a %U %F' /tmp/tasuki-job-*";
    for signal in [Signal::SIGINT, Signal::SIGKILL] {
        let running = background(&mut run(&machines, mpi, &options, &["wait"]));
        let is_there = || left(lab).iter().all(|left| left.trim() == "/tmp/tasuki-job-JOB");
        eventually("the job's folder on all hosts", is_there);
        assert_eq!(lab.sh("n3", mode).trim(), "700 root directory");
        // The ranks run once the library is in use.
        let runs = "grep -ls libword /proc/[0-9]*/maps | wc -l";
        eventually("a rank on the third host", || lab.sh("n3", runs).trim() != "0");
        // `lab exec` passes signals on; one that cannot be passed on is sent to `tasuki run` itself.
        match signal {
            Signal::SIGKILL => drop(lab.sh("n1", KILL)),
            _ => kill(Pid::from_raw(running.0.id() as i32), signal).expect("signals"),
        }
        eventually("no folder on any host", || left(lab) == NOTHING);
        drop(running);
    }
    let output = run(&machines, mpi, &options, &["write"]).output().expect("runs");
    let said = text(&output);
    assert!(output.status.success() && said.contains("sum 42"), "{said}");
    assert!(said.contains("n1 keeps what the program has written: /tmp/tasuki-kept-"), "{said}");
    assert_eq!(left(lab), ["/tmp/tasuki-kept-JOB\n", "", ""]);
    assert_eq!(lab.sh("n1", "cd /tmp/tasuki-kept-*/files && ls -A").trim(), "result");
}

#[test]
fn labs_and_interpreters_and_wrong_files() {
    let test = "labs_and_interpreters_and_wrong_files";
    if skip_without_root(test) {
        return;
    }
    let all = mpis(test);
    let Some(mpi) = all.first() else { return };
    let lab = TestLab::up("copylab", &["--shape", "ring:3"]);
    let folder = tempfile::tempdir_in("/tmp").expect("a folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tasuki-launch/tests/programs/hello.c");
    // Not in the working folder, which labs show to their hosts.
    let program = folder.path().join("hello");
    let name = program.display().to_string();
    ok(Command::new(&mpi.mpicc).arg("-o").arg(&program).arg(source));
    let run = |options: &[&str], argv: &[&str]| {
        let mut command = tasuki();
        command.args(["run", "--lab", &lab.name, "--mpi", mpi.name, "-n", "3"]).args(options).args(argv);
        command.env("TASUKI_PEERS", peers()).current_dir("/").output().expect("runs")
    };
    let output = run(&["--copy"], &[&name]);
    let said = text(&output);
    assert!(output.status.success() && said.contains("ring ok"), "{said}");
    assert!(said.contains("sent 1 file,"), "{said}");
    // All hosts have `env`; the program is its argument.
    let output = run(&["--copy"], &["env", &name]);
    let said = text(&output);
    assert!(output.status.success() && said.contains("ring ok"), "{said}");
    assert!(said.contains("sent 1 file,"), "{said}");
    assert_eq!(left(&lab), NOTHING);

    let refused = |options: &[&str], words: &str| {
        let said = text(&run(options, &[&name]));
        assert!(said.contains(words) && !said.contains("ring ok"), "{words}: {said}");
    };
    refused(&["--copy", "--files", "absent"], "cannot read absent");
    refused(&["--files", "hello"], "--copy");
    // A host without an address of the cluster says what to do, and all folders are gone.
    lab.sh("n2", "ip link del tasuki0");
    refused(&["--copy", "--transport", "tcp"], "n2: cannot listen at its address");
    assert_eq!(left(&lab), NOTHING);
}
