//! What commands ask, and what they get.

use crate::{Bytes, Checkpoint, Epoch, HostView, JobId, JobView, Terms, UserLimits, Work};
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
    /// What jobs there are, in the order of their numbers. An answer has as many as a message may hold.
    Jobs {
        /// Also those that are over.
        history: bool,
        /// From this number on.
        from: JobId,
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
    /// Save a job's processes on all its hosts. The answer comes when that is done.
    Checkpoint {
        /// The job.
        job: JobId,
    },
    /// Have a job that is over go on from a checkpoint. The answer comes when its processes go on.
    Restart {
        /// The job.
        job: JobId,
        /// The checkpoint; `None`: the last one.
        epoch: Option<Epoch>,
    },
    /// Jobs that share slots take turns of another length.
    Slice {
        /// Length of a slice, ns.
        ns: u64,
    },
    /// The command that asks takes the place of the one that attended the job, and had to connect anew.
    Attend {
        /// The job.
        job: JobId,
    },
    /// Standard input for rank 0. The answer comes when there is room for more.
    Input {
        /// The job.
        job: JobId,
        /// Place of the first byte in the whole input. What is known already is passed over.
        at: u64,
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
    /// It cannot be asked now, since the queue is not connected; the text says why. Nothing is known of
    /// what was asked before and not answered.
    Apart(String),
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
        /// The number from which on there are more; `None`: these are the last ones.
        next: Option<JobId>,
        /// What people call the jobs whose users could not be told of their end.
        untold: Vec<String>,
    },
    /// A checkpoint of a job was taken.
    Saved(Checkpoint),
    /// The job goes on from this checkpoint.
    Restarted(Epoch),
    /// The new job's number.
    Submitted(JobId),
    /// The input will reach rank 0, or it reads no more.
    Input {
        /// Bytes of the whole input that it has taken, which need not be kept any more.
        taken: u64,
    },
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
