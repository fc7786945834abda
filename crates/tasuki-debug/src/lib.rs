//! A debugger on every rank: gdb where each runs, and one prompt for all of them.
//!
//! Every host has an agent ([`agent`]) that runs a gdb for each of its processes that are meant, and answers
//! each [`Order`] with what they have said since the one before. [`Ranks`] gives orders to all of them, and
//! [`merged`] brings equal answers together. When an agent's input ends, however that comes about, its
//! debuggers let their processes go on.
#![forbid(unsafe_code)]

pub mod agent;
mod follow;
mod gdb;
mod line;
mod merge;
mod one_job;
mod order;
mod program;
mod ranks;
pub mod session;
mod stand;
mod target;
mod windows;

pub use agent::AGENT_COMMAND;
pub use line::Line;
pub use merge::{Merged, merged};
pub use one_job::several_jobs;
pub use order::{Order, State};
pub use ranks::{Member, Ranks};
pub use stand::{STOPS, stand};
pub use target::{Debuggee, Target};
pub use windows::windows;
