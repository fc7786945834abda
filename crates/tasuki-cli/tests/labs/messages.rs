//! Messages say what is wrong: hosts that do not resolve or refuse, commands that are missing, and missing
//! rights.

use crate::support::{TestLab, ok, skip_without_root, tasuki, text};
use std::{fs, process::Command};

const FILE: &str = "[[host]]\nname = \"n1\"\nmanagement = \"no-such-host.invalid\"\nnic = [{ name = \"eth1\" \
                    }]\n\n[[host]]\nname = \"n2\"\nmanagement = \"127.0.0.1\"\nssh = { port = 1 }\nnic = [{ \
                    name = \"eth1\" }]\n\n[[cable]]\nends = [\"n1:eth1\", \"n2:eth1\"]\n";

/// Every command that reaches hosts over ssh says of each unreached host why, and what to try.
#[test]
fn hosts_that_are_not_reached() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cluster.toml");
    fs::write(&file, FILE).expect("writes");
    let file = file.display().to_string();
    let commands: [&[&str]; 10] = [
        &["status", &file],
        &["diff", &file],
        &["apply", &file],
        &["undo", &file],
        &["check", &file],
        &["watch", "--status", &file],
        &["stats", "--cluster", &file],
        &["doctor", "--cluster", &file],
        &["top", "--once", "--cluster", &file],
        &["metrics", "--cluster", &file],
    ];
    for argv in commands {
        let output = tasuki().args(argv).output().expect("runs");
        let said = text(&output);
        assert!(!output.status.success(), "{argv:?}: {said}");
        // The messages of these are those of their agents.
        let ways = ["ssh no-such-host.invalid true", "ssh -p 1 127.0.0.1 true"];
        let ways = ways.into_iter().filter(|_| !["check", "top", "metrics"].contains(&argv[0]));
        for part in ways.chain([
            "n1",
            "does not answer",
            "Could not resolve hostname no-such-host.invalid",
            "Connection refused",
            "management",
        ]) {
            assert!(said.contains(part), "{argv:?}: {part:?} is not in: {said}");
        }
        for wrong in ["same version", "another version", "must run on", "exit code 255", ".."] {
            assert!(!said.contains(wrong), "{argv:?}: {wrong:?} is in: {said}");
        }
    }
}

/// A user who is not root is told that root is needed.
#[test]
fn what_needs_root_says_so() {
    if skip_without_root("what_needs_root_says_so") {
        return;
    }
    let folder = tempfile::tempdir_in("/tmp").expect("a folder");
    let (program, file) = (folder.path().join("tasuki"), folder.path().join("cluster.toml"));
    fs::copy(env!("CARGO_BIN_EXE_tasuki"), &program).expect("copies");
    fs::write(&file, FILE).expect("writes");
    ok(Command::new("chmod").args(["-R", "a+rX"]).arg(folder.path()));
    let file = file.display().to_string();
    let commands: [&[&str]; 9] = [
        &["apply", &file, "--host", "n1"],
        &["undo"],
        &["watch", &file, "--host", "n1"],
        &["tune", "set", "--delay", "off", "lo"],
        &["tune", "run", "lo"],
        &["lab", "up", "--shape", "full:2"],
        &["bench", "raw", "--shape", "full:2"],
        &["demo"],
        &["bench", "tune", "--level", "1"],
    ];
    for argv in commands {
        let mut user = Command::new("setpriv");
        user.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program).args(argv);
        let output = user.current_dir("/").output().expect("runs");
        let said = text(&output);
        assert!(!output.status.success() && said.contains("needs root"), "{argv:?}: {said}");
        assert!(!said.contains("Permission denied") && !said.contains("Broken pipe"), "{argv:?}: {said}");
    }
}

/// A lab that may open too few files is refused, and not said to have ended or to have broken a pipe.
#[test]
fn too_few_files_for_a_lab() {
    if skip_without_root("too_few_files_for_a_lab") {
        return;
    }
    for (files, shape) in [(8, "full:2"), (12, "full:2"), (20, "full:2"), (64, "star:60"), (130, "star:60")] {
        let line =
            format!("ulimit -n {files}; exec \"$TASUKI\" lab up --shape {shape} --name too-few-{files}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &line]).env("TASUKI", env!("CARGO_BIN_EXE_tasuki"));
        let output = shell.output().expect("runs");
        let said = text(&output);
        assert!(!output.status.success() && said.contains("ulimit -n 1024"), "{files}: {said}");
        assert!(said.contains(&format!("only {files} files may be open")), "{files}: {said}");
    }
}

/// What is not there is said to be missing, instead of shown as an empty table.
#[test]
fn nothing_is_no_empty_table() {
    let output = tasuki().args(["watch", "--status"]).output().expect("runs");
    assert!(text(&output).contains("no watch runs on this machine"), "{}", text(&output));
    assert!(output.stdout.is_empty() && output.status.code() == Some(1), "{}", text(&output));
    let shown = ok(tasuki().args(["tune", "show", "lo"]));
    assert!(shown.contains("has no driver") && !shown.contains("()"), "{shown}");
}

/// A host that is this machine is asked without ssh, which need not lead from a machine to itself.
#[test]
fn this_machine_is_asked_without_ssh() {
    let own = ok(&mut Command::new("hostname")).trim().split('.').next().unwrap_or_default().to_owned();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cluster.toml");
    fs::write(&file, FILE.replace("n1", &own)).expect("writes");
    let file = file.display().to_string();
    for argv in [&["status", &file][..], &["stats", "--cluster", &file], &["doctor", "--cluster", &file]] {
        let said = text(&tasuki().args(argv).output().expect("runs"));
        assert!(
            !said.contains("no-such-host") && said.contains("ssh -p 1 127.0.0.1 true"),
            "{argv:?}: {said}"
        );
    }
}

/// Results of an earlier measurement stay, and that is said before anything is built or measured; so is a
/// folder into which nothing can be written.
#[test]
fn results_that_are_there_are_not_written_over() {
    if skip_without_root("results_that_are_there_are_not_written_over") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let lab = "--lab=no-such-lab";
    let commands: [(&[&str], &str); 7] = [
        (&["mpi", lab], "mpi"),
        (&["nas", lab], "nas"),
        (&["startup", lab], "startup"),
        (&["drain", lab], "drain"),
        (&["stripe", "--rate", "1M"], "stripe"),
        (&["cross", "--kernel", "is"], "cross-kernels"),
        (&["tune", "--level", "1"], "tune"),
    ];
    let path = folder.path().display().to_string();
    let run = |argv: &[&str], output: &str| {
        text(&tasuki().arg("bench").args(argv).args(["--output", output]).output().expect("runs"))
    };
    for (argv, stem) in commands {
        for kind in ["txt", "json"] {
            let file = folder.path().join(format!("{stem}.{kind}"));
            fs::write(&file, "precious").expect("writes");
            let said = run(argv, &path);
            let complaint = format!("{} is there already; --force writes over it", file.display());
            assert!(said.contains(&complaint), "{argv:?}: {said}");
            assert_eq!(fs::read_to_string(&file).expect("reads"), "precious", "{argv:?}");
            fs::remove_file(&file).expect("removes");
        }
        let said = run(argv, "/proc/no-such-folder");
        assert!(said.contains("cannot make /proc/no-such-folder, where the results are to go"), "{said}");
    }
    // With --force it goes on, here to a lab that is not there.
    fs::write(folder.path().join("drain.txt"), "old").expect("writes");
    let said = run(&["drain", lab, "--force"], &path);
    assert!(said.contains("no lab named no-such-lab is up"), "{said}");
}

/// A file whose folder is not there is refused before the work for it is done.
#[test]
fn a_folder_that_is_not_there_is_named_at_once() {
    for argv in [
        &["plan", "--hosts", "4", "--nics", "3", "-o", "/no/such/my.toml"][..],
        &["cluster", "new", "full:2", "-o", "/no/such/my.toml"],
        &["topo", "route", "ring:5+1", "--engine", "minimal", "--output", "/no/such/my.toml"],
        &["check", "--lab", "no-such-lab", "--report", "/no/such/my.toml"],
        &["discover", "--lab", "no-such-lab", "-o", "/no/such/my.toml"],
        &["discover", "--lab", "no-such-lab", "--picture", "/no/such/my.svg"],
    ] {
        let said = text(&tasuki().args(argv).output().expect("runs"));
        assert!(said.contains("there is no folder /no/such: mkdir -p /no/such"), "{argv:?}: {said}");
    }
}

/// What is mistyped is answered with what there is.
#[test]
fn mistyped_arguments_are_answered_with_what_there_is() {
    for (argv, part) in [
        (
            &["plan", "--hosts", "3", "--nics", "2", "--choose", "9"][..],
            "there is no proposal 9, only proposal 1",
        ),
        (&["cluster", "new", "full:2", "--rate", "0"], "a rate of 0 carries nothing"),
        (&["bench", "raw", "--seconds", "0"], "--seconds 0: a time above 0"),
        (&["bench", "mpi", "--repetitions", "0"], "--repetitions 0: nothing would be measured"),
        (&["bench", "drain", "--bursts", "0"], "0 is not in 1..=1000000"),
        (&["cluster", "check", "no-such.toml"], "`tasuki cluster new full:4 -o my.toml` writes one"),
    ] {
        let output = tasuki().args(argv).output().expect("runs");
        assert!(!output.status.success() && text(&output).contains(part), "{argv:?}: {}", text(&output));
    }
}

/// A user who cannot use labs learns it before programs are built for a measurement in one; and of several
/// labs one is named as the command takes it.
#[test]
fn what_a_lab_command_needs_is_said_first() {
    if skip_without_root("what_a_lab_command_needs_is_said_first") {
        return;
    }
    let folder = tempfile::tempdir_in("/tmp").expect("a folder");
    let program = folder.path().join("tasuki");
    fs::copy(env!("CARGO_BIN_EXE_tasuki"), &program).expect("copies");
    ok(Command::new("chmod").args(["-R", "a+rX"]).arg(folder.path()));
    for measurement in ["mpi", "nas", "startup", "drain", "raw"] {
        let mut user = Command::new("setpriv");
        user.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
        let said = text(&user.args(["bench", measurement]).current_dir("/").output().expect("runs"));
        assert!(said.contains("needs root"), "{measurement}: {said}");
    }
    let _labs = ["one", "two"].map(|name| TestLab::up(name, &["--shape", "full:2"]));
    for command in ["status", "down"] {
        let said = text(&tasuki().args(["lab", command]).output().expect("runs"));
        assert!(said.contains("several labs are up"), "{said}");
        assert!(
            said.contains(&format!("name one: tasuki lab {command} ")) && !said.contains("--lab"),
            "{said}"
        );
    }
}

/// Two labs that results could not tell apart are refused.
#[test]
fn labs_of_one_name_are_not_measured_together() {
    if skip_without_root("labs_of_one_name_are_not_measured_together") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = tasuki();
    command.args(["bench", "raw", "--no-latency", "--seconds", "0.01"]);
    for name in ["a.toml", "b.toml"] {
        let file = folder.path().join(name);
        ok(tasuki().args(["cluster", "new", "full:2", "-o"]).arg(&file));
        command.arg("--lab-of").arg(file);
    }
    let said = text(&command.output().expect("runs"));
    assert!(said.contains("b.toml: results could not tell this lab from another one"), "{said}");
    let said = text(
        &tasuki().args(["bench", "raw", "--shape", "full:2", "--shape", "full:2"]).output().expect("runs"),
    );
    assert!(said.contains("--shape full:2 is given twice"), "{said}");
}

/// Pages that root's programs keep are nothing to say to another user, and what another user leaves in their
/// place is no problem of root's programs.
#[test]
fn another_users_processes_are_no_problem() {
    if skip_without_root("another_users_processes_are_no_problem") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("tasuki");
    fs::copy(env!("CARGO_BIN_EXE_tasuki"), &program).expect("copies");
    ok(Command::new("chmod").args(["-R", "a+rX"]).arg(folder.path()));
    // Pages lie in /dev/shm, of which the test has one of its own.
    let told = |user: &str, owner: u32| {
        let page = "/dev/shm/tasuki-stats.0.1.0";
        let line = format!(
            "mount -t tmpfs none /dev/shm && echo no page > {page} && chmod 600 {page} && \
             chown {owner} {page} && cd / && exec {user} \"$TASUKI\" stats-pages"
        );
        let mut shell = Command::new("unshare");
        shell.args(["-m", "sh", "-c", &line]).env("TASUKI", &program);
        let found: serde_json::Value = serde_json::from_str(&ok(&mut shell)).expect("JSON");
        ["problems", "notes"].map(|kind| found[kind].as_array().expect("a list").len())
    };
    assert_eq!(told("setpriv --reuid=65534 --regid=65534 --clear-groups", 0), [0, 0]);
    assert_eq!(told("", 0), [1, 0], "root sees that it is broken");
    assert_eq!(told("", 65_534), [0, 1]);
}
