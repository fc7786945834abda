//! A closed-loop load: PUSH (remote write) with acknowledgement. A sender may have a limited number of
//! packets that are not acknowledged.

use super::Targets;
use crate::Rng;
use crate::fabric::{Fabric, Load, Packet};

/// Times that hosts take, ps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushTimes {
    /// At the sender, before a packet goes out.
    pub send: u64,
    /// At the receiver, from the tail of the packet until the acknowledgement goes out.
    pub turn: u64,
    /// At the sender, from the tail of the acknowledgement until the next packet is prepared.
    pub done: u64,
    /// Each of these times is drawn from a range of so many percent below and above the value given.
    pub jitter_percent: u8,
}

/// Pairs of hosts that write to each other's memory.
pub struct Push {
    sources: Vec<Source>,
    rng: Rng,
    times: PushTimes,
    bytes: u32,
    ack_bytes: u32,
    window: u32,
    from: u64,
    until: u64,
}

#[derive(Clone)]
struct Source {
    targets: Targets,
    /// Until when its processor prepares packets.
    busy: u64,
    done: u64,
}

const PREPARED: u32 = 0;
const ACKNOWLEDGE: u32 = 1;
const FINISHED: u32 = 2;
/// Tags of the packets.
const DATA: u64 = 0;
const ACK: u64 = 1;

impl Push {
    /// Packets of `bytes` (headers included), acknowledged by packets of `ack_bytes`. Round trips that end
    /// before `from` or after `until`, ps, do not count.
    pub fn new(
        targets: Vec<Targets>,
        (bytes, ack_bytes): (u32, u32),
        window: u32,
        times: PushTimes,
        (from, until): (u64, u64),
        seed: u64,
    ) -> Push {
        let source = |targets| Source { targets, busy: 0, done: 0 };
        Push {
            sources: targets.into_iter().map(source).collect(),
            rng: Rng::new(seed),
            times,
            bytes,
            ack_bytes,
            window,
            from,
            until,
        }
    }

    /// Packets per second that each sender had acknowledged; hosts that send nothing are left out.
    pub fn rates(&self) -> Vec<f64> {
        let seconds = (self.until - self.from) as f64 * 1e-12;
        let senders = self.sources.iter().filter(|source| source.targets != Targets::None);
        senders.map(|source| source.done as f64 / seconds).collect()
    }

    fn vary(&mut self, ps: u64) -> u64 {
        let span = ps / 100 * u64::from(self.times.jitter_percent.min(100));
        if span == 0 { ps } else { ps - span + self.rng.below(2 * span + 1) }
    }

    /// Begins to prepare a packet.
    fn prepare(&mut self, fabric: &mut Fabric, host: u32) {
        let takes = self.vary(self.times.send);
        let source = &mut self.sources[host as usize];
        source.busy = source.busy.max(fabric.now()) + takes;
        fabric.timer(source.busy, host, PREPARED);
    }
}

impl Load for Push {
    fn begin(&mut self, fabric: &mut Fabric) {
        for host in 0..self.sources.len().min(fabric.hosts()) as u32 {
            if self.sources[host as usize].targets != Targets::None {
                (0..self.window.max(1)).for_each(|_| self.prepare(fabric, host));
            }
        }
    }

    fn timer(&mut self, fabric: &mut Fabric, host: u32, what: u32) {
        match what & 3 {
            PREPARED => {
                let source = &mut self.sources[host as usize];
                if let Some(to) = source.targets.next(&mut self.rng) {
                    fabric.send(host, to, self.bytes, DATA);
                }
            }
            ACKNOWLEDGE => {
                fabric.send(host, what >> 2, self.ack_bytes, ACK);
            }
            _ => {
                if (self.from..self.until).contains(&fabric.now()) {
                    self.sources[host as usize].done += 1;
                }
                self.prepare(fabric, host);
            }
        }
    }

    fn arrived(&mut self, fabric: &mut Fabric, packet: Packet) {
        let now = fabric.now();
        if packet.tag == DATA {
            let takes = self.vary(self.times.turn);
            fabric.timer(now + takes, packet.to, packet.from << 2 | ACKNOWLEDGE);
        } else {
            let takes = self.vary(self.times.done);
            fabric.timer(now + takes, packet.to, FINISHED);
        }
    }
}
