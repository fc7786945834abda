//! The fabric and the clock that moves it.

use tasuki_topo::{Network, Tables};

use super::lane::Lane;
use super::packet::{Packet, Packets};
use super::plan::{NONE, Plan};
use super::{FabricError, FlowControl, Room, Settings};
use crate::kernel::{Kernel, Time};
use std::collections::VecDeque;

/// What can happen.
#[derive(Clone, Copy)]
pub(super) enum Event {
    /// The head of the first packet of a queue can leave the node that it came to.
    Head(u32),
    /// A packet is at a switch that drops what does not fit.
    Store(u32),
    /// A packet's tail is at its destination.
    Deliver(u32),
    /// A channel looks at who wants it.
    Wake(u32),
    /// The load asked for this.
    Timer(u32, u32),
}

/// A channel in motion.
#[derive(Clone, Copy)]
pub(super) struct Track {
    /// When the tail of the last packet is on it.
    pub busy: u64,
    /// Queues that want it, in the order in which they asked.
    pub first: u32,
    pub last: u32,
    /// When it looks at them next.
    pub wake: u64,
    /// Port at its node that went last, for arbiters that go round.
    pub turn: u32,
}

/// Everything counted since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets handed over by the load.
    pub injected: u64,
    /// Packets that arrived.
    pub delivered: u64,
    /// Packets that a full queue dropped.
    pub dropped: u64,
    /// Channels passed by packets.
    pub hops: u64,
    /// Bytes that arrived.
    pub bytes: u64,
    /// Requests that found their channel busy or the buffer behind it full.
    pub waits: u64,
}

/// Who sends what to whom. Hosts are numbers.
pub trait Load {
    /// The first timers or packets.
    fn begin(&mut self, fabric: &mut Fabric);
    /// A timer set with [`Fabric::timer`] is due.
    fn timer(&mut self, fabric: &mut Fabric, host: u32, what: u32);
    /// A packet's tail has come to its destination.
    fn arrived(&mut self, fabric: &mut Fabric, packet: Packet);
    /// A packet has begun to leave its source; its tail will have left at `end`, ps.
    fn left(&mut self, _fabric: &mut Fabric, _packet: Packet, _end: u64) {}
    /// A full queue dropped a packet.
    fn dropped(&mut self, _fabric: &mut Fabric, _packet: Packet) {}
    /// Whether everything wanted has been seen.
    fn done(&self) -> bool {
        false
    }
}

/// A network in motion.
pub struct Fabric {
    pub(super) plan: Plan,
    pub(super) settings: Settings,
    pub(super) kernel: Kernel<Event>,
    pub(super) packets: Packets,
    /// By [`Plan::lane`], then a source per channel.
    pub(super) lanes: Vec<Lane>,
    /// Where the sources begin.
    pub(super) sources: usize,
    /// By [`Plan::lane`]: bytes that become free after the first, and when.
    pub(super) back: Vec<VecDeque<(u64, u32)>>,
    pub(super) tracks: Vec<Track>,
    /// By channel, for crossbars with one way per port: until when that is taken.
    pub(super) ports: Vec<u64>,
    /// Sources whose packet has just left.
    pub(super) gone: Vec<(u32, u64)>,
    pub(super) lost: Vec<Packet>,
    pub(super) counts: Counts,
    /// Bytes that have passed each channel.
    pub(super) passed: Vec<u64>,
    names: Vec<String>,
}

/// Events between looks for a deadlock.
const LOOK: u64 = 1 << 16;

impl Fabric {
    /// A fabric at rest.
    pub fn new(net: &Network, tables: &Tables, settings: Settings) -> Result<Fabric, FabricError> {
        if let Room::Lossless { buffer, .. } = settings.room
            && settings.largest > buffer
        {
            return Err(FabricError::PacketTooLarge { bytes: settings.largest, buffer });
        }
        let plan = Plan::new(net, tables, &settings)?;
        let channels = net.channels();
        let lanes = channels << plan.lane_bits;
        let track = Track { busy: 0, first: NONE, last: NONE, wake: u64::MAX, turn: 0 };
        let label = |channel| net.channel_label(tasuki_topo::ChannelId(channel));
        Ok(Fabric {
            settings,
            // A slot of 1 ns: seldom events of different times on a busy fabric of 64 hosts.
            kernel: Kernel::with_slots(10),
            packets: Packets::default(),
            lanes: vec![Lane::EMPTY; lanes + channels],
            sources: lanes,
            back: vec![VecDeque::new(); lanes],
            tracks: vec![track; channels],
            ports: vec![0; channels],
            gone: Vec::new(),
            lost: Vec::new(),
            counts: Counts::default(),
            passed: vec![0; channels],
            names: (0..channels as u32).map(label).collect(),
            plan,
        })
    }

    /// The present, ps.
    #[inline]
    pub fn now(&self) -> u64 {
        self.kernel.now().0
    }

    /// Number of hosts.
    pub fn hosts(&self) -> usize {
        self.plan.hosts
    }

    /// Everything counted.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Events that have happened.
    pub fn events(&self) -> u64 {
        self.kernel.happened()
    }

    /// Packets handed over and not arrived.
    pub fn under_way(&self) -> usize {
        self.packets.len()
    }

    /// Bytes that have passed each channel, by channel number.
    pub fn passed(&self) -> &[u64] {
        &self.passed
    }

    /// Time that `bytes` take over a host's first channel towards `to`, ps.
    pub fn injection(&self, from: u32, to: u32, bytes: u32) -> u64 {
        let (channel, _) = self.plan.start(from, to);
        self.plan.lines.get(channel as usize).map_or(0, |line| line.takes(bytes))
    }

    /// What a packet's head takes from leaving the source until its tail could have left the last node, were there
    /// no bytes and no other packets: cables and switches, ps.
    pub fn unloaded(&self, from: u32, to: u32) -> u64 {
        let (mut channel, mut vc) = self.plan.start(from, to);
        let mut sum = 0;
        while let Some(line) = self.plan.lines.get(channel as usize) {
            sum += line.ahead;
            if line.host == to {
                break;
            }
            (channel, vc) = self.plan.onward(channel, vc, to);
        }
        sum
    }

    /// Calls [`Load::timer`] at `at`, ps.
    #[inline]
    pub fn timer(&mut self, at: u64, host: u32, what: u32) {
        self.kernel.schedule(Time(at), Event::Timer(host, what));
    }

    /// A host hands a packet to its network interface now. False if it is too large, or goes nowhere.
    pub fn send(&mut self, from: u32, to: u32, bytes: u32, tag: u64) -> bool {
        self.send_born(from, to, bytes, tag, self.now())
    }

    /// The same for a packet whose time counts from `born`, ps.
    pub fn send_born(&mut self, from: u32, to: u32, bytes: u32, tag: u64, born: u64) -> bool {
        if from as usize >= self.plan.hosts || to as usize >= self.plan.hosts || bytes > self.settings.largest
        {
            return false;
        }
        let (out, out_vc) = self.plan.start(from, to);
        if out == NONE {
            return false;
        }
        let packet =
            Packet { from, to, bytes, tag, born, left: 0, vc: 0, out_vc, out, tail: 0, head: 0, next: NONE };
        let id = self.packets.add(packet);
        self.counts.injected += 1;
        let source = self.source(out);
        if self.append(source, id) {
            self.ask(source);
        }
        true
    }

    /// Runs until the load is done, nothing is left to happen, or `until`, ps, has passed.
    pub fn run(&mut self, load: &mut impl Load, until: u64) -> Result<(), FabricError> {
        load.begin(self);
        self.resume(load, until)
    }

    /// Goes on after [`Fabric::run`].
    pub fn resume(&mut self, load: &mut impl Load, until: u64) -> Result<(), FabricError> {
        let mut look = self.kernel.happened() + LOOK;
        self.report(load);
        while !load.done() {
            let Some(event) = self.kernel.pop_by(Time(until)) else { break };
            self.happen(event, load);
            if self.kernel.happened() >= look {
                look = self.kernel.happened() + LOOK;
                self.look()?;
            }
        }
        self.look()
    }

    #[inline]
    fn happen(&mut self, event: Event, load: &mut impl Load) {
        match event {
            Event::Head(queue) => self.ask(queue as usize),
            Event::Store(id) => self.store(id),
            Event::Deliver(id) => {
                let packet = self.deliver(id);
                load.arrived(self, packet);
            }
            Event::Wake(channel) => self.wake(channel),
            Event::Timer(host, what) => load.timer(self, host, what),
        }
        self.report(load);
    }

    /// Lets the next event happen if it is due by `until`, ps; for who moves several clocks. False if there is none.
    pub fn step(&mut self, load: &mut impl Load, until: u64) -> bool {
        self.report(load);
        let event = self.kernel.pop_by(Time(until));
        if let Some(event) = event {
            self.happen(event, load);
        }
        event.is_some()
    }

    /// Lets time pass until `until`, ps, or until the next event if that is sooner.
    pub fn wait(&mut self, until: u64) {
        self.kernel.wait(Time(until));
    }

    /// Time of the next event, ps.
    pub fn next_time(&self) -> Option<u64> {
        self.kernel.next_time().map(|time| time.0)
    }

    /// Tells the load what left and what was dropped.
    #[inline]
    fn report(&mut self, load: &mut impl Load) {
        while let Some((id, end)) = self.gone.pop() {
            let packet = *self.packets.get(id);
            load.left(self, packet, end);
        }
        while let Some(packet) = self.lost.pop() {
            load.dropped(self, packet);
        }
    }

    fn look(&self) -> Result<(), FabricError> {
        self.deadlock().map_or(Ok(()), |deadlock| Err(deadlock.into()))
    }

    /// The queue of packets that a host sends over a channel.
    #[inline]
    pub(super) fn source(&self, channel: u32) -> usize {
        self.sources + channel as usize
    }

    /// The channel that a queue is at the end of; none for a source.
    #[inline]
    pub(super) fn channel_of(&self, queue: usize) -> Option<usize> {
        (queue < self.sources).then(|| queue >> self.plan.lane_bits)
    }

    pub(super) fn name(&self, channel: usize) -> String {
        self.names[channel].clone()
    }

    /// Whether a sender may send so many bytes into a buffer, as far as it knows now.
    #[inline]
    pub(super) fn fits(&mut self, lane: usize, bytes: u32, now: u64) -> bool {
        let Room::Lossless { buffer: size, flow } = self.settings.room else { return true };
        let buffer = &mut self.lanes[lane];
        if buffer.has_room(bytes, size) {
            return true;
        }
        if buffer.next_room() > now {
            return false;
        }
        buffer.collect(now, flow, &mut self.back[lane]);
        buffer.has_room(bytes, size)
    }

    /// Fills room in a buffer.
    #[inline]
    pub(super) fn fill(&mut self, lane: usize, bytes: u32) {
        let Room::Lossless { buffer: size, flow } = self.settings.room else { return };
        let buffer = &mut self.lanes[lane];
        buffer.used += bytes;
        if flow != FlowControl::Credits {
            buffer.stopped |= buffer.used + self.settings.largest > size;
        }
    }
}
