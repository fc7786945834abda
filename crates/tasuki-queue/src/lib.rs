//! The queue of a cluster's jobs: which job waits, runs or is held, where its ranks run, and which user may
//! do what with it. Pure: events and times go in, [`Action`]s come out, so that tests replay any order of
//! events. Times are seconds of a clock that nobody sets, so that jobs run and wait as long as they should;
//! [`Queue::set_ahead`] says how much the clock of the day is ahead of it.
//!
//! Jobs begin in the order of submission and priority; others pass one that waits for slots if that does not
//! delay it. A job takes one slot per rank; one that has more ranks than the cluster has slots takes all of
//! them. A job that is held while it runs keeps its slots.
#![forbid(unsafe_code)]

mod action;
mod array;
mod attendance;
mod away;
mod change;
mod entry;
mod error;
mod floor;
mod gate;
mod hosts;
mod image;
mod place;
mod progress;
mod queue;
mod rows;
mod savable;
mod schedule;
mod slicer;
mod terms;
mod users;

pub use action::{Action, Client, HostIndex, Rows, Saved};
pub use attendance::{PATIENCE, RETURN};
pub use error::Refusal;
pub use image::{begin_save, due_for_save, job_back, keeper, revive};
pub use queue::Queue;
pub use slicer::Slicer;
