//! Errors of a simulation.

use std::fmt;
use thiserror::Error;

/// Why a fabric cannot be simulated as asked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FabricError {
    /// The tables are those of another network.
    #[error(
        "the tables have {tables} destinations, the network has {hosts} hosts; make tables for this network"
    )]
    OtherTables {
        /// Destinations in the tables.
        tables: usize,
        /// Hosts of the network.
        hosts: usize,
    },
    /// The tables lead a packet nowhere.
    #[error("packets from {from} to {to} do not arrive; verify the tables")]
    NoWay {
        /// Source.
        from: String,
        /// Destination.
        to: String,
    },
    /// The tables use a virtual channel beyond those that they claim.
    #[error(
        "packets from {from} to {to} need virtual channel {vc}, the tables claim {vcs}; verify the tables"
    )]
    ChannelExceeded {
        /// Source.
        from: String,
        /// Destination.
        to: String,
        /// Virtual channel.
        vc: u8,
        /// Number of virtual channels that the tables claim.
        vcs: usize,
    },
    /// The tables have too many virtual channels.
    #[error("{vcs} virtual channels are more than the simulator takes; use at most 254")]
    TooManyChannels {
        /// Number of virtual channels that the tables claim.
        vcs: u8,
    },
    /// A packet is larger than any buffer.
    #[error(
        "a packet of {bytes} bytes does not fit a buffer of {buffer}; use larger buffers or smaller packets"
    )]
    PacketTooLarge {
        /// Size of the packet, bytes.
        bytes: u32,
        /// Size of the buffers, bytes.
        buffer: u32,
    },
    /// The network cannot carry the load.
    #[error("{0}")]
    Load(String),
    /// Packets wait for each other in a circle.
    #[error(transparent)]
    Deadlock(#[from] Deadlock),
}

/// Buffers that wait for each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// When it was found, ps; it may have existed for a while.
    pub at_ps: u64,
    /// Channel and virtual channel of each buffer. The head of each waits for room in the next one, and the
    /// last for the first.
    pub circle: Vec<(String, u8)>,
    /// Number of packets that are stuck in these buffers.
    pub packets: usize,
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.circle.iter().map(|(name, vc)| format!("{name} vc {vc}")).collect();
        write!(
            f,
            "deadlock after {:.1} us: {} packets hold and want {} in a circle; route with more virtual \
             channels, or with an engine that needs none (up-down)",
            self.at_ps as f64 / 1e6,
            self.packets,
            names.join(", ")
        )
    }
}

impl std::error::Error for Deadlock {}
