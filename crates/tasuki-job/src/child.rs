//! A launcher that runs as a child of this process, for jobs after which there is something left to do.

use crate::RunError;
use nix::{
    sys::{
        signal::{Signal, kill},
        wait::{Id, WaitPidFlag, waitid},
    },
    unistd::Pid,
};
use signal_hook::{consts, iterator::Signals};
use std::{
    io::{self, IsTerminal},
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Command, ExitStatus},
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    thread,
    time::{Duration, Instant},
};
use tasuki_lab::Exit;
use tasuki_launch::{LaunchCommand, STOP_GRACE};
use tasuki_process::end_with_parent;

/// Signals that are forwarded to the launcher.
const FORWARDED: &[i32] = &[consts::SIGINT, consts::SIGTERM, consts::SIGHUP, consts::SIGQUIT];
/// How long to wait at once where nothing is due.
const LONG: Duration = Duration::from_secs(3600);

/// What happens while a launcher runs.
enum Event {
    /// It has ended, and is not reaped yet.
    Ended,
    /// This process got a signal.
    Signal(i32),
}

/// Runs a launcher to its end with this process's streams. Signals are forwarded to it; it is killed if it
/// has not ended [`STOP_GRACE`] after SIGINT or SIGTERM, and ends with this process.
///
/// # Errors
/// If signals cannot be caught, or the launcher cannot be started.
pub(crate) fn run(command: LaunchCommand) -> Result<Exit, RunError> {
    // Signals are caught from before the start, so that none is lost.
    let mut signals = Signals::new(FORWARDED)?;
    let handle = signals.handle();
    let LaunchCommand { argv, env } = command;
    let mut launcher = Command::new(&argv[0]);
    launcher.args(&argv[1..]).envs(env);
    // What is typed on a terminal reaches all processes of the foreground by itself; a second Ctrl-C would
    // have some launchers leave their ranks behind.
    let on_terminal = io::stdin().is_terminal();
    if !on_terminal {
        launcher.process_group(0);
    }
    end_with_parent(&mut launcher);
    let failed = |source| RunError::Launcher { program: argv[0].clone().into(), source };
    let mut child = launcher.spawn().map_err(failed)?;
    let pid = Pid::from_raw(child.id() as i32);
    let (tell, told) = channel();
    let ended = tell.clone();
    thread::spawn(move || wait(pid, &ended));
    let watching = thread::spawn(move || {
        for signal in signals.forever() {
            if tell.send(Event::Signal(signal)).is_err() {
                break;
            }
        }
        // They outlive the closing of their handle, which writes into a pipe whose other end is theirs.
        signals
    });
    let mut end: Option<Instant> = None;
    loop {
        let left = end.map_or(LONG, |end| end.saturating_duration_since(Instant::now()));
        match told.recv_timeout(left) {
            Ok(Event::Ended) | Err(RecvTimeoutError::Disconnected) => break,
            Ok(Event::Signal(signal)) => {
                let by_terminal = on_terminal && [consts::SIGINT, consts::SIGQUIT].contains(&signal);
                if !by_terminal {
                    send(pid, signal);
                }
                if [consts::SIGINT, consts::SIGTERM].contains(&signal) {
                    end.get_or_insert_with(|| Instant::now() + STOP_GRACE);
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                if end.take().is_some() {
                    send(pid, consts::SIGKILL);
                }
            }
        }
    }
    let status = child.wait().map_err(failed)?;
    handle.close();
    let _ = watching.join();
    Ok(exit(status))
}

/// Waits for the end of a child, which is left to be reaped by its owner: its number is not given to another
/// process before that.
fn wait(pid: Pid, ended: &Sender<Event>) {
    while waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) == Err(nix::errno::Errno::EINTR) {
    }
    // Nobody is told if the process ends first.
    let _ = ended.send(Event::Ended);
}

/// Signals a child that has not been reaped. It may have ended.
fn send(pid: Pid, signal: i32) {
    if let Ok(signal) = Signal::try_from(signal) {
        let _ = kill(pid, signal);
    }
}

fn exit(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str) -> Exit {
        let argv = ["sh", "-c", script].map(Into::into).to_vec();
        super::run(LaunchCommand { argv, env: vec![("CODE".into(), "7".into())] }).unwrap()
    }

    // The tests of this module send signals to the process that they share, so they are one test.
    #[test]
    fn exit_codes_are_passed_on_and_signals_reach_the_launcher() {
        assert_eq!(run("exit $CODE"), Exit::Code(7));
        assert_eq!(run("kill -9 $$"), Exit::Signal(9));
        assert_eq!(run("trap 'exit 3' TERM; kill -TERM $PPID; while :; do sleep 0.01; done"), Exit::Code(3));
        let argv = vec!["/no/such/launcher".into()];
        let error = super::run(LaunchCommand { argv, env: Vec::new() }).unwrap_err().to_string();
        assert!(error.contains("/no/such/launcher"), "{error}");
    }
}
