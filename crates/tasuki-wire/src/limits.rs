//! Sizes and limits of the format.

/// Size of the header, bytes.
//= docs/reference/wire.md#packet
//# A packet is a header of 32 bytes and one or more frames
pub const HEADER_LEN: usize = 32;

/// Ethertype of Ethernet frames that carry one packet each.
//= docs/reference/wire.md#carriage
//# frames have the type 0x88B5
pub const ETHERTYPE: u16 = 0x88b5;

/// Size of the tag that every packet of a job with a key ends in, bytes.
//= docs/reference/wire.md#who-may-speak
//# flag bit 0 is set in every packet, and its last 16 bytes are a keyed tag.
pub const TAG_LEN: usize = 16;

/// Largest packet that the length field can hold, bytes.
pub const MAX_PACKET_LEN: usize = u16::MAX as usize;

/// Most runs of packet numbers in one ack.
//= docs/reference/wire.md#ack
//# A frame holds at most 64 runs, so count is at most 63.
pub const MAX_ACK_RUNS: usize = 64;

/// Most rails between two endpoints; rails are numbered below this.
//= docs/reference/wire.md#carriage
//# A *rail* is a way between two hosts, numbered 0 to 31 by agreement of the two endpoints.
pub const MAX_RAILS: usize = 32;

/// Smallest MTU of a rail, bytes: that of IPv6, so that every IP path is good enough.
//= docs/reference/wire.md#rail
//# largest Ethernet or IP payload of the rail, at least 1280
pub const MIN_MTU: u16 = 1280;

/// Largest packet number.
//= docs/reference/wire.md#packet
//# A path whose numbers are used up (2^48 of them: nine years at a million packets per second) must fall
//# silent.
pub const MAX_PACKET_NUMBER: u64 = (1 << 48) - 1;

/// What a lane puts in front of a packet within the rail's MTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carriage {
    /// The packet is the payload of an Ethernet frame (raw, AF_XDP with our own ethertype).
    Ethernet,
    /// UDP over IPv4 without options.
    UdpV4,
    /// UDP over IPv6 without extension headers.
    UdpV6,
}

impl Carriage {
    /// Bytes of the MTU that the packet cannot use.
    pub const fn overhead(self) -> usize {
        match self {
            Carriage::Ethernet => 0,
            Carriage::UdpV4 => 20 + 8,
            Carriage::UdpV6 => 40 + 8,
        }
    }

    /// The largest packet on a rail of this MTU, bytes.
    //= docs/reference/wire.md#sizes
    //# The largest packet is the MTU of the rail less what the lane puts in front of it
    pub const fn packet_len(self, mtu: u16) -> usize {
        (mtu as usize).saturating_sub(self.overhead())
    }
}
