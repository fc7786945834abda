//! The environment variables that endpoints, the libfabric provider, the `tasuki` command, the ranks of
//! submitted jobs and the tests read.
//!
//! The list is one for all: `tasuki info` prints it, the engine takes names and allowed values of its options
//! from it, and a test compares it with `docs/reference/environment.md`.

mod checkpoints;
mod command;
mod endpoints;
mod jobs;
mod provider;
mod test_suites;
mod variable;

pub use checkpoints::{CHECKPOINT, CHECKPOINT_EVERY, CHECKPOINT_FAILURES};
pub use command::{LAB_JOB, PEERS, PROVIDER};
pub use endpoints::{
    BROKER, BULK, DUMP, GREETING, IDENTITY, JOB_KEY, LANES, LINGER, POOL, PRIORITY, RAILS, RATE, RINGS,
    SENDER_COPIES, SHM, STATS,
};
pub use provider::{ANSWER_CLAIMED, LIBFABRIC, LOG, PEER_FAILURE, TRACE};
pub use variable::{Reader, Values, Variable};

/// All variables, by reader.
pub fn variables() -> impl Iterator<Item = &'static Variable> {
    let parts = [endpoints::ALL, checkpoints::ALL, provider::ALL, command::ALL, jobs::ALL, test_suites::ALL];
    parts.into_iter().flatten()
}
