//! Rails through fabrics of switches, which all hosts share, so that packets compete.

use super::event::Event;
use super::network::{End, headers};
use crate::channel::{ETHERNET_OVERHEAD, Fate};
use crate::fabric::{Fabric, Load, Packet};
use crate::kernel::{Kernel, Time};
use tasuki_testkit::{Check, demand};
use tasuki_wire::{Lane, Path};

/// One fabric per rail; places are the fabric's hosts.
pub(crate) struct Switched {
    fabrics: Vec<Fabric>,
    /// The end that every host has of every rail.
    pub end: End,
    /// Packets under way, by tag.
    packets: Vec<Vec<u8>>,
    free: Vec<usize>,
    /// Number of packets that a full queue dropped.
    pub dropped: u64,
    /// Raw frames carry a tag that makes ports with two queues send them first.
    pub tagged: bool,
    /// Time that the software of both hosts adds to the delivery of every packet, ns.
    pub host_ns: u64,
}

/// Bytes of an IEEE 802.1Q tag.
pub(super) const TAG: u64 = 4;

/// Packets that a fabric delivers or drops while one of its events happens.
#[derive(Default)]
struct Inbox {
    came: Vec<Packet>,
    dropped: Vec<Packet>,
}

impl Load for Inbox {
    fn begin(&mut self, _fabric: &mut Fabric) {}
    fn timer(&mut self, _fabric: &mut Fabric, _host: u32, _what: u32) {}
    fn arrived(&mut self, _fabric: &mut Fabric, packet: Packet) {
        self.came.push(packet);
    }
    fn dropped(&mut self, _fabric: &mut Fabric, packet: Packet) {
        self.dropped.push(packet);
    }
}

impl Switched {
    pub fn new(fabrics: Vec<Fabric>, end: End) -> Switched {
        let (packets, free) = (Vec::new(), Vec::new());
        Switched { fabrics, end, packets, free, dropped: 0, tagged: false, host_ns: 0 }
    }

    /// Number of rails.
    pub fn planes(&self) -> u8 {
        self.fabrics.len() as u8
    }

    /// Number of packets that fabrics have taken and not given back.
    pub fn under_way(&self) -> usize {
        self.fabrics.iter().map(Fabric::under_way).sum()
    }

    /// A host hands a packet to its interface.
    pub fn send(&mut self, now: Time, (from, to): (usize, usize), path: Path, packet: &[u8]) -> Fate {
        let Some(fabric) = self.fabrics.get_mut(usize::from(path.rail)) else { return Fate::Cut };
        let tag = self.free.pop().unwrap_or_else(|| {
            self.packets.push(Vec::new());
            self.packets.len() - 1
        });
        self.packets[tag] = packet.to_vec();
        fabric.wait(now.0.saturating_mul(1000));
        let (from, to, number) = (from as u32, to as u32, tag as u64);
        let bytes = packet.len() as u64 + headers(path.lane) as u64 + ETHERNET_OVERHEAD;
        let sent = if self.tagged && path.lane == Lane::Raw {
            fabric.send_urgent(from, to, (bytes + TAG) as u32, number)
        } else {
            fabric.send(from, to, bytes as u32, number)
        };
        if sent {
            return Fate::Arrives;
        }
        self.free.push(tag);
        Fate::TooLarge
    }

    /// Lets all events in the fabrics happen that come before the next event outside. Each arriving packet
    /// becomes an event outside.
    pub fn advance(&mut self, kernel: &mut Kernel<Event>) -> Check {
        let mut inbox = Inbox::default();
        loop {
            let first =
                self.fabrics.iter().enumerate().filter_map(|(at, f)| Some((f.next_time()?, at))).min();
            let Some((at, fabric)) = first else { return Ok(()) };
            // An arrival happens at the next whole nanosecond.
            if kernel.next_time().is_some_and(|next| next.0 < at.div_ceil(1000)) {
                return Ok(());
            }
            demand(self.fabrics[fabric].step(&mut inbox, at), || "a fabric forgot its event".into())?;
            for packet in inbox.dropped.drain(..) {
                self.dropped += 1;
                self.free.push(packet.tag as usize);
            }
            for packet in inbox.came.drain(..) {
                let tag = packet.tag as usize;
                let bytes = std::mem::take(&mut self.packets[tag]);
                self.free.push(tag);
                let arrive = Event::Arrive { to: packet.to as usize, packet: bytes };
                kernel.schedule(Time(at.div_ceil(1000) + self.host_ns), arrive);
            }
        }
    }
}
