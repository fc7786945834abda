//! What the daemon that keeps the queue and the other daemons say to each other.

use crate::{
    Array, Exit, ImageOrder, ImageReport, JobId, Part, Punctuality, Record, Reply, Request, SessionId,
    Sharing, Table, Terms, User, Work,
};
use serde::{Deserialize, Serialize};

/// What ranks have put for each other until a fence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fence {
    /// The group of ranks that meet.
    pub group: String,
    /// Which fence of this group it is, counted from 1.
    pub number: u64,
    /// Names and values.
    pub puts: Vec<(String, String)>,
}

/// A host's part of a job, to be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// The job.
    pub job: JobId,
    /// Name of the user whose job it is.
    pub user: String,
    /// What is to be run.
    pub work: Work,
    /// All hosts of the job with their ranks.
    pub parts: Vec<Part>,
}

/// What the daemon that keeps the queue tells another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// The connection works.
    Beat,
    /// The answer to a command's request.
    Answer {
        /// The command.
        session: SessionId,
        /// The answer.
        reply: Reply,
    },
    /// Start ranks.
    Start(Box<Start>),
    /// All ranks of all hosts have reached a fence.
    Fenced {
        /// The job.
        job: JobId,
        /// What all have put.
        fence: Fence,
    },
    /// Standard input for rank 0, which is on this host. Empty: its end.
    Input {
        /// The job.
        job: JobId,
        /// Place of the first byte in the whole input.
        at: u64,
        /// The bytes.
        bytes: crate::Bytes,
    },
    /// Freeze the job's ranks.
    Freeze {
        /// The job.
        job: JobId,
    },
    /// Thaw the job's ranks.
    Thaw {
        /// The job.
        job: JobId,
    },
    /// End the job's ranks.
    End {
        /// The job.
        job: JobId,
    },
    /// What a host has reported of a job up to this number is written down, and need not be kept.
    Taken {
        /// The job.
        job: JobId,
        /// The number.
        number: u64,
    },
    /// The job is over, and nothing that a host knows of it will be asked for.
    Forget {
        /// The job.
        job: JobId,
    },
    /// Something about a checkpoint.
    Image(ImageOrder),
    /// From an instant on another table of slices holds.
    Table(Box<Table>),
    /// The answer to [`Report::Clock`].
    Clock {
        /// The asker's clock when it asked, ns.
        asked: u64,
        /// The monotonic clock of the host that keeps the queue when it answered, ns.
        at: u64,
    },
}

/// What a daemon tells the one that keeps the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// The connection works.
    Beat,
    /// What the host is; the first report of a connection.
    Present {
        /// Cores that ranks may use.
        cores: u32,
        /// Memory, in bytes; 0: unknown.
        memory: u64,
        /// The jobs that an earlier connection has left here. What is told of them begins anew.
        jobs: Vec<JobId>,
    },
    /// What time is it where the queue is kept?
    Clock {
        /// The monotonic clock of this host, ns.
        asked: u64,
    },
    /// A command asks something.
    Request {
        /// The command.
        session: SessionId,
        /// Its user.
        user: User,
        /// What it asks.
        request: Request,
    },
    /// A command has gone.
    Gone {
        /// The command.
        session: SessionId,
    },
    /// All ranks of this host have reached a fence.
    Fence {
        /// The job.
        job: JobId,
        /// What they have put.
        fence: Fence,
    },
    /// A rank will never come to a fence: it ended before MPI_Init or after MPI_Finalize.
    Absent {
        /// The job.
        job: JobId,
        /// The rank.
        rank: u32,
    },
    /// Ranks have written something.
    Output {
        /// The job.
        job: JobId,
        /// Number of the first record among all that this host tells of the job; the others follow it.
        first: u64,
        /// What they wrote.
        records: Vec<Record>,
    },
    /// Everything that has a number up to this one was reported.
    Heard {
        /// The job.
        job: JobId,
        /// The number.
        number: u64,
    },
    /// How much standard input rank 0 has read, or the first process on this host if that is another one;
    /// said when a job begins or is taken over, and as it goes on.
    InputTaken {
        /// The job.
        job: JobId,
        /// Bytes since the job began.
        bytes: u64,
    },
    /// Rank 0 reads no more from its standard input.
    InputClosed {
        /// The job.
        job: JobId,
    },
    /// A rank has ended.
    Exited {
        /// The job.
        job: JobId,
        /// The rank.
        rank: u32,
        /// How.
        exit: Exit,
    },
    /// The job cannot go on.
    Broken {
        /// The job.
        job: JobId,
        /// Why.
        why: String,
        /// The exit code that follows, where there is one: of MPI_Abort.
        code: Option<i32>,
    },
    /// No process of the job is left on this host.
    Left {
        /// The job.
        job: JobId,
    },
    /// Something about a checkpoint.
    Image(ImageReport),
    /// How well this host has kept to the table since it last said so.
    Turns(Punctuality),
}

impl Order {
    /// The job that it is about; `None`: about none alone.
    pub fn job(&self) -> Option<JobId> {
        match self {
            Order::Start(start) => Some(start.job),
            Order::Image(order) => Some(order.job()),
            Order::Fenced { job, .. }
            | Order::Input { job, .. }
            | Order::Freeze { job }
            | Order::Thaw { job }
            | Order::End { job }
            | Order::Taken { job, .. }
            | Order::Forget { job } => Some(*job),
            Order::Beat | Order::Answer { .. } | Order::Table(_) | Order::Clock { .. } => None,
        }
    }
}

impl Report {
    /// The job that it is about; `None`: about none alone.
    pub fn job(&self) -> Option<JobId> {
        match self {
            Report::Fence { job, .. }
            | Report::Absent { job, .. }
            | Report::Output { job, .. }
            | Report::Heard { job, .. }
            | Report::InputTaken { job, .. }
            | Report::InputClosed { job }
            | Report::Exited { job, .. }
            | Report::Broken { job, .. }
            | Report::Left { job } => Some(*job),
            Report::Image(report) => Some(report.job()),
            Report::Beat
            | Report::Present { .. }
            | Report::Clock { .. }
            | Report::Request { .. }
            | Report::Gone { .. }
            | Report::Turns(_) => None,
        }
    }

    /// A report with something of everything, for tests.
    #[doc(hidden)]
    pub fn sample() -> Self {
        let word = |text: &str| crate::Bytes::from(text.as_bytes());
        Report::Request {
            session: 7,
            user: User { name: "anna".into(), is_root: false },
            request: Request::Submit {
                terms: Box::new(Terms {
                    name: Some("night".into()),
                    timeout: Some(600),
                    after: vec![3],
                    array: Some(Array { first: 0, last: 9, step: 1, limit: Some(2) }),
                    sharing: Sharing { share: true, urgent: false, memory: Some(1 << 30) },
                    ..Terms::default()
                }),
                work: Box::new(Work {
                    ranks: 2,
                    argv: vec![word("/bin/true"), word("x")],
                    env: vec![(word("A"), word("b"))],
                    folder: word("/"),
                    umask: 0o22,
                    limits: vec![crate::Limit { resource: 7, soft: 1024, hard: 4096 }],
                    kind: crate::Kind::Pmi1,
                    mpi: Some("mpich-5.0".into()),
                    spread: crate::Spread::ByNode,
                    over_tasuki: true,
                    attended: false,
                }),
            },
        }
    }
}
