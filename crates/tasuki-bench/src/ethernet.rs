//! The time that frames take on an Ethernet line, and the payload that a protocol can carry on it.

/// Ethernet header: two addresses and the type.
pub const HEADER_BYTES: u64 = 14;
/// Shortest frame without its check sequence (IEEE 802.3, 4.2.3.3: 64 bytes with it); shorter ones are
/// padded.
pub const SHORTEST_FRAME_BYTES: u64 = 60;
/// Frame check sequence.
pub const CHECK_BYTES: u64 = 4;
/// Preamble and start-of-frame delimiter.
pub const PREAMBLE_BYTES: u64 = 8;
/// Gap between frames.
pub const GAP_BYTES: u64 = 12;
/// IPv4 header without options.
pub const IPV4_BYTES: u64 = 20;
/// TCP header without options.
pub const TCP_BYTES: u64 = 20;
/// TCP timestamps option, padded.
pub const TCP_TIMESTAMPS_BYTES: u64 = 12;
/// UDP header.
pub const UDP_BYTES: u64 = 8;

/// Byte times that a frame takes on the line. `frame_bytes` counts from the destination address to the end of
/// the payload, as a packet socket sees it.
pub const fn wire_bytes(frame_bytes: u64) -> u64 {
    let padded = if frame_bytes < SHORTEST_FRAME_BYTES { SHORTEST_FRAME_BYTES } else { frame_bytes };
    padded + CHECK_BYTES + PREAMBLE_BYTES + GAP_BYTES
}

/// How a protocol fills frames of an MTU when it streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Payload bytes of a full frame.
    pub payload_bytes: u64,
    /// Bytes of a full frame, Ethernet header included, without check sequence.
    pub frame_bytes: u64,
}

impl Framing {
    /// TCP over IPv4. `None` if the MTU has no room for payload.
    pub fn tcp(mtu: u64, timestamps: bool) -> Option<Self> {
        let options = if timestamps { TCP_TIMESTAMPS_BYTES } else { 0 };
        Self::with_overhead(mtu, IPV4_BYTES + TCP_BYTES + options)
    }

    /// UDP over IPv4, without fragments.
    pub fn udp(mtu: u64) -> Option<Self> {
        Self::with_overhead(mtu, IPV4_BYTES + UDP_BYTES)
    }

    /// Frames of an ethertype of their own.
    pub fn raw(mtu: u64) -> Option<Self> {
        Self::with_overhead(mtu, 0)
    }

    fn with_overhead(mtu: u64, overhead: u64) -> Option<Self> {
        let payload_bytes = mtu.checked_sub(overhead).filter(|payload| *payload > 0)?;
        Some(Self { payload_bytes, frame_bytes: mtu + HEADER_BYTES })
    }

    /// Share of the line's bits that are payload, 0 to 1.
    pub fn efficiency(&self) -> f64 {
        self.payload_bytes as f64 / wire_bytes(self.frame_bytes) as f64
    }

    /// Payload bytes per second on a line of this rate that is always full.
    pub fn goodput(&self, bits_per_second: u64) -> f64 {
        bits_per_second as f64 / 8.0 * self.efficiency()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // IEEE 802.3: a shortest frame takes 64 + 8 + 12 = 84 byte times, 1.488 million per second at 1 Gbit/s;
    // a full one 1538, 81 274 per second.
    #[test]
    fn frame_rates_are_the_well_known_ones() {
        assert_eq!(wire_bytes(14), 84);
        assert_eq!(wire_bytes(60), 84);
        assert_eq!(wire_bytes(61), 85);
        assert_eq!(wire_bytes(1514), 1538);
        assert_eq!(1_000_000_000 / 8 / wire_bytes(60), 1_488_095);
        assert_eq!(1_000_000_000 / 8 / wire_bytes(1514), 81_274);
    }

    // RFC 793 and 7323 headers in a 1500-byte MTU: 1448 or 1460 bytes of 1538 byte times.
    #[test]
    fn goodput_of_a_gigabit_line() {
        let megabytes =
            |framing: Option<Framing>| framing.map(|f| f.goodput(1_000_000_000) / 1e6).unwrap_or(0.0);
        for (framing, expected) in [
            (Framing::tcp(1500, true), 117.685),
            (Framing::tcp(1500, false), 118.661),
            (Framing::udp(1500), 119.636),
            (Framing::raw(1500), 121.912),
            (Framing::tcp(9000, true), 123.755),
        ] {
            let value = megabytes(framing);
            assert!((value - expected).abs() < 0.001, "{framing:?}: {value}, should be {expected}");
        }
        assert_eq!(Framing::tcp(40, false), None);
        assert_eq!(Framing::udp(28), None);
    }
}
