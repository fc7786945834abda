//! What a command does where its output goes nowhere, and its exit code where its arguments are wrong.

use crate::support::{ok, tasuki, text};
use std::{
    fs::{self, File},
    process::{Command, Output},
};

fn run(argv: &[&str], full: bool) -> Output {
    let mut command = tasuki();
    command.args(argv);
    if full {
        command.stdout(File::options().write(true).open("/dev/full").expect("Linux has it (full(4))"));
    }
    command.output().expect("runs")
}

/// The text is that of ENOSPC in errno(3).
#[test]
fn a_full_disk_is_said() {
    let lines: [&[&str]; 12] = [
        &["--version"],
        &["--help"],
        &["plan", "--help"],
        &["cluster", "new", "full:4"],
        &["cluster", "show", "--shape", "full:4"],
        &["plan", "--hosts", "4", "--nics", "3"],
        &["info"],
        &["bench", "rates"],
        &["slurm", "conf", "--shape", "full:4"],
        &["topo", "show", "ring:4"],
        &["metrics", "--rules"],
        &["paper", "list"],
    ];
    for argv in lines {
        let output = run(argv, true);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{argv:?}: {said}");
        let words = "tasuki: cannot write to standard output: No space left on device\n";
        assert_eq!(said, words, "{argv:?}");
    }
}

/// A process that may write no byte into files stands for a full disk. The text is that of EFBIG in errno(3),
/// which setrlimit(2) has for such a process.
#[test]
fn a_file_that_cannot_be_replaced_stays_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cluster.toml");
    fs::write(&file, "what somebody has written").expect("writes");
    let script = r#"trap '' XFSZ; ulimit -f 0; exec "$0" cluster new full:2 --force -o "$1""#;
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(tasuki().get_program()).arg(&file);
    let output = shell.output().expect("runs");
    let said = text(&output);
    assert!(!output.status.success() && said.contains("cluster.toml: File too large"), "{said}");
    assert_eq!(fs::read_to_string(&file).expect("it is there"), "what somebody has written");
    assert_eq!(fs::read_dir(folder.path()).expect("reads").count(), 1, "and nothing else");
}

/// 2, as docs/reference/exit-codes.md has it.
#[test]
fn wrong_arguments_have_a_code_of_their_own() {
    let lines: [&[&str]; 16] = [
        &["cluster", "new", "full:0"],
        &["cluster", "new", "full:4", "--mtu", "0"],
        &["cluster", "new", "full:4", "-o", "-"],
        &["plan", "--hosts", "4", "--nics", "3", "--choose", "99"],
        &["bench", "raw", "--seconds", "nan"],
        &["topo", "receivers", "--sizes", "0"],
        &["topo", "simulate", "ring:4", "--hot", "50"],
        &["topo", "simulate", "ring:4", "--lists", "3"],
        &["topo", "show", "ring:4", "--svg", "one", "--html", "one"],
        &["run", "-n", "2", "--share", "true"],
        &["run", "-n", "2", "--command", "bt", "true"],
        &["run", "-n", "2", "--limit", "5s", "true"],
        &["status", "--dry-run"],
        &["discover", "n1", "n1"],
        &["up", "n1", "root@n1"],
        &["doctor", "cluster.toml"],
    ];
    for argv in lines {
        let output = run(argv, false);
        assert_eq!(output.status.code(), Some(2), "{argv:?}: {}", text(&output));
    }
}

#[test]
fn the_folder_of_a_configuration_is_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let new = folder.path().join("etc/slurm");
    ok(tasuki().args(["slurm", "conf", "--shape", "full:4", "-o"]).arg(&new));
    assert!(new.join("topology.conf").is_file());
}
