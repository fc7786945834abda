//! How a lab is to be built.

use crate::LabError;
use serde::{Deserialize, Serialize};
use tasuki_cluster::Rate;

/// How a lab is to be built: the options of `tasuki lab up`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LabOptions {
    /// Name of the lab, unique on the machine.
    pub name: String,
    /// Leave segmentation, receive-merging and checksum offloads of the hosts' NICs on. If they are off (the
    /// default), frames cross one by one, as on a cable.
    pub offloads: bool,
    /// Build cables as bare veth pairs, without rates and without wires in the middle, which shows the limits
    /// of the software. Faults need wires, so there are none in such a lab.
    pub unshaped: bool,
    /// Build hosts as they are before Tasuki is used: cables plugged in, NICs up, an interface to log in, but
    /// no addresses, routes, settings, names or table of rails.
    pub bare: bool,
    /// One rate for every cable, instead of those in the cluster file.
    pub rate: Option<Rate>,
    /// Seed of the faults' random numbers.
    pub seed: u32,
}

impl LabOptions {
    /// The defaults, with this name.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), offloads: false, unshaped: false, bare: false, rate: None, seed: 1 }
    }

    /// What holds the rate of a line of which the cluster file says `of_file`; `None`: nothing does.
    pub fn line_rate(&self, of_file: Rate) -> Option<Rate> {
        // A rate given to the lab holds for every cable.
        (!self.unshaped).then(|| self.rate.unwrap_or(of_file))
    }

    pub(crate) fn check(&self) -> Result<(), LabError> {
        check_name(&self.name)
    }
}

/// Checks a lab's name, which becomes part of an abstract socket's name (108 bytes) and of messages.
pub(crate) fn check_name(name: &str) -> Result<(), LabError> {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if (1..=40).contains(&name.len()) && begins_well && name.bytes().all(good) {
        return Ok(());
    }
    Err(LabError::BadName(name.into()))
}
