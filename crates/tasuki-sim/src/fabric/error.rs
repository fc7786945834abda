//! What can go wrong with a simulation.

use super::Deadlock;
use thiserror::Error;

/// Why a fabric cannot be simulated as asked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FabricError {
    /// Tables of another network.
    #[error(
        "the tables have {tables} destinations, the network has {hosts} hosts; make tables for this network"
    )]
    OtherTables {
        /// Destinations in the tables.
        tables: usize,
        /// Hosts of the network.
        hosts: usize,
    },
    /// Tables that lead a packet nowhere.
    #[error("packets from {from} to {to} do not arrive; verify the tables")]
    NoWay {
        /// Source.
        from: String,
        /// Destination.
        to: String,
    },
    /// Tables that use a virtual channel beyond those they claim.
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
        /// Number claimed.
        vcs: usize,
    },
    /// Too many virtual channels.
    #[error("{vcs} virtual channels are more than the simulator takes; use at most 254")]
    TooManyChannels {
        /// Number claimed.
        vcs: u8,
    },
    /// A packet that no buffer could ever hold.
    #[error(
        "a packet of {bytes} bytes does not fit a buffer of {buffer}; use larger buffers or smaller packets"
    )]
    PacketTooLarge {
        /// Its size.
        bytes: u32,
        /// Size of the buffers.
        buffer: u32,
    },
    /// A load that the network cannot carry.
    #[error("{0}")]
    Load(String),
    /// Packets wait for each other in a circle.
    #[error(transparent)]
    Deadlock(#[from] Deadlock),
}
