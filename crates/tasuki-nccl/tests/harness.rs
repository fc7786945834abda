//! Loads the plug-in as NCCL does, in C programs with declarations of their own, and drives it with host
//! buffers: several ranks on this machine. Ranks in hosts of a lab are tested beside the `tasuki` command.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// The plug-in: cargo puts libraries that a test depends on beside the test.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let library = test.with_file_name("libnccl_net_tasuki.so");
    assert!(library.exists(), "no {}", library.display());
    library
}

/// Compiles a program of this test; warnings are errors.
fn build(source: &str) -> (PathBuf, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("program");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(source);
    let mut command = Command::new("cc");
    command.args(["-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Werror"]).arg(source).arg("-o").arg(&path);
    let output = command.arg("-ldl").output().expect("the compiler runs");
    assert!(output.status.success(), "{command:?}:\n{}", String::from_utf8_lossy(&output.stderr));
    (path, folder)
}

/// Ranks of `drive.c`.
struct Ranks {
    children: Vec<Child>,
    _handles: TempDir,
}

impl Ranks {
    fn start(program: &Path, version: u32, ranks: usize, rounds: u32, most_bytes: u32) -> Ranks {
        let handles = tempfile::tempdir().expect("a folder");
        let start = |rank: usize| {
            let mut command = Command::new(program);
            command.arg(library());
            command.args([version.to_string(), rank.to_string(), ranks.to_string()]).arg(handles.path());
            command.args([rounds.to_string(), most_bytes.to_string(), "1".into()]);
            command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("starts")
        };
        Ranks { children: (0..ranks).map(start).collect(), _handles: handles }
    }

    /// What each has printed on both streams, and its exit code, when all have ended.
    fn end(self) -> Vec<(Option<i32>, String)> {
        let outcome = |child: Child| {
            let output = child.wait_with_output().expect("ends");
            let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
            (output.status.code(), said.concat())
        };
        self.children.into_iter().map(outcome).collect()
    }
}

#[test]
fn every_version_carries_every_byte() {
    let (program, _folder) = build("drive.c");
    for version in 8..=12 {
        for (code, said) in Ranks::start(&program, version, 3, 60, 1 << 20).end() {
            assert!(code == Some(0) && said.contains(" wrong 0 "), "version {version}: {code:?}\n{said}");
        }
    }
}

#[test]
fn a_killed_rank_is_an_error_to_all_others() {
    let (program, _folder) = build("drive.c");
    let mut ranks = Ranks::start(&program, 12, 3, u32::MAX / 2, 1 << 18);
    let victim = &mut ranks.children[1];
    let mut lines = BufReader::new(victim.stdout.take().expect("a pipe")).lines();
    assert_eq!(lines.next().expect("a line").expect("text"), "rank 1: connected");
    victim.kill().expect("ends");
    let ended = ranks.end();
    for rank in [0, 2] {
        let (code, said) = &ended[rank];
        assert!(*code == Some(3) && said.contains("error 6 in"), "rank {rank}: {code:?}\n{said}");
        assert_eq!(said.matches("WARN").count(), 1, "once, and not at every call: {said}");
    }
}

#[test]
fn what_cannot_be_is_refused_with_its_reason() {
    let (program, _folder) = build("refusals.c");
    let output = Command::new(program).arg(library()).output().expect("runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "all refused\n", "{output:?}");
}
