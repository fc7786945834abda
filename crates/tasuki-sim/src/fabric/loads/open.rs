//! An open-loop load: every host offers packets at random times, whatever becomes of them.

use super::Targets;
use crate::Rng;
use crate::fabric::{Fabric, Latencies, Load, Packet, exponential};

/// The offered load.
///
/// The next packet of a host is drawn only when the one before has begun to leave. So a load beyond what the
/// network can take costs no memory, while its latency counts from the time when each packet was due.
pub struct Open {
    sources: Vec<Source>,
    bytes: u32,
    /// Mean time between packets of one host, ps.
    mean: u64,
    /// Packets that were due before this do not count, ps.
    from: u64,
    /// Latencies from the time when a packet was due to the arrival of its tail.
    pub latencies: Latencies,
    /// Latencies from the departure of the head to the arrival of the tail.
    pub transit: Latencies,
    /// Bytes that have arrived since `from`.
    pub arrived_bytes: u64,
    /// Packets that have arrived since `from`.
    pub arrived_packets: u64,
}

struct Source {
    rng: Rng,
    targets: Targets,
    due: u64,
}

impl Open {
    /// Every host with targets sends packets of `bytes` at a mean interval of `mean` ps. Packets due before
    /// `from` are not counted.
    pub fn new(targets: Vec<Targets>, bytes: u32, mean: u64, from: u64, seed: u64) -> Open {
        let mut rng = Rng::new(seed);
        let source = |targets| Source { rng: rng.fork(), targets, due: 0 };
        Open {
            sources: targets.into_iter().map(source).collect(),
            bytes,
            mean: mean.max(1),
            from,
            latencies: Latencies::default(),
            transit: Latencies::default(),
            arrived_bytes: 0,
            arrived_packets: 0,
        }
    }

    /// Number of hosts that send.
    pub fn senders(&self) -> usize {
        self.sources.iter().filter(|source| source.targets != Targets::None).count()
    }

    /// Plans the next packet of a host, which cannot leave before `idle`.
    #[inline]
    fn plan(&mut self, fabric: &mut Fabric, host: u32, idle: u64) {
        let source = &mut self.sources[host as usize];
        source.due = source.due.saturating_add(exponential(&mut source.rng, self.mean));
        if source.due > idle || !self.offer(fabric, host) {
            let due = self.sources[host as usize].due.max(idle);
            fabric.timer(due, host, 0);
        }
    }

    /// Hands over the packet that is due; returns false if it has no route.
    #[inline]
    fn offer(&mut self, fabric: &mut Fabric, host: u32) -> bool {
        let source = &mut self.sources[host as usize];
        let to = source.targets.next(&mut source.rng);
        to.is_some_and(|to| fabric.send_born(host, to, self.bytes, 0, source.due))
    }
}

impl Load for Open {
    fn begin(&mut self, fabric: &mut Fabric) {
        for host in 0..self.sources.len().min(fabric.hosts()) as u32 {
            if self.sources[host as usize].targets != Targets::None {
                self.plan(fabric, host, 0);
            }
        }
    }

    fn timer(&mut self, fabric: &mut Fabric, host: u32, _what: u32) {
        if !self.offer(fabric, host) {
            let next = fabric.now() + 1;
            self.plan(fabric, host, next);
        }
    }

    fn left(&mut self, fabric: &mut Fabric, packet: Packet, end: u64) {
        self.plan(fabric, packet.from, end);
    }

    fn arrived(&mut self, fabric: &mut Fabric, packet: Packet) {
        let now = fabric.now();
        if now >= self.from {
            self.arrived_bytes += u64::from(packet.bytes);
            self.arrived_packets += 1;
        }
        if packet.born >= self.from {
            self.latencies.add(now - packet.born);
            self.transit.add(now - packet.left);
        }
    }
}
