//! Tells the program its version, with the commit that it is built of where git knows it.

use std::{path::Path, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let version = env!("CARGO_PKG_VERSION");
    let text = match commit() {
        Some(commit) => format!("{version} ({commit})"),
        None => version.to_owned(),
    };
    println!("cargo::rustc-env=BUILT_VERSION={text}");
}

/// The commit's first twelve digits. `None` without git, and where the source is not in a repository of its
/// own, as an archive that was unpacked inside of another one.
fn commit() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    // The file HEAD says which branch is out, and its log changes with every commit.
    for file in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", file])?;
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

/// What git says, run in this crate's folder; `None` if it is not there or fails.
fn git(argv: &[&str]) -> Option<String> {
    let output = Command::new("git").args(argv).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
