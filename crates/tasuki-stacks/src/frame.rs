//! Frames, threads and processes.

use crate::jobs::Claim;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One call that has not returned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// The function; `None`: no symbol is known at its address.
    pub function: Option<String>,
    /// The source file, as the compiler was given it; `None`: the program or library has no debug
    /// information.
    pub file: Option<String>,
    /// The line there.
    pub line: Option<u32>,
    /// The library; `None`: the program itself, or unknown.
    pub library: Option<String>,
    /// The function of another library that it has called, as the instruction of the call says; `None`:
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<String>,
}

impl Frame {
    /// The function's name, or a question mark as gdb prints it.
    pub fn name(&self) -> &str {
        self.function.as_deref().unwrap_or("??")
    }

    /// File and line, or the library; nothing if neither is known.
    pub fn source(&self) -> Option<String> {
        let base = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
        match (&self.file, self.line, &self.library) {
            (Some(file), Some(line), _) => Some(format!("{}:{line}", base(file))),
            (Some(file), None, _) => Some(base(file)),
            (None, _, Some(library)) => Some(base(library)),
            (None, _, None) => None,
        }
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source() {
            Some(source) => write!(f, "{} at {source}", self.name()),
            None => f.write_str(self.name()),
        }
    }
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// Its id, which is the process's for the one that runs `main`.
    pub id: u32,
    /// Its name; empty: unknown.
    pub name: String,
    /// Its frames, innermost first.
    pub frames: Vec<Frame>,
}

/// A process that uses Tasuki, or a rank of a job that may come to use it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessStacks {
    /// The host's name.
    pub host: String,
    /// Process id on that host.
    pub pid: u32,
    /// The address of its endpoint, which no other process has; empty: it has not come to Tasuki.
    pub address: String,
    /// The program's name.
    pub program: String,
    /// Its rank, if a launcher has set one.
    pub rank: Option<u32>,
    /// How many ranks its job has, if its launcher says so.
    pub ranks: Option<u32>,
    /// The job of the resident runtime that it belongs to.
    pub job: Option<String>,
    /// The name of its user, as its host knows him.
    #[serde(default)]
    pub user: Option<String>,
    /// Receives that it has posted and that no message has matched yet.
    pub receives_posted: u64,
    /// Messages that have come before a receive for them.
    pub unexpected: u64,
    /// Sends that are not complete.
    pub sends_pending: u64,
    /// Its threads, the first one first.
    pub threads: Vec<Thread>,
    /// Why its threads are not known.
    pub problem: Option<String>,
}

impl ProcessStacks {
    /// What it says of its job.
    pub(crate) fn claim(&self) -> Claim<'_> {
        Claim { host: &self.host, job: self.job.as_deref(), user: self.user.as_deref() }
    }
}
