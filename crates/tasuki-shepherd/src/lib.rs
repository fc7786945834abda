//! Starts and watches the ranks of one job on one host, and leaves nothing of them behind.
//!
//! The **shepherd** is a process of its own for each job and host ([`process_main`]), because only a
//! process can adopt a job's orphans (`PR_SET_CHILD_SUBREAPER`), and because a job is to outlive its
//! owner's restart. The owner has a [`Shepherd`] handle: it sends [`Command`]s and reads [`Event`]s over
//! a Unix socket.
//!
//! The shepherd makes a cgroup for the job where it can ([`Residence`]), starts each rank in it with the
//! rights of the job's [`User`], answers the ranks' PMI-1 (`tasuki-pmi`), gathers their output in whole
//! lines, feeds standard input to rank 0, freezes and thaws all of the job, and tells how each rank
//! ended. When all ranks have ended, it kills what they left behind, daemons included. It never ends a
//! job by itself, except when its owner is gone and the job is not to survive that, or has for long enough
//! ([`OwnerEnd`]).
//!
//! How it works, and what was measured: `docs/internals/resident-start.md`.

mod cgroup;
mod child;
mod commands;
mod error;
mod feed;
mod flock;
mod gate;
mod herd;
mod keeper;
mod message;
mod outbox;
mod output;
mod owner;
mod patience;
mod peer;
mod pmi;
mod priority;
mod process;
mod processes;
mod rank;
mod spec;
mod start;
mod sweep;
mod turns;
mod user;
mod wait;
mod wire;

pub use commands::Commands;
pub use error::ShepherdError;
pub use message::{Command, End, Event, RankState, Residence, State, Stream};
pub use owner::Shepherd;
pub use process::process_main;
pub use processes::{is_of_job, is_of_this_host};
pub use spec::{Ids, JobSpec, Limit, OwnerEnd, Pmi, Program, RankSpec, User};
pub use sweep::sweep;
pub use turns::{Kept, Turns};
pub use wire::{Inbox, Message};

/// Bytes of standard input that an owner may send beyond those that [`Event::InputTaken`] has told.
pub const INPUT_WINDOW: usize = 64 << 10;

/// Extension of the file beside a shepherd's socket that says how its job is held together, as JSON.
pub const RESIDENCE: &str = "residence";

/// The variable by which every process of a job is known: the job's [`JobSpec::id`].
pub const JOB_ID: &str = "TASUKI_JOB_ID";
