//! Running a command in a lab host as if it ran in this process's place: with its streams or its terminal,
//! with the signals that it gets, and with its exit code.

mod terminal;

use crate::{ExecRequest, Exit, Lab, LabError, Session};
use signal_hook::{consts, iterator::Signals};
use std::{
    io::{self, IsTerminal},
    os::fd::AsFd,
    sync::Arc,
    thread,
    time::Duration,
};

/// Signals that are forwarded to the command. SIGPIPE is not among them: the command has pipes of its own.
const FORWARDED: &[i32] = &[
    consts::SIGINT,
    consts::SIGTERM,
    consts::SIGHUP,
    consts::SIGQUIT,
    consts::SIGUSR1,
    consts::SIGUSR2,
    consts::SIGCONT,
    consts::SIGTSTP,
];

impl Lab {
    /// Runs a command with this process's standard input, output and error, and forwards signals to it. With
    /// a `grace`, a command that has not ended so long after a forwarded SIGINT or SIGTERM is killed.
    ///
    /// # Errors
    /// If signals cannot be caught, or the lab cannot start the command or goes away.
    pub fn run(&self, request: ExecRequest, grace: Option<Duration>) -> Result<Exit, LabError> {
        // Signals are caught from before the start, so that none is lost.
        let signals = Signals::new(FORWARDED).map_err(LabError::system("catch signals"))?;
        let handle = signals.handle();
        let (input, output, error) = (io::stdin(), io::stdout(), io::stderr());
        let session = Arc::new(self.exec(request, [input.as_fd(), output.as_fd(), error.as_fd()])?);
        let target = Arc::clone(&session);
        let forwarding = thread::spawn(move || forward(signals, &target, grace));
        let exit = session.wait();
        handle.close();
        let _ = forwarding.join();
        exit
    }

    /// Runs a command for the person or program at this process's standard input and output: on a terminal of
    /// its own if both are terminals, so that job control, line editing and Ctrl-C work as in a local shell;
    /// else like [`Self::run`].
    ///
    /// # Errors
    /// Like [`Self::run`]; also [`LabError::Interrupted`] if SIGTERM or SIGHUP ends this process's part in
    /// it.
    pub fn run_interactively(&self, request: ExecRequest) -> Result<Exit, LabError> {
        if io::stdin().is_terminal() && io::stdout().is_terminal() {
            terminal::run(self, request)
        } else {
            self.run(request, None)
        }
    }
}

/// Forwards signals until their handle is closed. Returns them, so that they outlive the closing: closing
/// writes into a pipe whose other end is theirs, and would raise SIGPIPE if a thread that began late had
/// dropped it.
fn forward(mut signals: Signals, session: &Arc<Session>, grace: Option<Duration>) -> Signals {
    for signal in signals.forever() {
        // This fails if the command has just ended, which the caller learns anyway.
        let _ = session.signal(signal);
        if let (Some(grace), consts::SIGINT | consts::SIGTERM) = (grace, signal) {
            let session = Arc::clone(session);
            thread::spawn(move || {
                thread::sleep(grace);
                let _ = session.signal(consts::SIGKILL);
            });
        }
    }
    signals
}
