//! Putting Tasuki on hosts that ssh reaches, and taking it away again.
//!
//! [`Bundle`] is what a host gets: the command, the provider, and the libfabric in front. [`Installer`] puts
//! it, or a Debian package, on all hosts of a fleet at once. What happens on a host is a script for its `sh`
//! (`host.sh`), because nothing of ours is there yet.
#![forbid(unsafe_code)]

mod bundle;
mod error;
mod installer;
mod report;
mod words;

pub use bundle::Bundle;
pub use error::InstallError;
pub use installer::{Installer, Place, Step, What};
pub use report::{HostReport, Outcome};
