//! A folder with the provider as it was built, and with C programs that use it.
#![allow(dead_code)] // Each test program uses a part.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A folder with the provider under the name that libfabric looks for, with the compiled programs, and with
/// Tasuki's own libfabric, which a stage may have in front of the system's.
pub struct Stage {
    folder: &'static Path,
    front: bool,
}

/// What all stages of this test program have in common. It is compiled once: the compiler takes longer than
/// the tests.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let test = std::env::current_exe().expect("a path");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stage").join(env!("CARGO_CRATE_NAME"));
        build(&folder, &test);
        folder
    })
}

fn build(folder: &Path, test: &Path) {
    std::fs::create_dir_all(folder).expect("a folder");
    // Cargo puts the library that it has built for this test into the test's folder.
    let library = test.with_file_name("libtasuki_fi.so");
    std::fs::copy(&library, folder.join("libtasuki-fi.so")).expect("the provider is built");
    compile(folder, "messages", &["messages.c", "pair.c"], "-lfabric");
    compile(folder, "remote", &["remote.c", "pair.c"], "-lfabric");
    compile(folder, "atomics", &["atomics.c", "pair.c"], "-lfabric");
    compile(folder, "death", &["death.c", "pair.c"], "-lfabric");
    compile(folder, "names", &["names.c", "pair.c"], "-lfabric");
    compile(folder, "promises", &["promises.c", "pair.c"], "-lfabric");
    compile(folder, "local", &["local.c"], "-ldl");
    let rails = r#"{"version": 1, "host": "here", "identity": "127.0.0.1", "peers": {}}"#;
    std::fs::write(folder.join("rails.json"), rails).expect("a file is written");
    let front: PathBuf = [env!("CARGO_MANIFEST_DIR"), "front", "build"].iter().collect();
    let built = Command::new(front).arg(folder.join("libfabric")).status().expect("the script runs");
    assert!(built.success(), "cc compiles it: see scripts/setup");
}

impl Stage {
    pub fn new() -> Stage {
        Stage { folder: folder(), front: false }
    }

    /// A stage on which programs find Tasuki's own libfabric before the system's.
    pub fn with_front() -> Stage {
        Stage { folder: folder(), front: true }
    }

    /// The folder of the library in front.
    pub fn front(&self) -> PathBuf {
        self.path().join("libfabric")
    }

    pub fn path(&self) -> &'static Path {
        self.folder
    }

    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("FI_PROVIDER_PATH", self.path()).env("FI_PROVIDER", "tasuki");
        if self.front {
            command.env("LD_LIBRARY_PATH", self.front());
        }
        command
    }

    pub fn run(&self, arguments: [&str; 2], shm: bool) {
        self.run_program("messages", arguments, shm);
    }

    /// A compiled program, which may use shared memory or not.
    pub fn program(&self, program: &str, shm: bool) -> Command {
        let mut command = self.command(self.path().join(program).to_str().expect("text"));
        // The test does not depend on a description of rails that this machine may have.
        command
            .env("TASUKI_SHM", if shm { "1" } else { "0" })
            .env("TASUKI_RAILS", self.path().join("rails.json"));
        command
    }

    pub fn run_program<const N: usize>(&self, program: &str, arguments: [&str; N], shm: bool) {
        let output = self.program(program, shm).args(arguments).output().expect("the program runs");
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
