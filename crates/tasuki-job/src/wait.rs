//! Waiting for a launcher that runs as a child of this process.

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use signal_hook::{
    SigId,
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag, low_level,
};
use std::{
    io,
    os::unix::process::ExitStatusExt,
    process::{Child, Command, ExitStatus},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tasuki_lab::Exit;

/// How often the launcher is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Runs a launcher to its end. This process lives on whatever ends the launcher: Ctrl-C reaches the launcher
/// from the terminal by itself, SIGTERM and SIGHUP are passed on to it.
///
/// # Errors
/// What the system says if it cannot be started.
pub fn run_to_end(command: &mut Command) -> io::Result<Exit> {
    let caught = Caught::new()?;
    let mut launcher = command.spawn()?;
    loop {
        if let Some(status) = launcher.try_wait()? {
            return Ok(exit_of(status));
        }
        caught.pass_on(&launcher);
        std::thread::sleep(LOOK);
    }
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (None, Some(signal)) => Exit::Signal(signal),
        (code, _) => Exit::Code(code.unwrap_or_default()),
    }
}

/// Signals that do not end this process for as long as this lives.
struct Caught {
    signals: Vec<(Signal, Arc<AtomicBool>)>,
    handlers: Vec<SigId>,
}

impl Caught {
    fn new() -> io::Result<Self> {
        let mut caught = Self { signals: Vec::new(), handlers: Vec::new() };
        caught.handlers.push(flag::register(SIGINT, Arc::default())?);
        for (number, signal) in [(SIGTERM, Signal::SIGTERM), (SIGHUP, Signal::SIGHUP)] {
            let came = Arc::new(AtomicBool::new(false));
            caught.handlers.push(flag::register(number, came.clone())?);
            caught.signals.push((signal, came));
        }
        Ok(caught)
    }

    fn pass_on(&self, launcher: &Child) {
        for (signal, came) in &self.signals {
            if came.swap(false, Ordering::Relaxed) {
                // It fails if the launcher has ended meanwhile, which the next look finds.
                let _ = kill(Pid::from_raw(launcher.id() as i32), *signal);
            }
        }
    }
}

impl Drop for Caught {
    fn drop(&mut self) {
        self.handlers.drain(..).for_each(|handler| {
            low_level::unregister(handler);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_is_the_launchers() {
        let shell = |script: &str| run_to_end(Command::new("sh").args(["-c", script])).unwrap().code();
        assert_eq!(shell("exit 7"), 7);
        assert_eq!(shell("kill -KILL $$"), 128 + 9);
    }

    #[test]
    fn this_process_survives_what_ends_the_launcher() {
        // The shell ends by the signal that this process passes on, or the test never ends.
        let script = "kill -INT $PPID; kill -TERM $PPID; exec sleep 60";
        assert_eq!(run_to_end(Command::new("sh").args(["-c", script])).unwrap().code(), 128 + 15);
    }
}
