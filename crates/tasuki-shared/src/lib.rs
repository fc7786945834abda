//! Memory that processes on several hosts share: real pages, real faults, real messages around the protocol
//! of `tasuki-dsm`.
//!
//! A [`Shared`] is one process's part. Its threads use the memory as any other; a page that is not here, or
//! that may only be read, stops the thread until another thread has brought it (userfaultfd(2)). Two threads
//! of this crate serve: one answers faults of this process, one takes messages, so that pages leave a
//! process that computes.
//!
//! A process that dies takes the pages with it that it wrote last. The others are told, and end by default:
//! threads that wait for such a page could never go on.

mod core;
mod error;
mod kernel;
mod meeting;
mod note;
mod options;
mod prefetch;
mod segment;
mod send;
mod service;
mod shared;
mod watch;

pub use error::{Lost, OpenError};
pub use meeting::{Meeting, MeetingError, PlaceError};
pub use options::Options;
pub use segment::PAGE;
pub use shared::Shared;
pub use tasuki_dsm::{Access, Counters, NODES_MAX};
pub use watch::Watch;
