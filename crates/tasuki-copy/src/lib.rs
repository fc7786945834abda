//! Programs and files of a job on hosts that have no folder in common: what is sent ([`Wanted`]), in which
//! order hosts pass it on ([`chain()`]), and the folder on every host that goes when the job ends.
//!
//! A [`Copier`] gives orders to an [`agent`] on every host. The first host gets the contents from this
//! process; each host writes them down and passes them on at the same time over the rails to the next, so
//! that all have them in about the time of one copy. The contents are checked with a keyed sum, whose key
//! reaches hosts by the same secure way as the orders.
#![forbid(unsafe_code)]

pub mod agent;
mod chain;
mod copier;
mod environment;
mod error;
mod feed;
mod protocol;
mod select;
mod sum;

pub use chain::chain;
pub use copier::{Copied, Copier, Left};
pub use error::CopyError;
pub use protocol::AGENT_COMMAND;
pub use select::{Needed, Wanted};
