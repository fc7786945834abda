//! The paper's protocol (section 4) with a receiver as in the model: a burst of the whole message, a list of
//! what is missing, a burst of that, and so on.

use crate::{Receiver, Slow, Static, Tank};

/// A sender, a link and a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// What the link carries, bit/s.
    pub link_bps: u64,
    /// What the sender can do, bit/s.
    pub sender_bps: u64,
    /// Time that a short message takes along the link in one direction, that in both hosts included, ns.
    pub way_ns: u64,
    /// Largest packet, bytes.
    pub packet_bytes: u64,
    /// R and B of the receiver.
    pub receiver: Receiver,
    /// How the receiver is slower than `receiver.drain_bps`.
    pub slow: Slow,
    /// What a packet that is dropped costs the receiver, in thousandths of what one costs that is not.
    pub vain_permille: u32,
}

/// At which rate a message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// At the link's rate.
    Unpaced,
    /// At the rate of equation (2), with the mean rate of the receiver as R.
    Static,
}

/// What came of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sent {
    /// From the receiver's request to its notice that all is there, s.
    pub seconds: f64,
    /// Share of all packets that the first burst lost, 0 to 1.
    pub lost: f64,
    /// Bursts.
    pub bursts: u32,
}

impl Path {
    /// Sends a message of so many bytes by the steps of section 4, beginning at `start_ns` of the receiver's
    /// time (a receiver that varies is now fast and now slow). A buffer shorter than a packet counts as one
    /// that holds a packet: into a shorter one no packet would ever get.
    pub fn send(&self, message: u64, pace: Pace, start_ns: u64) -> Sent {
        let fastest = self.link_bps.min(self.sender_bps);
        let mean =
            Receiver { drain_bps: self.slow.mean_bps(self.receiver.drain_bps as u64), ..self.receiver };
        let rate = match pace {
            Pace::Unpaced => fastest as f64,
            Pace::Static => Static { receiver: mean, link_bps: fastest as f64 }.rate_bps(message),
        };
        let drain = self.receiver.drain_bps as u64;
        let tank = Tank::new(self.receiver.buffer_bytes.max(self.packet_bytes), self.slow, drain);
        let mut tank = tank.charging(self.vain_permille);
        let packets = message.div_ceil(self.packet_bytes.max(1)).max(1);
        // Before the first burst come the request, the start message and its acknowledgement.
        let mut now = start_ns + 3 * self.way_ns;
        let (mut missing, mut lost_first, mut bursts) = (packets, None, 0);
        let last = message - (packets - 1) * self.packet_bytes;
        while missing > 0 {
            let mut lost = 0;
            let begin = now;
            for number in 1..=missing {
                let bytes = if number == packets { last } else { self.packet_bytes };
                let sent = (number * self.packet_bytes) as f64 * 8e9 / rate;
                now = begin + sent as u64;
                lost += u64::from(!tank.arrive(now + self.way_ns, bytes));
            }
            bursts += 1;
            lost_first.get_or_insert(lost);
            // The receiver handles all that has come, and then asks for the rest or says that it is done.
            let drained = self.slow.done_at(now + self.way_ns, tank.work(), drain);
            tank.drain_until(drained);
            now = drained + 2 * self.way_ns;
            missing = lost;
        }
        Sent {
            seconds: (now - start_ns) as f64 / 1e9,
            lost: lost_first.unwrap_or(0) as f64 / packets as f64,
            bursts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::{HOSTS, LINK_BPS};

    fn to(host: usize, sender_bps: u64, vain_permille: u32) -> Path {
        let receiver = HOSTS[host].receiver;
        let (link_bps, way_ns) = (LINK_BPS as u64, 100_000);
        Path { link_bps, sender_bps, way_ns, packet_bytes: 8000, receiver, slow: Slow::No, vain_permille }
    }

    /// What is dropped from a buffer that is always full, while it costs the share c of what is taken: R = S
    /// (1 - l) + c S l for the share l that is lost (computed by hand; the first B bytes lose nothing).
    #[test]
    fn what_is_handled_in_vain_is_lost_for_the_rest() {
        for (vain_permille, lost) in [(0, 0.158), (300, 0.226), (500, 0.317)] {
            let path = to(1, 120_000_000, vain_permille);
            let sent = path.send(100_000_000, Pace::Unpaced, 0);
            assert!((sent.lost - lost).abs() < 0.01, "{vain_permille}: {sent:?}");
        }
        let paced = to(1, 120_000_000, 300).send(5_000_000, Pace::Static, 0);
        assert!(paced.lost <= 0.005, "{paced:?}");
    }

    /// Each burst brings at least its first packet, into a buffer that is empty by then.
    #[test]
    fn a_buffer_shorter_than_a_packet_does_not_keep_a_message_for_ever() {
        let mut path = to(1, 120_000_000, 0);
        path.receiver.buffer_bytes = 4000;
        for pace in [Pace::Unpaced, Pace::Static] {
            let sent = path.send(80_000, pace, 0);
            assert!((1..=10).contains(&sent.bursts), "{sent:?}");
        }
    }

    /// A sender that can do 70 Mbit/s loses nothing to a receiver that can do 101, paced or not (figure 7).
    #[test]
    fn slow_senders_need_no_pace() {
        let path = to(1, 70_000_000, 300);
        let [unpaced, paced] = [Pace::Unpaced, Pace::Static].map(|pace| path.send(5_000_000, pace, 0));
        assert_eq!((unpaced.lost, unpaced), (0.0, paced));
        assert!((5.0 * 8.0 / unpaced.seconds - 70.0).abs() < 1.5, "{unpaced:?}");
    }
}
