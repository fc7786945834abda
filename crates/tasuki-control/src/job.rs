//! Jobs and hosts, as they are spoken of.

use crate::{Checkpoint, Notice, Punctuality, Task, Terms};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A job's number. Numbers grow, and are never used again.
pub type JobId = u64;

/// Text of the operating system, which need not be UTF-8.
pub type Bytes = serde_bytes::ByteBuf;

/// What a job's ranks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Commands without an MPI.
    Plain,
    /// Ranks of an MPI that asks its launcher by PMI-1: MPICH, Intel MPI.
    Pmi1,
    /// Ranks of an Open MPI, which its own launcher starts.
    OpenMpi {
        /// The first so many words of the work's argv are the launcher's, without its list of hosts.
        launcher: u32,
    },
}

/// How ranks are dealt over hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Spread {
    /// One rank per host in turn.
    ByNode,
    /// A host's slots before the next host's.
    BySlot,
}

/// A limit of a process, as getrlimit(2) has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// The resource's number.
    pub resource: u32,
    /// The limit in force.
    pub soft: u64,
    /// The limit that it may be raised to.
    pub hard: u64,
}

/// What is to be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Number of ranks.
    pub ranks: u32,
    /// Program, as an absolute path, and arguments.
    pub argv: Vec<Bytes>,
    /// The whole environment, without what differs from rank to rank.
    pub env: Vec<(Bytes, Bytes)>,
    /// Working directory.
    pub folder: Bytes,
    /// Bits that new files do not get (umask(2)).
    pub umask: u32,
    /// The user's limits.
    pub limits: Vec<Limit>,
    /// What the ranks are.
    pub kind: Kind,
    /// The MPI, for people; `None`: without one.
    pub mpi: Option<String>,
    /// How ranks are dealt over hosts.
    pub spread: Spread,
    /// Whether messages go over Tasuki, for which a host must be set up.
    pub over_tasuki: bool,
    /// Whether the job ends when the command that submitted it does.
    pub attended: bool,
}

impl Work {
    /// The command, as people read it.
    pub fn command(&self) -> String {
        let launcher = if let Kind::OpenMpi { launcher } = self.kind { launcher } else { 0 };
        let words = self.argv.iter().skip(launcher as usize).map(|word| String::from_utf8_lossy(word));
        words.collect::<Vec<_>>().join(" ")
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Code(code) => write!(f, "ended with exit code {code}"),
            Exit::Signal(signal) => write!(f, "was killed by signal {signal}"),
        }
    }
}

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It waits for slots.
    Waiting,
    /// Its ranks run, or are being started or ended.
    Running,
    /// Its user has stopped it: it does not begin, or its ranks are frozen.
    Held,
    /// All ranks ended well.
    Done,
    /// It ended otherwise.
    Failed,
    /// Its user has ended it.
    Cancelled,
}

impl State {
    /// Its name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            State::Waiting => "waiting",
            State::Running => "running",
            State::Held => "held",
            State::Done => "done",
            State::Failed => "failed",
            State::Cancelled => "cancelled",
        }
    }

    /// Whether nothing more will happen to the job.
    pub fn is_over(self) -> bool {
        matches!(self, State::Done | State::Failed | State::Cancelled)
    }
}

/// A host's part of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The host's name.
    pub host: String,
    /// The ranks that it runs.
    pub ranks: Vec<u32>,
}

/// How a job that is being ended is going to end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// Its state then.
    pub state: State,
    /// Its exit code then.
    pub exit: i32,
    /// Why.
    pub reason: String,
}

/// A job, as it is shown and kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobView {
    /// Its number.
    pub id: JobId,
    /// Its state.
    pub state: State,
    /// Name of the user whose job it is.
    pub user: String,
    /// Number of ranks.
    pub ranks: u32,
    /// The command, as people read it.
    pub command: String,
    /// The MPI, if it has one.
    pub mpi: Option<String>,
    /// Where its ranks run, or ran; empty: it has not begun.
    pub parts: Vec<Part>,
    /// When it was submitted, seconds since 1970.
    pub submitted: u64,
    /// When it began.
    pub begun: Option<u64>,
    /// When it was over.
    pub ended: Option<u64>,
    /// Its exit code, once it is over: of the rank that failed first, or 0.
    pub exit: Option<i32>,
    /// Why it waits, or why it failed.
    pub reason: Option<String>,
    /// What its user wants of the queue.
    #[serde(default)]
    pub terms: Terms,
    /// Which task of which array it is, if it is one.
    #[serde(default)]
    pub task: Option<Task>,
    /// Seconds that its ranks stood still because it was held, or for an urgent job.
    #[serde(default)]
    pub held: u64,
    /// Since when they stand still, seconds since 1970, if they do.
    #[serde(default)]
    pub frozen: Option<u64>,
    /// Whether its user was told of its end, if that was wanted and is known.
    #[serde(default)]
    pub notice: Option<Notice>,
    /// How it is going to end, if its hosts were told to end it.
    #[serde(default)]
    pub ending: Option<Ending>,
    /// Its last checkpoint, from which it can go on after its end.
    #[serde(default)]
    pub checkpoint: Option<Checkpoint>,
    /// For how many seconds its processes have been saved, or made again from a checkpoint, if they are just
    /// now: they stand still.
    #[serde(default)]
    pub saving: Option<u64>,
    /// Why the last try of a checkpoint failed, if it did.
    #[serde(default)]
    pub unsaved: Option<String>,
    /// Why its last checkpoint was not copied to other hosts, if that was wanted and failed.
    #[serde(default)]
    pub uncopied: Option<String>,
}

impl JobView {
    /// What people call it: its number, or that of its array with its index.
    pub fn label(&self) -> String {
        match self.task {
            Some(Task { array, index }) => format!("{array}_{index}"),
            None => self.id.to_string(),
        }
    }

    /// Whether its ranks run now: they stand still neither for a user, nor an urgent job, nor a checkpoint.
    pub fn moves(&self) -> bool {
        self.state == State::Running && self.frozen.is_none() && self.saving.is_none()
    }

    /// Seconds from one checkpoint to the next, as things stand; `None`: there are none.
    pub fn interval(&self) -> Option<u64> {
        self.terms.interval(self.checkpoint.as_ref())
    }

    /// Why its user was not told of its end, if that was tried.
    pub fn untold(&self) -> Option<&str> {
        match &self.notice {
            Some(Notice::Failed(why)) => Some(why),
            _ => None,
        }
    }
}

/// Whether a host takes part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Presence {
    /// Its daemon is connected.
    Up,
    /// Its daemon is not connected; the text says since when, or what was tried.
    Lost(String),
    /// Its daemon is of another version, which is named.
    Other(String),
}

/// A host, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostView {
    /// Its name.
    pub host: String,
    /// Whether it takes part.
    pub presence: Presence,
    /// Ranks that it is made for.
    pub slots: u32,
    /// Slots that jobs hold.
    pub used: u32,
    /// The jobs that have ranks on it.
    pub jobs: Vec<JobId>,
    /// How well it keeps to the instants at which jobs that share it are switched.
    pub turns: Punctuality,
}
