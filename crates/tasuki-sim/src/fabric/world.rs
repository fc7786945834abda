//! The fabric and the clock that moves it.

use tasuki_topo::{Network, Tables};

use super::event::{self, Event, Word};
use super::lane::Lane;
use super::packet::{Packet, Packets};
use super::plan::{Line, NONE, Plan};
use super::priority::Port;
use super::{Crossbar, FabricError, FlowControl, Room, Settings};
use crate::kernel::{Kernel, Time};
use std::collections::VecDeque;

/// A channel in motion, in a cache line of its own.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Track {
    /// What of it never changes.
    pub line: Line,
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
    /// Of the settings, what every hop asks: bytes of a buffer; no limit where packets are dropped.
    pub(super) size: u32,
    /// Whether the settings are those that [`super::switch`] is compiled for on its own.
    pub(super) plain: bool,
    /// Whether packets are dropped where there is no room.
    pub(super) drops: bool,
    /// Whether buffers say stop and go.
    pub(super) stops: bool,
    /// Bytes that are left when they say go.
    go: u32,
    /// Whether the virtual channels of a port share a way into the crossbar.
    pub(super) per_port: bool,
    pub(super) kernel: Kernel<Word>,
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
    /// By channel: what waits in front of it where ports have two queues.
    pub(super) classes: Vec<Port>,
    pub(super) counts: Counts,
    names: Vec<String>,
}

/// Events between looks for a deadlock.
const LOOK: u64 = 1 << 16;

impl Fabric {
    /// A fabric at rest.
    pub fn new(net: &Network, tables: &Tables, settings: Settings) -> Result<Fabric, FabricError> {
        let (size, flow) = match settings.room {
            Room::Lossless { buffer, flow } => (buffer, flow),
            Room::DropTail { .. } | Room::Priority { .. } => (u32::MAX, FlowControl::Credits),
        };
        if settings.largest > size {
            return Err(FabricError::PacketTooLarge { bytes: settings.largest, buffer: size });
        }
        let plan = Plan::new(net, tables, &settings)?;
        let channels = net.channels();
        let lanes = channels << plan.lane_bits;
        let still = |&line| Track { line, busy: 0, first: NONE, last: NONE, wake: u64::MAX, turn: 0 };
        let behind = (0..lanes as u32).map(|lane| Lane::behind(&plan.lines[plan.channel(lane)]));
        let label = |channel| net.channel_label(tasuki_topo::ChannelId(channel));
        Ok(Fabric {
            size,
            drops: settings.drops(),
            plain: settings.plain(),
            stops: flow != FlowControl::Credits,
            go: if let FlowControl::GoAndStop { go } = flow { go } else { 0 },
            per_port: settings.crossbar == Crossbar::PerPort,
            settings,
            // A slot of 4 ns: seldom many events on a busy fabric of 64 hosts, while 16 us ahead are on the wheel.
            kernel: Kernel::with_slots(12),
            packets: Packets::new(),
            lanes: behind.chain(std::iter::repeat_n(Lane::SOURCE, channels)).collect(),
            sources: lanes,
            back: vec![VecDeque::new(); lanes],
            tracks: plan.lines.iter().map(still).collect(),
            ports: vec![0; channels],
            gone: Vec::new(),
            lost: Vec::new(),
            classes: vec![Port::default(); channels],
            counts: Counts::default(),
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
    pub fn passed(&self) -> Vec<u64> {
        let mut passed = vec![0; self.tracks.len()];
        for (lane, to) in self.lanes[..self.sources].iter().enumerate() {
            passed[self.plan.channel(lane as u32)] += to.passed;
        }
        passed
    }

    /// Time that `bytes` take over a host's first channel towards `to`, ps.
    pub fn injection(&self, from: u32, to: u32, bytes: u32) -> u64 {
        let start = self.plan.start(from, to);
        if start == NONE { 0 } else { self.plan.lines[self.plan.channel(start)].takes(bytes) }
    }

    /// What a packet's head takes from leaving the source until its tail could have left the last node, were there
    /// no bytes and no other packets: cables and switches, ps.
    pub fn unloaded(&self, from: u32, to: u32) -> u64 {
        let start = self.plan.start(from, to);
        if start == NONE {
            return 0;
        }
        let (mut channel, mut vc) = (self.plan.channel(start) as u32, self.plan.vc(start));
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

    /// Where this is called the kind of event is known, so that making the word takes no choice.
    #[inline(always)]
    pub(super) fn schedule(&mut self, at: u64, event: Event) {
        self.put(at, event.into());
    }

    fn put(&mut self, at: u64, word: Word) {
        self.kernel.schedule(Time(at), word);
    }

    /// Calls [`Load::timer`] at `at`, ps. `host` is below 2^29.
    #[inline]
    pub fn timer(&mut self, at: u64, host: u32, what: u32) {
        self.schedule(at, Event::Timer(host, what));
    }

    /// A host hands a packet to its network interface now. False if it is too large, or goes nowhere.
    pub fn send(&mut self, from: u32, to: u32, bytes: u32, tag: u64) -> bool {
        self.send_born(from, to, bytes, tag, self.now())
    }

    /// The same for a packet that goes first where ports have two queues.
    pub fn send_urgent(&mut self, from: u32, to: u32, bytes: u32, tag: u64) -> bool {
        self.hand_over(Packet { from, to, bytes, urgent: true, tag, born: self.now(), left: 0 })
    }

    /// The same for a packet whose time counts from `born`, ps.
    pub fn send_born(&mut self, from: u32, to: u32, bytes: u32, tag: u64, born: u64) -> bool {
        self.hand_over(Packet { from, to, bytes, urgent: false, tag, born, left: 0 })
    }

    fn hand_over(&mut self, packet: Packet) -> bool {
        let Packet { from, to, bytes, .. } = packet;
        if from as usize >= self.plan.hosts || to as usize >= self.plan.hosts || bytes > self.settings.largest
        {
            return false;
        }
        let start = self.plan.start(from, to);
        if start == NONE {
            return false;
        }
        let id = self.packets.add(packet, start);
        self.counts.injected += 1;
        let source = self.source(self.plan.channel(start));
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

    /// By the kind in the word itself: one jump that nobody can predict, not two.
    #[inline]
    fn happen(&mut self, word: Word, load: &mut impl Load) {
        let number = word.number();
        match word.kind() {
            event::HEAD => self.ask(number as usize),
            event::STORE => self.store(number),
            event::DELIVER => {
                let packet = self.deliver(number);
                load.arrived(self, packet);
            }
            event::WAKE => self.wake(number as usize),
            event::SERVE => self.serve(number as usize),
            _ => load.timer(self, word.host(), number),
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
            let packet = *self.packets.told(id);
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
    pub(super) fn source(&self, channel: usize) -> usize {
        self.sources + channel
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
        let buffer = &mut self.lanes[lane];
        if buffer.has_room(bytes, self.size) {
            return true;
        }
        buffer.next_room() <= now && self.fits_again(lane, bytes, now)
    }

    /// The same once what has become free is taken back.
    #[inline(never)]
    fn fits_again(&mut self, lane: usize, bytes: u32, now: u64) -> bool {
        let buffer = &mut self.lanes[lane];
        buffer.collect(now, self.go, &mut self.back[lane]);
        buffer.has_room(bytes, self.size)
    }
}
