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
    /// The user has too many jobs that wait.
    #[error("{0} has {1} jobs waiting, and no user may have more")]
    Many(String, usize),
}
