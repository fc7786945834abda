//! Running a command in a lab host as if it ran here: same terminal, signals forwarded, same exit code.

use crate::failure::Failure;
use signal_hook::{consts, iterator::Signals};
use std::{
    ffi::OsString, io, os::fd::AsFd, path::PathBuf, process::ExitCode, sync::Arc, thread, time::Duration,
};
use tasuki_lab::{ExecRequest, Exit, Job, Lab, Session};

/// Signals that go on to the command. SIGPIPE is not among them: the command has its own pipes.
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

/// A request with this process's environment and working directory.
pub fn request_here(host: &str, argv: Vec<OsString>, job: Job) -> Result<ExecRequest, Failure> {
    let cwd = std::env::current_dir()
        .map_err(|error| Failure::new(format!("the working directory cannot be read: {error}")))?;
    Ok(ExecRequest {
        host: host.into(),
        argv,
        env: std::env::vars_os().collect(),
        cwd,
        share: Vec::<PathBuf>::new(),
        job,
        terminal: false,
    })
}

/// Runs a command with this process's standard input, output and error. With a `grace`, a command that has
/// not ended so long after SIGINT or SIGTERM is killed.
pub fn in_host(lab: &Lab, request: ExecRequest, grace: Option<Duration>) -> Result<Exit, Failure> {
    // Caught from before the start, so that none is lost.
    let signals = Signals::new(FORWARDED)?;
    let handle = signals.handle();
    let (input, output, error) = (io::stdin(), io::stdout(), io::stderr());
    let session = Arc::new(lab.exec(request, [input.as_fd(), output.as_fd(), error.as_fd()])?);
    let target = Arc::clone(&session);
    let forwarding = thread::spawn(move || forward(signals, &target, grace));
    let exit = session.wait();
    handle.close();
    let _ = forwarding.join();
    Ok(exit?)
}

/// Forwards until the handle is closed. The signals are given back, so that they outlive the closing: closing writes
/// into a pipe whose other end is theirs, and a thread that begins late would have dropped it (SIGPIPE).
fn forward(mut signals: Signals, session: &Arc<Session>, grace: Option<Duration>) -> Signals {
    for signal in signals.forever() {
        // The command may have ended a moment ago.
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

/// The exit code that a shell would report.
pub fn exit_code(exit: Exit) -> ExitCode {
    ExitCode::from(u8::try_from(exit.code()).unwrap_or(u8::MAX))
}
