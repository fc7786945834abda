//! A command in a host: what a client asks for, and the session that runs it.

use crate::{
    LabError,
    channel::Channel,
    client::{receive, unexpected},
    private::to_share,
    protocol::{Reply, SessionMessage},
};
use std::{
    ffi::OsString,
    os::fd::{AsFd, BorrowedFd},
    path::PathBuf,
};

/// Whether a command's descendants are ended with it, on all hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Job {
    /// No, as with ssh: what the command leaves behind in the background goes on. If this process is itself
    /// in a job (see [`crate::JOB_VARIABLE`]), the command joins it.
    Inherit,
    /// Yes: the command is the root of a new job. When it ends, or when its client goes away, all processes
    /// that it started, on any host, are ended before the end is reported.
    Root,
}

/// A command to run in a host.
#[derive(Clone, Debug)]
pub struct ExecRequest {
    /// Host name, or one of the host's addresses.
    pub host: String,
    /// Program and arguments.
    pub argv: Vec<OsString>,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// Working directory.
    pub cwd: PathBuf,
    /// Paths that must be visible in the host although they may be below a folder of which each host has its
    /// own. The working directory and absolute paths in `argv[0]` need not be named.
    pub share: Vec<PathBuf>,
    /// Whether its descendants are ended with it.
    pub job: Job,
    /// Whether standard input is a terminal that is to control the command. Nothing else may use that
    /// terminal.
    pub terminal: bool,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl Exit {
    /// The code as a shell reports it: the exit code, or 128 + signal.
    pub fn code(self) -> i32 {
        match self {
            Exit::Code(code) => code,
            Exit::Signal(signal) => 128 + signal,
        }
    }
}

impl ExecRequest {
    /// A command with this process's environment and working directory, without a terminal and nothing more
    /// to share.
    ///
    /// # Errors
    /// If the working directory cannot be read.
    pub fn new(host: &str, argv: Vec<OsString>, job: Job) -> Result<Self, LabError> {
        let cwd =
            std::env::current_dir().map_err(LabError::system("the working directory cannot be read"))?;
        let env = std::env::vars_os().collect();
        Ok(Self { host: host.into(), argv, env, cwd, share: Vec::new(), job, terminal: false })
    }
}

/// A command running in a host. Dropping it without [`Session::wait`] ends the command.
pub struct Session {
    channel: Channel,
    /// Whether the command is the root of a job: then its session process ends with it, and is waited for.
    alone: bool,
}

impl Session {
    pub(crate) fn new(channel: Channel, job: Job) -> Self {
        Self { channel, alone: job == Job::Root }
    }

    /// Sends a signal to the command's process group.
    pub fn signal(&self, signal: i32) -> Result<(), LabError> {
        self.channel.send(&SessionMessage::Signal(signal), &[]).map_err(LabError::system("forward a signal"))
    }

    /// Waits for the command to end.
    pub fn wait(&self) -> Result<Exit, LabError> {
        let reply = receive(&self.channel, "a command")?;
        if self.alone {
            // The connection ends once nothing of the job is left.
            while let Ok(Some(_)) = self.channel.receive::<Reply>() {}
        }
        match reply {
            Reply::Exited(code) => Ok(Exit::Code(code)),
            Reply::Killed(signal) => Ok(Exit::Signal(signal)),
            other => Err(unexpected(other)),
        }
    }
}

impl AsFd for Session {
    /// Readable once the command has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}

/// Folders and files that a host must share with the machine for a request.
pub(crate) fn shares(request: &ExecRequest) -> Vec<PathBuf> {
    let program = request.argv.first().map(PathBuf::from).filter(|path| path.components().count() > 1);
    let program = program.map(|path| request.cwd.join(path));
    let wanted = request.share.iter().chain([&request.cwd]).chain(&program);
    let mut shares: Vec<_> = wanted
        .flat_map(|path| [Some(path.clone()), path.canonicalize().ok()])
        .flatten()
        .filter_map(|path| to_share(&path))
        .filter(|path| path.exists())
        .collect();
    shares.sort();
    shares.dedup();
    shares
}
