//! What commands ask, and what they get.

use crate::{Bytes, HostView, JobId, JobView, Terms, UserLimits, Work};
use serde::{Deserialize, Serialize};

/// A command's connection to the daemon of its host; unique on that host while the daemon runs.
pub type SessionId = u64;

/// Most bytes of standard input in one request.
pub const INPUT_MAX: usize = 32 << 10;

/// The user that a command runs as, as the kernel says (unix(7), SO_PEERCRED).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// The user's name, which stands for the same user on all hosts.
    pub name: String,
    /// Whether it is root, who may do everything.
    pub is_root: bool,
}

/// What a command asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// How the hosts are.
    Hosts,
    /// What jobs there are.
    Jobs {
        /// Also those that are over.
        history: bool,
    },
    /// A new job.
    Submit {
        /// What is to be run.
        work: Box<Work>,
        /// When, how long and how often.
        terms: Box<Terms>,
    },
    /// A job's output from this place on. The answer comes when there is some, or when the job is over.
    Follow {
        /// The job.
        job: JobId,
        /// How many bytes of its log are known already.
        from: u64,
    },
    /// End a job.
    Cancel {
        /// The job.
        job: JobId,
    },
    /// Keep a job from starting, or freeze it.
    Hold {
        /// The job.
        job: JobId,
    },
    /// Take a hold back.
    Resume {
        /// The job.
        job: JobId,
    },
    /// Jobs that share slots take turns of another length.
    Slice {
        /// Length of a slice, ns.
        ns: u64,
    },
    /// Standard input for rank 0. The answer comes when there is room for more.
    Input {
        /// The job.
        job: JobId,
        /// The bytes, at most [`INPUT_MAX`]. Empty: its end.
        bytes: Bytes,
    },
}

/// The stream that a rank wrote to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Error,
}

/// A piece of a rank's output: whole lines, or a part of a line that is long or is waited with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The rank.
    pub rank: u32,
    /// The stream.
    pub stream: Stream,
    /// The bytes.
    pub bytes: Bytes,
}

/// What a daemon answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// It is done.
    Done,
    /// It is not done; the text says why, and what helps.
    Refused(String),
    /// How the hosts are.
    Hosts {
        /// The cluster's name.
        cluster: String,
        /// The host that keeps the queue.
        head: String,
        /// Whether the hosts are a lab's, which share one machine.
        lab: bool,
        /// Whether every packet between hosts carries a keyed tag, for which jobs need a key.
        authenticate: bool,
        /// The hosts, in the cluster's order.
        hosts: Vec<HostView>,
        /// What the jobs of each user may take.
        limits: UserLimits,
    },
    /// The jobs.
    Jobs {
        /// In the order of their numbers.
        jobs: Vec<JobView>,
        /// What people call the jobs whose users could not be told of their end.
        untold: Vec<String>,
    },
    /// The new job's number.
    Submitted(JobId),
    /// Output.
    Output {
        /// What ranks wrote.
        records: Vec<Record>,
        /// Where the log goes on.
        next: u64,
    },
    /// All output is known, and the job is over.
    Over(Box<JobView>),
}
