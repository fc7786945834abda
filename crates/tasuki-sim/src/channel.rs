//! One direction of a simulated rail: a line of some rate and length with a drop-tail queue in front, and
//! everything that can happen to a packet on it.

use crate::Rng;
use crate::faults::{BurstState, Faults};
use crate::kernel::Time;

/// The properties of a line without faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Bits per second, at least 1.
    pub rate_bps: u64,
    /// Propagation delay, ns.
    pub delay_ns: u64,
    /// Bytes that may wait for the line, including those being sent; a packet that does not fit is dropped.
    pub queue_bytes: u64,
    /// Bytes that each packet takes on the line besides itself and its headers: preamble, gap, frame.
    pub overhead_bytes: u64,
    /// Largest packet with its headers, bytes; a larger one is lost without notice, as behind a router that
    /// sends no ICMP.
    pub mtu: usize,
}

/// Bytes of an Ethernet frame on a cable besides its payload: preamble 8, gap 12, addresses and type 14,
/// checksum 4.
pub const ETHERNET_OVERHEAD: u64 = 8 + 12 + 14 + 4;

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet arrives, perhaps late or damaged.
    Arrives,
    /// The packet arrives twice.
    ArrivesTwice,
    /// The cable is cut.
    Cut,
    /// The queue was full.
    Overflow,
    /// The packet was too large for the line.
    TooLarge,
    /// The packet was a raw frame on a line that passes only datagrams.
    Deaf,
    /// The packet was lost by chance.
    Lost,
    /// The packet was lost in a burst of losses.
    LostInBurst,
}

/// A packet under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When it arrives.
    pub at: Time,
    /// The packet as it arrives.
    pub packet: Vec<u8>,
    /// The packet differs from what was sent.
    pub damaged: bool,
    /// The packet was held up, so that others may overtake it.
    pub delayed: bool,
}

/// One direction of a rail.
#[derive(Clone, Debug)]
pub struct Channel {
    line: Line,
    faults: Faults,
    bursts: BurstState,
    up: bool,
    /// When the line has sent everything that waits.
    free_at: Time,
    rng: Rng,
}

impl Channel {
    /// A channel whose cable is not cut.
    pub fn new(line: Line, faults: Faults, rng: Rng) -> Channel {
        Channel { line, faults, bursts: BurstState::default(), up: true, free_at: Time::ZERO, rng }
    }

    /// The line.
    pub fn line(&self) -> &Line {
        &self.line
    }

    /// The line, to change it; packets under way are not affected.
    pub fn line_mut(&mut self) -> &mut Line {
        &mut self.line
    }

    /// The faults, to change them.
    pub fn faults_mut(&mut self) -> &mut Faults {
        &mut self.faults
    }

    /// Cuts or mends the cable. Packets under way arrive.
    pub fn set_up(&mut self, up: bool) {
        self.up = up;
    }

    /// Whether the cable is not cut.
    pub fn is_up(&self) -> bool {
        self.up
    }

    /// Bytes that wait for the line, including those being sent.
    pub fn backlog(&self, now: Time) -> u64 {
        let bits = u128::from(self.free_at.since(now)) * u128::from(self.line.rate_bps) / 1_000_000_000;
        (bits / 8) as u64
    }

    /// The time at which the line will have sent everything that waits for it.
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// Sends a packet with `headers` bytes of headers in front; `arrive` is called with what arrives of it.
    pub fn send(
        &mut self,
        now: Time,
        packet: Vec<u8>,
        headers: usize,
        mut arrive: impl FnMut(Arrival),
    ) -> Fate {
        if !self.up {
            return Fate::Cut;
        }
        let len = packet.len() + headers;
        let wire = len as u64 + self.line.overhead_bytes;
        if self.backlog(now) + wire > self.line.queue_bytes {
            return Fate::Overflow;
        }
        let busy = u128::from(wire) * 8 * 1_000_000_000 / u128::from(self.line.rate_bps.max(1));
        self.free_at = self.free_at.max(now).after(busy as u64);
        if len > self.line.mtu {
            return Fate::TooLarge;
        }
        if self.bursts.loses(now, &self.faults, &mut self.rng) {
            return Fate::LostInBurst;
        }
        if self.rng.ppm(self.faults.loss_ppm) {
            return Fate::Lost;
        }
        let twice = self.rng.ppm(self.faults.duplicate_ppm);
        if twice {
            let copy = self.pass(packet.clone());
            arrive(copy);
        }
        let arrival = self.pass(packet);
        arrive(arrival);
        if twice { Fate::ArrivesTwice } else { Fate::Arrives }
    }

    fn pass(&mut self, mut packet: Vec<u8>) -> Arrival {
        let damaged = self.faults.damage(&mut packet, &mut self.rng);
        let delayed = self.rng.ppm(self.faults.reorder_ppm);
        let extra = if delayed { self.rng.below(self.faults.reorder_ns) } else { 0 };
        let at = self.free_at.after(self.line.delay_ns).after(extra);
        Arrival { at, packet, damaged, delayed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: Line = Line {
        rate_bps: 100_000_000,
        delay_ns: 5_000,
        queue_bytes: 10_000,
        overhead_bytes: ETHERNET_OVERHEAD,
        mtu: 1500,
    };

    fn channel(faults: Faults) -> Channel {
        Channel::new(LINE, faults, Rng::new(7))
    }

    fn send(channel: &mut Channel, now: Time, len: usize) -> (Fate, Vec<Arrival>) {
        let mut arrivals = Vec::new();
        let fate = channel.send(now, vec![1; len], 28, |arrival| arrivals.push(arrival));
        (fate, arrivals)
    }

    /// 1538 bytes at 100 Mbit/s take 123.04 us: 8127 full frames per second, the figure of every Ethernet
    /// table.
    #[test]
    fn a_full_frame_takes_as_long_as_on_a_cable() {
        let mut channel = channel(Faults::NONE);
        let (fate, arrivals) = send(&mut channel, Time(1000), 1472);
        assert_eq!((fate, arrivals[0].at), (Fate::Arrives, Time(1000 + 123_040 + 5_000)));
        let (_, arrivals) = send(&mut channel, Time(1000), 1472);
        assert_eq!(arrivals[0].at, Time(1000 + 2 * 123_040 + 5_000));
        assert_eq!(channel.backlog(Time(1000)), 2 * 1538);
    }

    #[test]
    fn the_queue_drops_its_tail_and_recovers() {
        let mut channel = channel(Faults::NONE);
        let sent = (0..20).filter(|_| send(&mut channel, Time::ZERO, 1472).0 == Fate::Arrives).count();
        assert_eq!(sent, 6, "6 x 1538 fit into 10,000 bytes");
        assert_eq!(send(&mut channel, Time(123_040), 1472).0, Fate::Arrives);
        assert_eq!(send(&mut channel, Time(123_040), 1472).0, Fate::Overflow);
    }

    #[test]
    fn large_packets_and_cut_cables_lose() {
        let mut channel = channel(Faults::NONE);
        assert_eq!(send(&mut channel, Time::ZERO, 1473), (Fate::TooLarge, vec![]));
        channel.set_up(false);
        assert_eq!(send(&mut channel, Time(1 << 30), 10), (Fate::Cut, vec![]));
    }

    #[test]
    fn rates_of_faults_are_as_asked() {
        let faults = Faults { loss_ppm: 100_000, duplicate_ppm: 200_000, flip_ppm: 50_000, ..Faults::NONE };
        let mut channel = channel(faults);
        let mut count = [0u64; 3];
        for n in 0..50_000 {
            let (fate, arrivals) = send(&mut channel, Time(n << 20), 100);
            count[0] += u64::from(fate == Fate::Lost);
            count[1] += u64::from(fate == Fate::ArrivesTwice);
            count[2] += arrivals.iter().filter(|arrival| arrival.damaged).count() as u64;
        }
        let expected = [5_000.0, 45_000.0 * 0.2, 45_000.0 * 1.2 * 0.05];
        for (got, expected) in count.into_iter().zip(expected) {
            assert!((got as f64 / expected - 1.0).abs() < 0.1, "{got} instead of {expected}");
        }
    }
}
