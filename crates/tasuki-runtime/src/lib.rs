//! `tasukid`, the resident runtime: a daemon on every host of a cluster, which starts jobs without ssh.
//!
//! The daemon of the cluster's first host keeps the queue ([`tasuki_queue`]); those of the others connect to
//! it, over TLS, with keys that were made for this cluster ([`Bundle`]). Commands connect to the daemon of
//! their host ([`Client`]), which says to the queue who their user is, as the kernel knows it. Ranks are
//! started by a shepherd, one for each job and host ([`tasuki_shepherd`]).
#![forbid(unsafe_code)]

mod bundle;
mod client;
mod clock;
mod copies;
mod daemon;
mod error;
mod head;
mod hub;
mod images;
mod journal;
mod keys;
mod log;
#[cfg(test)]
mod meeting;
mod note;
mod present;
mod sessions;
mod shelter;
mod start;
mod steady;
mod turns;
mod uplink;
mod wire;
mod worker;

pub use bundle::{Bundle, Member, PORT};
pub use client::{Client, is_here};
pub use daemon::run;
pub use error::RuntimeError;
pub use note::DaemonNote;
pub use sessions::SOCKET;
pub use start::{StartError, end_local, note, remove_local, start_again, start_all, start_local};
pub use steady::{Attendant, Steady};
