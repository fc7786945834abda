//! Applying a host's part of the address plan to the machine (or lab host) that we are on, and taking it
//! back.
//!
//! A host's state is a map from [`Key`] to [`Value`]. [`Wanted`] says what a host is to have, the kernel and
//! the file system say what it has, a pure function gives the [`Change`]s between them, and [`Setup`] makes
//! them, after it has written down how things were ([`Record`]).
//!
//! Everything acts on the network namespace of the calling thread, so the lab's hosts and real machines are
//! configured by the same code.
#![forbid(unsafe_code)]

mod apply;
pub mod daemon;
mod delay;
mod delay_control;
mod desired;
mod difference;
mod error;
mod files;
mod forgets;
mod identity;
mod journal;
mod kernel;
mod lock;
mod login;
mod names;
mod offload;
mod persist;
mod reroute;
mod returned;
mod rings;
mod setup;
mod state;
mod status;

pub use apply::apply;
pub use daemon::DaemonError;
pub use delay::{DelayLook, Means, MeansLook};
pub use delay_control::{DelayControl, NicCounts};
pub use desired::{NicWish, Wanted};
pub use error::HostError;
pub use files::{FOR_ALL, replace as replace_file};
pub use journal::{Record, here};
pub use lock::Lock;
pub use login::login_interfaces;
pub use names::HOSTS_FILE;
pub use offload::set_offloads;
pub use persist::{Persistence, RUNTIME_UNIT, TUNE_UNIT, UNIT, UNIT_FOLDER, WATCH_UNIT, names_end};
pub use reroute::{LinkLook, Rerouted, Rerouting};
pub use rings::RingLength;
pub use setup::{Mode, Report, Setup, Wish};
pub use state::{
    Change, CoalescingValue, Hop, Key, NapiDelayValue, RingsValue, RouteValue, StripingValue, Value,
};
pub use status::{Following, LinkState, Status};
pub use tasuki_cluster::{Delay, ParseDelayError};
