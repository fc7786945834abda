//! Daemons of this host that `apply` starts: by their systemd unit where there is one, or as a process in the
//! background.

use nix::unistd::{dup2_stderr, dup2_stdout, setsid};
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Write},
    path::Path,
    process::{Command, Stdio},
};
use thiserror::Error;

/// What a daemon in the background prints once it runs.
const READY: &str = "running";

/// Why a daemon does not run.
#[derive(Debug, Error)]
pub enum DaemonError {
    /// It cannot be started or listened to.
    #[error(transparent)]
    System(#[from] io::Error),
    /// It ended at once; this is what it printed on standard error.
    #[error("{0}")]
    Ended(String),
}

/// Leaves the terminal and the session of the process that started this daemon, so that it does not end with
/// them.
pub fn leave_terminal() {
    // This fails only in a process that leads a session already.
    let _ = setsid();
}

/// Tells the process that started this daemon that it runs, and prints nothing from then on.
pub fn report_ready() {
    // Nothing can be done if that process has ended.
    let _ = writeln!(io::stdout(), "{READY}").and_then(|()| io::stdout().flush());
    if let Ok(null) = File::options().write(true).open("/dev/null") {
        // That process may wait for the end of both streams.
        let _ = (dup2_stdout(&null), dup2_stderr(&null));
    }
}

/// Whether systemd is this host's service manager (sd_booted(3)).
pub fn runs_systemd() -> bool {
    Path::new("/run/systemd/system").exists()
}

/// Calls systemctl with a verb, as `stop`, for a unit. False if systemd does not run or refuses.
pub fn systemctl(verb: &str, unit: &str) -> bool {
    if !runs_systemd() {
        return false;
    }
    let mut systemctl = Command::new("systemctl");
    systemctl.args([verb, unit]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    systemctl.status().is_ok_and(|status| status.success())
}

/// Starts a daemon by its unit if that is enabled; else starts this very program with `argv` and `input`, and
/// waits until it calls [`report_ready`].
///
/// # Errors
/// If the program cannot be started, or ends before it is ready.
pub fn start(unit: &str, argv: &[&str], input: impl Into<Stdio>) -> Result<(), DaemonError> {
    if systemctl("is-enabled", unit) && systemctl("restart", unit) {
        return Ok(());
    }
    let mut command = Command::new(std::env::current_exe()?);
    command.args(argv).current_dir("/").stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
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
    Err(DaemonError::Ended(why.trim().trim_start_matches("tasuki: ").to_owned()))
}
