//! Messages say what is wrong: hosts that do not resolve or refuse, commands that are missing, and missing
//! rights.

mod support;

use std::{fs, process::Command};
use support::{ok, skip_without_root, tasuki, text};

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
    let commands: [&[&str]; 8] = [
        &["status", &file],
        &["diff", &file],
        &["apply", &file],
        &["undo", &file],
        &["check", &file],
        &["watch", "--status", &file],
        &["stats", "--cluster", &file],
        &["doctor", "--cluster", &file],
    ];
    for argv in commands {
        let output = tasuki().args(argv).output().expect("runs");
        let said = text(&output);
        assert!(!output.status.success(), "{argv:?}: {said}");
        // The messages of `check` are those of its agents.
        let ways = ["ssh no-such-host.invalid true", "ssh -p 1 127.0.0.1 true"];
        let ways = ways.into_iter().filter(|_| argv[0] != "check");
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
    for files in [8, 12, 20] {
        let line =
            format!("ulimit -n {files}; exec \"$TASUKI\" lab up --shape full:2 --name too-few-{files}");
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
    assert!(output.stdout.is_empty(), "{}", text(&output));
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
