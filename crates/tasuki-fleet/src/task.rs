//! What is to be run on a host.

use crate::stream::ANSWER;
use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
    time::Duration,
};

/// How long a host may take if a task does not say.
const LIMIT: Duration = Duration::from_secs(20);

/// A command for a host, with its input and limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub(crate) program: Program,
    pub(crate) argv: Vec<OsString>,
    pub(crate) input: Option<Input>,
    pub(crate) limit: Duration,
    pub(crate) lasting: bool,
    pub(crate) on_terminal: bool,
    /// Bytes of its answer that are kept; `None`: as many as of any command.
    pub(crate) kept: Option<usize>,
}

/// The standard input of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// This text.
    Text(String),
    /// The contents of this file of this machine.
    File(PathBuf),
}

/// Which program a task runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// The host's `tasuki` command; `argv` are its arguments.
    Tasuki,
    /// The program that `argv` begins with.
    Any,
}

impl Task {
    /// Runs the host's `tasuki` with these arguments, for up to 20 s and without standard input.
    pub fn tasuki(argv: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        Self::new(Program::Tasuki, argv)
    }

    /// Runs a program, which `argv` begins with, for up to 20 s and without standard input.
    pub fn program(argv: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        Self::new(Program::Any, argv)
    }

    fn new(program: Program, argv: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        let argv = argv.into_iter().map(|argument| argument.as_ref().to_owned()).collect();
        Self { program, argv, input: None, limit: LIMIT, lasting: false, on_terminal: false, kept: None }
    }

    /// Gives the command this text as standard input.
    pub fn input(self, text: impl Into<String>) -> Self {
        Self { input: Some(Input::Text(text.into())), ..self }
    }

    /// Gives the command the contents of this file of this machine as standard input. Running the task fails
    /// if it cannot be opened.
    pub fn file(self, path: impl Into<PathBuf>) -> Self {
        Self { input: Some(Input::File(path.into())), ..self }
    }

    /// Ends the command when it has run for this long.
    pub fn limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// Lets the command finish even if this process ends first, and lets what it leaves behind in the
    /// background go on: for commands that change a host, which should neither be left half done nor lose the
    /// daemons they start.
    pub fn lasting(self) -> Self {
        Self { lasting: true, ..self }
    }

    /// Lets the command's answer be as long as one of an agent: that of a host with hundreds of ranks is
    /// longer than what is kept of other commands.
    pub fn long(self) -> Self {
        Self { kept: Some(ANSWER), ..self }
    }

    /// Has the command get a terminal on the host, for [`crate::Fleet::command`] from a terminal.
    pub fn on_terminal(self) -> Self {
        Self { on_terminal: true, ..self }
    }
}
