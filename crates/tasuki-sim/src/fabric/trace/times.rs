//! What a message costs besides the cables.

/// Shortest packet, bytes; a message without bytes is one, too.
pub const LEAST_BYTES: u32 = 16;

/// Parameters of a replay besides the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceTimes {
    /// Time that a host takes for a message that it sends, ps.
    pub send: u64,
    /// Time that a host takes for a message that it receives, from the arrival of its last packet on, ps.
    pub receive: u64,
    /// Most payload of a packet, bytes; longer messages are divided.
    pub packet_bytes: u32,
    /// Bytes that every packet has besides its payload.
    pub header_bytes: u32,
    /// Length of the shortest packet, bytes.
    pub least_bytes: u32,
}

impl TraceTimes {
    /// A host takes `host` ps for every message at either end; packets have no headers, and
    /// [`LEAST_BYTES`] or more.
    pub fn plain(host: u64, packet_bytes: u32) -> Self {
        Self { send: host, receive: host, packet_bytes, header_bytes: 0, least_bytes: LEAST_BYTES }
    }
}
