//! The receiving NIC's own timer, emulated where it costs the host under test nothing: on its partner's processor, which holds packets back as the
//! NIC's hardware would.

use super::partner::BYTES;
use std::net::{SocketAddr, UdpSocket};

/// Packets that wait at most; what comes then raises the interrupt at once, as a receive ring that is nearly full does (256 descriptors are e1000's
/// default).
const RING: usize = 256;

/// Packets on their way into the host, of which interrupts are at least the delay apart.
#[derive(Debug)]
pub(super) struct Nic {
    delay_ns: f64,
    /// The last interrupt.
    last_ns: f64,
    waiting: Vec<([u8; BYTES], SocketAddr)>,
}

impl Default for Nic {
    fn default() -> Self {
        Self { delay_ns: 0.0, last_ns: f64::NEG_INFINITY, waiting: Vec::new() }
    }
}

impl Nic {
    /// Interrupts are so far apart from now on.
    pub fn set_us(&mut self, us: f64) {
        // Whatever came in, it is a time.
        self.delay_ns = if us > 0.0 { us.min(1e6) * 1e3 } else { 0.0 };
    }

    /// A packet arrives.
    pub fn receive(&mut self, bytes: [u8; BYTES], to: SocketAddr) {
        self.waiting.push((bytes, to));
    }

    /// Whether it is time for an interrupt.
    fn interrupts(&mut self, now_ns: f64) -> bool {
        let is_due = now_ns - self.last_ns >= self.delay_ns || self.waiting.len() >= RING;
        let interrupts = is_due && !self.waiting.is_empty();
        if interrupts {
            self.last_ns = now_ns;
        }
        interrupts
    }

    /// Hands over what waits, if it is time.
    pub fn turn(&mut self, now_ns: f64, socket: &UdpSocket) {
        if self.interrupts(now_ns) {
            for (bytes, to) in self.waiting.drain(..) {
                // A full queue loses it, as a full switch would.
                let _ = socket.send_to(&bytes, to);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Interrupts, and packets, of one packet per microsecond for a millisecond.
    fn flooded(us: f64) -> (usize, usize) {
        let (mut nic, mut interrupts, mut packets) = (Nic::default(), 0, 0);
        nic.set_us(us);
        for at in 0..1000 {
            nic.receive([0; BYTES], SocketAddr::from(([10, 0, 0, 1], 5)));
            if nic.interrupts(f64::from(at) * 1e3) {
                interrupts += 1;
                packets += std::mem::take(&mut nic.waiting).len();
            }
        }
        (interrupts, packets)
    }

    #[test]
    fn interrupts_are_at_least_the_delay_apart_and_a_full_ring_waits_for_none() {
        assert_eq!(flooded(0.0), (1000, 1000));
        // At 0, 100, ... 900 us.
        assert_eq!(flooded(100.0), (10, 901));
        // The first at once, then whenever 256 are there.
        assert_eq!(flooded(1e6), (4, 1 + 3 * 256));
        assert_eq!(flooded(f64::NAN), (1000, 1000));
    }

    #[test]
    fn after_a_pause_the_next_packet_interrupts_at_once() {
        let mut nic = Nic::default();
        nic.set_us(100.0);
        let to = SocketAddr::from(([10, 0, 0, 1], 5));
        assert!(!nic.interrupts(0.0), "nothing is there");
        nic.receive([0; BYTES], to);
        assert!(nic.interrupts(1e6));
        nic.waiting.clear();
        nic.receive([0; BYTES], to);
        assert!(!nic.interrupts(1.05e6) && nic.interrupts(1.1e6));
    }
}
