//! Why a user's wish is not fulfilled.

use tasuki_control::{JobId, State};
use thiserror::Error;

/// Why a user's wish is not fulfilled.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// There is no such job.
    #[error("there is no job {0}; `tasuki jobs --history` lists all")]
    NoJob(JobId),
    /// The job is another user's.
    #[error("job {job} is {owner}'s, and {user} is neither {owner} nor root")]
    NotYours {
        /// The job.
        job: JobId,
        /// The user whose job it is.
        owner: String,
        /// The user who asked.
        user: String,
    },
    /// The job is over.
    #[error("job {job} is {} already", state.name())]
    Over {
        /// The job.
        job: JobId,
        /// How it ended.
        state: State,
    },
    /// The job is not held.
    #[error("job {job} is not held: it is {}", state.name())]
    NotHeld {
        /// The job.
        job: JobId,
        /// Its state.
        state: State,
    },
    /// The job is held.
    #[error("job {0} is held already")]
    Held(JobId),
    /// The job is being ended.
    #[error("job {0} is being ended")]
    Ending(JobId),
    /// The job belongs to no command.
    #[error("job {0} was not begun by `tasuki run --resident`: it goes on without a command")]
    Unattended(JobId),
    /// Only root may have others' jobs stand still.
    #[error("an urgent job stops those of all others on its hosts: root alone may submit one")]
    Urgent,
    /// No set of hosts has so much memory.
    #[error("{ranks} ranks of {memory} bytes each never fit into the memory of the hosts")]
    Memory {
        /// Ranks of the job.
        ranks: u32,
        /// Bytes that each is said to need.
        memory: u64,
    },
    /// There is nothing to run, or too much.
    #[error("a job has 1 to {0} ranks and a program")]
    Shape(u32),
    /// What the user wants of the queue cannot be had.
    #[error("{0}")]
    Terms(String),
    /// A checkpoint cannot be taken, or not be gone on from.
    #[error("{0}")]
    Image(String),
    /// The user has too many jobs that wait.
    #[error(
        "{user} has {waiting} jobs waiting, of {most} that a user may have: submit again when some have \
         begun, or cancel some"
    )]
    Many {
        /// The user.
        user: String,
        /// Jobs that wait.
        waiting: usize,
        /// Most that may.
        most: u32,
    },
    /// The job wants more slots than a user's jobs may have together.
    #[error(
        "{slots} slots are more than the {most} that jobs of a user may hold together (those of {user} hold \
         {held}): ask for fewer ranks"
    )]
    Slots {
        /// The user.
        user: String,
        /// Slots that the job wants.
        slots: u32,
        /// Slots that the user's jobs hold.
        held: u32,
        /// Most that they may.
        most: u32,
    },
    /// The job wants to run longer than jobs may.
    #[error("{wanted} is longer than the {most} that a job may run: ask for less by --timeout")]
    Time {
        /// How long it wants to run.
        wanted: String,
        /// How long it may.
        most: String,
    },
}
