//! What messages propose can be done.

use crate::support::{ok, tasuki, text};
use std::{fs, os::unix::fs::PermissionsExt};

const FILE: &str = r#"
    [[host]]
    name = "n1"
    management = "198.51.100.1"
    nic = [{ name = "eth1" }]
    [[host]]
    name = "n2"
    management = "198.51.100.2"
    nic = [{ name = "eth1" }]
    [[cable]]
    ends = ["n1:eth1", "n2:eth1"]
"#;

/// The options that a message names are ones that the command has. An ssh that answers as a
/// host's shell does that finds no `tasuki` (127, POSIX sh) stands for such a host.
#[test]
fn a_host_without_tasuki_is_told_with_options_that_the_command_has() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, ssh) = (folder.path().join("cluster.toml"), folder.path().join("ssh"));
    fs::write(&file, FILE).expect("writes");
    fs::write(&ssh, "#!/bin/sh\necho 'sh: 1: tasuki: not found' >&2\nexit 127\n").expect("writes");
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).expect("changes");
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").expect("a path"));
    let file = file.display().to_string();
    let commands: [&[&str]; 5] = [
        &["status", &file],
        &["diff", &file],
        &["watch", "--status", &file],
        &["stats", "--cluster", &file],
        &["doctor", "--cluster", &file],
    ];
    for argv in commands {
        let said = text(&tasuki().args(argv).env("PATH", &path).output().expect("runs"));
        let lines: Vec<&str> = said.lines().filter(|line| line.contains("has no tasuki")).collect();
        assert!(!lines.is_empty(), "{argv:?}: {said}");
        let help = ok(tasuki().args([argv[0], "--help"]));
        let words =
            lines.iter().flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '-'));
        for option in words.filter(|word| word.starts_with("--") && word.len() > 2) {
            assert!(help.contains(option), "{argv:?}: {option} is not in its help: {said}");
        }
    }
}
