//! Programs that tests write and then run.

use std::{
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

/// Writes a program. This process never has the file open itself: a child that another thread starts has a
/// copy of every open file until it runs its own program, and the kernel runs none that is open for writing
/// ("Text file busy").
///
/// # Panics
/// If it cannot be written.
pub fn write_program(path: &Path, text: &str) {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", r#"cat > "$0" && chmod 755 "$0""#]).arg(path).stdin(Stdio::piped());
    let mut shell = shell.spawn().expect("sh starts");
    shell.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("the shell reads");
    assert!(shell.wait().expect("it ends").success(), "{} cannot be written", path.display());
}
