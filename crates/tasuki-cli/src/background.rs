//! Daemons that `apply` starts: as a systemd unit where there is one, or as a process in the background.

use crate::failure::Failure;
use nix::unistd::{dup2_stderr, dup2_stdout, setsid};
use std::{
    fs::File,
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Command, Stdio},
};

/// What a daemon in the background says once it runs.
const READY: &str = "running";

/// Leaves the terminal of whoever called `apply`: it is not ours.
pub fn leave_terminal() {
    // It fails only where we have a session of our own already.
    let _ = setsid();
}

/// Says that all is well, and nothing more.
pub fn be_silent() {
    println!("{READY}");
    let _ = std::io::stdout().flush();
    if let Ok(null) = File::options().write(true).open("/dev/null") {
        // Whoever reads our streams waits for their end.
        let _ = (dup2_stdout(&null), dup2_stderr(&null));
    }
}

/// Does something with a unit; false where systemd does not run, or does not do it.
pub fn systemctl(verb: &str, unit: &str) -> bool {
    if !Path::new("/run/systemd/system").exists() {
        return false;
    }
    let mut systemctl = Command::new("systemctl");
    systemctl.args([verb, unit]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    systemctl.status().is_ok_and(|status| status.success())
}

/// Starts a daemon by its unit, or this program with these words, and waits until it is [`READY`]. Else says why it is not.
pub fn start(unit: &str, words: &[&str], input: impl Into<Stdio>) -> Result<(), Failure> {
    if systemctl("is-enabled", unit) && systemctl("restart", unit) {
        return Ok(());
    }
    let mut command = Command::new(std::env::current_exe()?);
    command.args(words).current_dir("/").stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let mut said = String::new();
    if let Some(output) = child.stdout.take() {
        BufReader::new(output).read_line(&mut said)?;
    }
    if said.trim() == READY {
        return Ok(());
    }
    let mut why = String::new();
    if let Some(mut errors) = child.stderr.take() {
        errors.read_to_string(&mut why)?;
    }
    Err(Failure::new(why.trim().trim_start_matches("tasuki: ")))
}
