//! The timer of a receiving NIC, emulated so that it takes no time of the host under test: the partner's
//! processor holds packets back as the NIC's hardware would.

use super::partner::BYTES;
use std::net::{SocketAddr, UdpSocket};

/// Number of waiting packets at which the interrupt comes at once, as from a receive ring that is nearly full
/// (e1000 has 256 descriptors by default).
const RING: usize = 256;

/// The packets on their way into the host. Interrupts are at least the delay apart.
#[derive(Debug)]
pub(super) struct Nic {
    delay_ns: f64,
    /// Time of the last interrupt, nanoseconds of the partner's clock.
    last_ns: f64,
    waiting: Vec<([u8; BYTES], SocketAddr)>,
}

impl Default for Nic {
    fn default() -> Self {
        Self { delay_ns: 0.0, last_ns: f64::NEG_INFINITY, waiting: Vec::new() }
    }
}

impl Nic {
    /// Sets the delay, microseconds.
    pub fn set_us(&mut self, us: f64) {
        // The number came by the network; anything that is no positive number means no delay.
        self.delay_ns = if us > 0.0 { us.min(1e6) * 1e3 } else { 0.0 };
    }

    /// Takes a packet that arrives.
    pub fn receive(&mut self, bytes: [u8; BYTES], to: SocketAddr) {
        self.waiting.push((bytes, to));
    }

    /// Whether an interrupt comes now.
    fn interrupts(&mut self, now_ns: f64) -> bool {
        let is_due = now_ns - self.last_ns >= self.delay_ns || self.waiting.len() >= RING;
        let interrupts = is_due && !self.waiting.is_empty();
        if interrupts {
            self.last_ns = now_ns;
        }
        interrupts
    }

    /// Hands the waiting packets over if an interrupt comes now.
    pub fn turn(&mut self, now_ns: f64, socket: &UdpSocket) {
        if self.interrupts(now_ns) {
            for (bytes, to) in self.waiting.drain(..) {
                // If the queue is full, the packet is lost, as in a full switch.
                let _ = socket.send_to(&bytes, to);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of interrupts and of packets handed over if a packet arrives every microsecond for a
    /// millisecond.
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
        // Interrupts come at 0, 100, ... 900 us.
        assert_eq!(flooded(100.0), (10, 901));
        // The first interrupt comes at once, later ones whenever 256 packets wait.
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
