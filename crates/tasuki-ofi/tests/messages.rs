//! Two C programs speak through libfabric, which loads this provider: every call for messages and one-sided access, over each carrier.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A folder with the provider under the name that libfabric looks for, and the compiled program.
struct Stage {
    folder: TempDir,
}

impl Stage {
    fn new() -> Stage {
        let folder = tempfile::tempdir().expect("a temporary folder");
        // Cargo puts the library that it has built for this test beside the test.
        let test = std::env::current_exe().expect("a path");
        let library = test.with_file_name("libtasuki_fi.so");
        std::fs::copy(&library, folder.path().join("libtasuki-fi.so")).expect("the provider is built");
        compile(folder.path(), "messages", &["messages.c", "pair.c"], "-lfabric");
        compile(folder.path(), "remote", &["remote.c", "pair.c"], "-lfabric");
        compile(folder.path(), "local", &["local.c"], "-ldl");
        let rails = r#"{"version": 1, "host": "here", "identity": "127.0.0.1", "peers": {}}"#;
        std::fs::write(folder.path().join("rails.json"), rails).expect("a file is written");
        Stage { folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("FI_PROVIDER_PATH", self.path()).env("FI_PROVIDER", "tasuki");
        command
    }

    fn run(&self, arguments: [&str; 2], shm: bool) {
        self.run_program("messages", arguments, shm);
    }

    fn run_program(&self, program: &str, arguments: [&str; 2], shm: bool) {
        let output = self
            .command(self.path().join(program).to_str().expect("text"))
            .args(arguments)
            .env("TASUKI_SHM", if shm { "1" } else { "0" })
            // No description of rails that this machine may have concerns the test.
            .env("TASUKI_RAILS", self.path().join("rails.json"))
            .output()
            .expect("the program runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program} {arguments:?}, shm {shm}: {:?}\n{said}", output.status);
    }
}

fn compile(folder: &Path, program: &str, files: &[&str], library: &str) {
    let sources: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "c"].iter().collect();
    let compiled = Command::new("cc")
        .args(["-std=gnu11", "-Wall", "-Werror", "-O1", "-o"])
        .arg(folder.join(program))
        .args(files.iter().map(|file| sources.join(file)))
        .arg(library)
        .status()
        .expect("cc runs: see scripts/setup");
    assert!(compiled.success(), "libfabric's headers are needed: scripts/setup installs them");
}

#[test]
fn over_shared_memory() {
    let stage = Stage::new();
    stage.run(["map", "all"], true);
    stage.run(["table", "all"], true);
    stage.run(["map", "selective"], true);
    stage.run(["map", "gone"], true);
}

#[test]
fn over_udp() {
    let stage = Stage::new();
    stage.run(["table", "all"], false);
    stage.run(["map", "selective"], false);
    stage.run(["map", "gone"], false);
}

#[test]
fn one_sided_access() {
    let stage = Stage::new();
    for shm in [true, false] {
        stage.run_program("remote", ["table", "all"], shm);
        stage.run_program("remote", ["map", "selective"], shm);
        stage.run_program("remote", ["map", "gone"], shm);
    }
}

#[test]
fn is_listed() {
    let stage = Stage::new();
    let output =
        stage.command("fi_info").args(["-p", "tasuki"]).output().expect("fi_info runs: see scripts/setup");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("FI_EP_RDM"), "{said}");
}

#[test]
fn finds_a_libfabric_that_is_out_of_sight() {
    let stage = Stage::new();
    let program = stage.path().join("local");
    let output = stage.command(program.to_str().expect("text")).output().expect("the program runs");
    assert!(output.status.success(), "{:?}: {}", output.status, String::from_utf8_lossy(&output.stderr));
}
