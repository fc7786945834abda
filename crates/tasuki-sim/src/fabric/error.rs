//! Errors of a simulation.

use super::Deadlock;
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
