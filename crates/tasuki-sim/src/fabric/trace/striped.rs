//! Replaying a trace where the packets of a message spread over all rails of two hosts, as those of Tasuki's
//! transport do.
//!
//! A packet waits for its cable in a queue without limit, because the transport's grants keep real queues
//! from overflowing. The packets of different pairs of hosts leave in turn. Switches and relaying hosts store
//! a packet and forward it.

use super::carrier::Carrier;
use super::replay::{Replay, Replayed};
use super::times::TraceTimes;
use super::{Trace, TraceError};
use crate::kernel::{Kernel, Time};
use std::collections::VecDeque;

/// A route from one host to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Directions of cables in the order of the route: twice the number of the cable, plus one if against its
    /// own direction.
    pub channels: Vec<u32>,
    /// Time from the arrival of a packet's tail at the end of each of `channels` but the last until it can
    /// leave the node there, ps.
    pub pauses: Vec<u64>,
}

/// Cables, and the routes over them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cables {
    /// Rate of each direction of each cable, bit/s.
    pub rates: Vec<u64>,
    /// The routes from host `a` to host `b` are `paths[a * hosts + b]`.
    pub paths: Vec<Vec<Path>>,
    /// Number of hosts.
    pub hosts: usize,
    /// Delay of every cable, ps.
    pub cable_ps: u64,
    /// Bytes on the cable of every packet besides its payload.
    pub overhead: u32,
}

/// What one direction of a cable has carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CableUse {
    /// Time for which it was sending, ps.
    pub busy: u64,
    /// Payload, bytes.
    pub bytes: u64,
}

/// The result of a replay over rails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Striped {
    /// Times of the ranks, and their messages.
    pub replayed: Replayed,
    /// By number of channel.
    pub cables: Vec<CableUse>,
    /// Payload from each host to each other one, bytes, in the order of [`Cables::paths`].
    pub pairs: Vec<u64>,
    /// Number of packets that have passed each number of cables.
    pub lengths: Vec<u64>,
}

/// Why a trace cannot be replayed over rails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StripedError {
    /// The trace is at fault.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Two hosts exchange messages and no path joins them.
    #[error("no route from host {0} to host {1}")]
    NoWay(u32, u32),
}

#[derive(Clone, Copy)]
enum Event {
    Timer(u32, u32),
    Free(u32),
    Come(u32),
}

#[derive(Clone, Copy)]
struct Packet {
    bytes: u32,
    message: u32,
    /// Index of the pair of hosts in [`Cables::paths`].
    pair: u32,
    route: u16,
    /// Number of cables of its route behind it.
    passed: u16,
}

/// One direction of a cable.
#[derive(Default)]
struct Channel {
    sending: bool,
    /// Bytes in all queues, overhead included.
    waiting: u64,
    /// The packets of each pair of hosts, in the order in which the pairs take their turns.
    queues: VecDeque<(u32, VecDeque<u32>)>,
    used: CableUse,
}

struct Wires<'c> {
    cables: &'c Cables,
    kernel: Kernel<Event>,
    channels: Vec<Channel>,
    packets: Vec<Packet>,
    unused: Vec<u32>,
    pairs: Vec<u64>,
    lengths: Vec<u64>,
    lost: Option<(u32, u32)>,
}

/// Replays a trace.
///
/// # Errors
/// If ranks wait for each other for ever, or hosts that exchange messages have no path.
pub fn replay_striped(trace: &Trace, cables: &Cables, times: TraceTimes) -> Result<Striped, StripedError> {
    let mut wires = Wires {
        cables,
        kernel: Kernel::with_slots(12),
        channels: cables.rates.iter().map(|_| Channel::default()).collect(),
        packets: Vec::new(),
        unused: Vec::new(),
        pairs: vec![0; cables.paths.len()],
        lengths: Vec::new(),
        lost: None,
    };
    let mut replay = Replay::new(trace, cables.hosts, times);
    replay.start(&mut wires);
    while let Some(event) = wires.kernel.pop() {
        match event {
            Event::Timer(rank, what) => replay.due(&mut wires, rank, what),
            Event::Free(channel) => wires.free(channel),
            Event::Come(packet) => {
                if let Some(message) = wires.come(packet) {
                    replay.came(&mut wires, message);
                }
            }
        }
    }
    if let Some((from, to)) = wires.lost {
        return Err(StripedError::NoWay(from, to));
    }
    let replayed = replay.finish()?;
    let cables = wires.channels.iter().map(|channel| channel.used).collect();
    Ok(Striped { replayed, cables, pairs: wires.pairs, lengths: wires.lengths })
}

impl Wires<'_> {
    /// Time that so many bytes take on a channel, ps.
    fn takes(&self, channel: u32, bytes: u64) -> u64 {
        let rate = u128::from(self.cables.rates[channel as usize].max(1));
        (u128::from(bytes) * 8_000_000_000_000 / rate) as u64
    }

    fn wire(&self, bytes: u32) -> u64 {
        u64::from(bytes) + u64::from(self.cables.overhead)
    }

    /// The route by which a packet that is handed over now arrives first, as far as the sender's own queues
    /// tell.
    fn route(&self, pair: u32, bytes: u64) -> Option<u16> {
        let paths = &self.cables.paths[pair as usize];
        let time = |path: &Path| {
            let slowest = path.channels.iter().min_by_key(|&&channel| self.cables.rates[channel as usize]);
            let waiting = path.channels.first().map_or(0, |&first| self.channels[first as usize].waiting);
            let queue = slowest.map_or(0, |&channel| self.takes(channel, waiting));
            queue + path.channels.iter().map(|&channel| self.takes(channel, bytes)).sum::<u64>()
        };
        let numbered = paths.iter().enumerate().filter(|(_, path)| !path.channels.is_empty());
        numbered.min_by_key(|(_, path)| time(path)).map(|(number, _)| number as u16)
    }

    /// Puts a packet into the queue of the next cable of its route.
    fn queue(&mut self, id: u32) {
        let packet = self.packets[id as usize];
        let path = &self.cables.paths[packet.pair as usize][usize::from(packet.route)];
        let number = path.channels[usize::from(packet.passed)];
        let wire = self.wire(packet.bytes);
        let channel = &mut self.channels[number as usize];
        channel.waiting += wire;
        match channel.queues.iter_mut().find(|(pair, _)| *pair == packet.pair) {
            Some((_, queue)) => queue.push_back(id),
            None => channel.queues.push_back((packet.pair, VecDeque::from([id]))),
        }
        if !channel.sending {
            self.send_next(number);
        }
    }

    /// Sends the next packet that waits for a channel.
    fn send_next(&mut self, number: u32) {
        let channel = &mut self.channels[number as usize];
        let Some((pair, mut queue)) = channel.queues.pop_front() else { return };
        let Some(id) = queue.pop_front() else { return };
        if !queue.is_empty() {
            channel.queues.push_back((pair, queue));
        }
        let bytes = self.packets[id as usize].bytes;
        let (wire, now) = (self.wire(bytes), self.kernel.now().0);
        let takes = self.takes(number, wire);
        let channel = &mut self.channels[number as usize];
        channel.sending = true;
        channel.waiting -= wire;
        channel.used.busy += takes;
        channel.used.bytes += u64::from(bytes);
        let packet = &mut self.packets[id as usize];
        let path = &self.cables.paths[packet.pair as usize][usize::from(packet.route)];
        let pause = path.pauses.get(usize::from(packet.passed)).copied().unwrap_or(0);
        packet.passed += 1;
        self.kernel.schedule(Time(now + takes), Event::Free(number));
        self.kernel.schedule(Time(now + takes + self.cables.cable_ps + pause), Event::Come(id));
    }

    fn free(&mut self, number: u32) {
        self.channels[number as usize].sending = false;
        self.send_next(number);
    }

    /// A packet has passed a cable. Returns its message if it has arrived.
    fn come(&mut self, id: u32) -> Option<u32> {
        let packet = self.packets[id as usize];
        let path = &self.cables.paths[packet.pair as usize][usize::from(packet.route)];
        let passed = usize::from(packet.passed);
        if passed < path.channels.len() {
            self.queue(id);
            return None;
        }
        self.lengths.resize(self.lengths.len().max(passed + 1), 0);
        self.lengths[passed] += 1;
        self.unused.push(id);
        Some(packet.message)
    }
}

impl Carrier for Wires<'_> {
    fn time(&self) -> u64 {
        self.kernel.now().0
    }

    fn after(&mut self, at: u64, rank: u32, what: u32) {
        self.kernel.schedule(Time(at), Event::Timer(rank, what));
    }

    fn give(&mut self, [from, to]: [u32; 2], bytes: u32, message: u32) {
        let pair = from * self.cables.hosts as u32 + to;
        let Some(route) = self.route(pair, self.wire(bytes)) else {
            self.lost = Some((from, to));
            return;
        };
        self.pairs[pair as usize] += u64::from(bytes);
        let packet = Packet { bytes, message, pair, route, passed: 0 };
        let id = self.unused.pop().unwrap_or(self.packets.len() as u32);
        match self.packets.get_mut(id as usize) {
            Some(place) => *place = packet,
            None => self.packets.push(packet),
        }
        self.queue(id);
    }
}

#[cfg(test)]
mod tests;
