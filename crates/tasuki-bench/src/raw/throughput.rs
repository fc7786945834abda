//! The throughput test: one side sends as fast as it can or is told to, the other counts what arrives.

mod count;
mod send;

pub(super) use count::{Segments, Window, count_tcp, count_udp, receive_frames};
pub(super) use send::{BATCH, Pacer, segment_batch, send_frames, send_tcp, send_udp};

use super::{control::Counted, outcome::Throughput, protocol::Protocol};
use crate::ethernet::{HEADER_BYTES, IPV4_BYTES, UDP_BYTES, wire_bytes};
use std::time::Duration;

/// Longest single wait of either side.
const NAP: Duration = Duration::from_millis(20);
/// Send buffer of datagrams and frames, bytes; the kernel doubles it (socket(7)) and counts some 2,300 bytes
/// for a full frame, so that it holds 450. A full buffer takes frames again when half of it is free. By that
/// reckoning a line of 100 Mbit/s idles when the sender is off its processor for 28 ms, with the system's
/// usual size (213 kB, 92 frames) when it is for 6 ms.
pub(super) const SEND_BUFFER_BYTES: u32 = 512 << 10;

/// Byte times of a UDP datagram with `payload` bytes of payload on the line.
pub(super) fn udp_wire(payload: usize) -> u64 {
    wire_bytes(HEADER_BYTES + IPV4_BYTES + UDP_BYTES + payload as u64)
}

/// The result of the test from the figures of both sides.
pub(super) fn result(
    protocol: Protocol,
    counted: &Counted,
    sent_frames: u64,
    cpu_s: f64,
    line_bits_per_second: Option<u64>,
) -> Throughput {
    let each = counted.payload_bytes / counted.frames.max(1);
    let mut result = Throughput {
        protocol,
        payload_bytes: counted.payload_bytes,
        frames: counted.frames,
        full_payload_bytes: if counted.full_payload_bytes > 0 { counted.full_payload_bytes } else { each },
        wire_bits: counted.wire_bits,
        seconds: counted.seconds,
        line_fraction: None,
        window_unix_s: counted.window_unix_s,
        sent_frames,
        received_frames: counted.received_frames,
        ring_drops: counted.ring_drops,
        cpu_s,
        moved_bytes: counted.moved_bytes,
    };
    result.line_fraction =
        line_bits_per_second.filter(|rate| *rate > 0).map(|rate| result.wire_bits_per_second() / rate as f64);
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    const MS: Duration = Duration::from_millis(1);

    /// Counts of arrivals of a full frame each, given by milliseconds since the first and whether the
    /// receiver had waited.
    fn window(arrivals: &[(u32, bool)]) -> Counted {
        let start = Instant::now();
        let mut window = Window::new(10 * MS);
        for (at, waited) in arrivals {
            window.arrived(start + *at * MS, *waited, 1500, 1, wire_bytes(1514));
        }
        window.close()
    }

    #[test]
    fn counts_after_the_warm_up_from_the_first_arrival_that_was_waited_for() {
        // The arrival at 12 ms opens the window and is not counted, because its time is that before the
        // window.
        let counted = window(&[(0, true), (5, true), (11, false), (12, true), (13, false), (14, true)]);
        assert_eq!((counted.frames, counted.payload_bytes), (2, 3000));
        assert_eq!(counted.wire_bits, 2 * 8 * 1538);
        assert!((counted.seconds - 0.002).abs() < 1e-9);
        assert_eq!((counted.received_frames, counted.moved_bytes), (6, 9000));
    }

    #[test]
    fn a_receiver_that_never_waits_counts_after_twice_the_warm_up() {
        let counted = window(&[(0, true), (11, false), (19, false), (20, false), (25, false)]);
        assert_eq!(counted.frames, 1);
        assert!((counted.seconds - 0.005).abs() < 1e-9);
    }

    #[test]
    fn nothing_gives_zero_not_nonsense() {
        for arrivals in [&[][..], &[(0, true)][..], &[(0, true), (12, true)][..]] {
            let result = result(Protocol::Udp, &window(arrivals), 5, 0.0, Some(1_000_000));
            assert_eq!((result.payload_bytes_per_second(), result.line_fraction), (0.0, Some(0.0)));
        }
    }

    #[test]
    fn a_full_frame_is_full_though_the_last_one_is_not() {
        let (frames, full_payload_bytes) = (300, 1448);
        for missing in [1, 700, 1447] {
            let payload_bytes = frames * full_payload_bytes - missing;
            let counted = Counted { payload_bytes, frames, full_payload_bytes, ..Counted::default() };
            assert_eq!(result(Protocol::Tcp, &counted, 0, 0.0, None).full_payload_bytes, 1448);
        }
        // Datagrams are alike, so that their receiver need not tell.
        let counted = Counted { payload_bytes: 300 * 1472, frames, ..Counted::default() };
        assert_eq!(result(Protocol::Udp, &counted, 0, 0.0, None).full_payload_bytes, 1472);
    }

    // 81 274 frames of 1514 bytes fill one second of 1 Gbit/s.
    #[test]
    fn a_full_line_is_a_fraction_of_one() {
        let counted = Counted { wire_bits: 81_274 * 8 * 1538, seconds: 1.0, ..Counted::default() };
        let result = result(Protocol::PacketRing, &counted, 0, 0.0, Some(1_000_000_000));
        let fraction = result.line_fraction.unwrap_or(0.0);
        assert!((fraction - 1.0).abs() < 1e-4, "{fraction}");
    }
}
