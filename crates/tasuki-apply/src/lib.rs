//! Setting hosts up by a cluster file, taking that back, and saying how they are: this host, or all hosts of
//! a fleet.
//!
//! [`apply`], [`undo`] and [`status`] act on this host. They put its parts into order: settings of the
//! kernel, interrupt delays, `tasuki watch`, `tasuki tune run` and systemd units, each with a record of what
//! was there before. The `*_all` functions have every host of a fleet do the same by its own `tasuki`.
#![forbid(unsafe_code)]

mod crash_point;
mod delays;
mod error;
mod fleet;
mod local;
mod options;
mod record;
mod report;
mod tuning;
mod watcher;

pub use error::ApplyError;
pub use fleet::{Step, apply_all, status_all, undo_all};
pub use local::{apply, status, undo};
pub use options::{ApplyOptions, HostOptions, UnitWish};
pub use record::{RUNTIME_FOLDER, is_kept, state_folder};
pub use report::{HostStatus, merge};
pub use tuning::{end_tuner, restore_tuning, tune_folder, tune_plan_folder};
pub use watcher::cluster_checksum;
