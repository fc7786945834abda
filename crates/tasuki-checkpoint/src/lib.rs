//! Checkpoints of programs that say themselves what they need to go on: every process of the program writes
//! its memory to the disk of its host and sends a copy to another host, and after a failure all go on from
//! the newest epoch of which every process's image is still somewhere.
//!
//! An *epoch* is one call of [`Checkpoint::save`] by all processes. It has no mark that says it is complete:
//! it is complete if all of its images are there and intact ([`image`]). A number that is drawn for each
//! epoch tells images of one call from those of an earlier try with the same epoch number, which a failure
//! may have left half done. Older epochs are removed when all processes have said that theirs is on the disk.
//!
//! The processes talk over a [`Group`], which the program provides: two functions, for instance of its MPI.
//! Nothing else here depends on what carries the messages.
#![forbid(unsafe_code)]

mod checkpoint;
mod error;
mod folder;
mod group;
pub mod image;
mod inventory;
pub mod keepers;
mod own;
mod restore;
mod save;
mod schedule;

pub use checkpoint::{Checkpoint, Options, Restored, Saved};
pub use error::Error;
pub use folder::Stamp;
pub use group::{Group, GroupError};
pub use schedule::Schedule;
