//! What all routing engines are told: which shortest path to take, and how many virtual channels there are.

use crate::error::RouteError;

/// Which of several shortest paths a destination gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathRule {
    /// The hosts of one switch get different paths in turn, beginning with the channel that serves the fewest
    /// destinations.
    SpreadPerHost,
    /// The lowest output port.
    LowPortFirst,
}

/// What the network has for routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Virtual channels per cable and direction.
    pub vcs: u8,
    /// Whether a full buffer stops the sender (credits, pause frames), so that routes can deadlock. Where
    /// packets are dropped instead, as by Ethernet and by relaying hosts, engines only choose paths and use
    /// one virtual channel.
    pub lossless: bool,
}

impl Limits {
    /// A lossless network with this many virtual channels.
    pub fn lossless(vcs: u8) -> Self {
        Self { vcs, lossless: true }
    }
    /// A network that drops packets, where no deadlock can arise.
    pub fn lossy() -> Self {
        Self { vcs: 1, lossless: false }
    }
}

/// The number of virtual channels that an engine needs, or the error that there are fewer.
pub(super) fn check_channels(engine: &'static str, need: u32, limits: Limits) -> Result<u8, RouteError> {
    match u8::try_from(need) {
        Ok(vcs) if vcs <= limits.vcs => Ok(vcs.max(1)),
        _ => {
            let hint = "up*/down* and any-channels need only one";
            Err(RouteError::NeedsChannels { engine, need, have: limits.vcs, hint })
        }
    }
}
