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

/// A channel and its state, in a cache line of its own.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Track {
    /// The properties of the channel.
    pub line: Line,
    /// When the tail of the last packet has been put on it, ps.
    pub busy: u64,
    /// The first and last of the queues that want it, in the order in which they asked.
    pub first: u32,
    pub last: u32,
    /// When it chooses among them next, ps.
    pub wake: u64,
    /// The queue that was served last, for arbiters that go round.
    pub turn: u32,
}

/// Counters since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that the load has handed over.
    pub injected: u64,
    /// Packets that have arrived.
    pub delivered: u64,
    /// Packets that a full queue dropped.
    pub dropped: u64,
    /// Channels that packets have passed.
    pub hops: u64,
    /// Bytes that have arrived.
    pub bytes: u64,
    /// Requests that found their channel busy, or the buffer at its end full.
    pub waits: u64,
}

/// A load decides which host sends what to which. Hosts are numbers.
pub trait Load {
    /// Begins: sets the first timers, or sends the first packets.
    fn begin(&mut self, fabric: &mut Fabric);
    /// A timer set with [`Fabric::timer`] is due.
    fn timer(&mut self, fabric: &mut Fabric, host: u32, what: u32);
    /// The tail of a packet has arrived at its destination.
    fn arrived(&mut self, fabric: &mut Fabric, packet: Packet);
    /// A packet has begun to leave its source; its tail will have left at `end`, ps.
    fn left(&mut self, _fabric: &mut Fabric, _packet: Packet, _end: u64) {}
    /// A full queue dropped a packet.
    fn dropped(&mut self, _fabric: &mut Fabric, _packet: Packet) {}
    /// Whether the simulation may end.
    fn done(&self) -> bool {
        false
    }
}

/// A simulated network.
pub struct Fabric {
    pub(super) plan: Plan,
    pub(super) settings: Settings,
    /// Size of a buffer, bytes; no limit if packets are dropped. (This and the following fields are what
    /// every hop needs of the settings.)
    pub(super) size: u32,
    /// Whether the settings are those for which [`super::switch`] is compiled separately.
    pub(super) plain: bool,
    /// Whether packets are dropped if there is no room.
    pub(super) drops: bool,
    /// Whether buffers tell their senders to stop and go.
    pub(super) stops: bool,
    /// Bytes that are left in a buffer when it says go.
    go: u32,
    /// Whether the virtual channels of a port share a way into the crossbar.
    pub(super) per_port: bool,
    pub(super) kernel: Kernel<Word>,
    pub(super) packets: Packets,
    /// The lanes by [`Plan::lane`], and behind them a source for each channel.
    pub(super) lanes: Vec<Lane>,
    /// Index of the first source.
    pub(super) sources: usize,
    /// By [`Plan::lane`]: for rooms that become free after the first one, when and how many bytes.
    pub(super) back: Vec<VecDeque<(u64, u32)>>,
    pub(super) tracks: Vec<Track>,
    /// By channel, for crossbars with one input per port: until when that is taken, ps.
    pub(super) ports: Vec<u64>,
    /// Packets that have just begun to leave their sources.
    pub(super) gone: Vec<(u32, u64)>,
    pub(super) lost: Vec<Packet>,
    /// By channel: the packets that wait in front of it, if ports have two queues.
    pub(super) classes: Vec<Port>,
    pub(super) counts: Counts,
    names: Vec<String>,
}

/// Number of events between two searches for a deadlock.
const LOOK: u64 = 1 << 16;

impl Fabric {
    /// A fabric without packets.
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
            // Slots have 4 ns: on a busy fabric of 64 hosts few events share a slot, and the wheel reaches 16
            // us ahead.
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

    /// The counters.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Number of events that have happened.
    pub fn events(&self) -> u64 {
        self.kernel.happened()
    }

    /// Number of packets that are handed over and have not arrived.
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

    /// Time of a packet's head from leaving the source until its tail could have left the last node, if it
    /// had no length and there were no other packets: cables and switches, ps.
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

    /// Schedules an event. Inlined, because the kind of the event is known at every call, so that building
    /// the word needs no branch.
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

    /// A host hands a packet to its network interface now. Returns false if the packet is too large or has no
    /// route.
    pub fn send(&mut self, from: u32, to: u32, bytes: u32, tag: u64) -> bool {
        self.send_born(from, to, bytes, tag, self.now())
    }

    /// Like [`Fabric::send`], for an urgent packet, which ports with two queues send first.
    pub fn send_urgent(&mut self, from: u32, to: u32, bytes: u32, tag: u64) -> bool {
        self.hand_over(Packet { from, to, bytes, urgent: true, tag, born: self.now(), left: 0 })
    }

    /// Like [`Fabric::send`], for a packet whose time counts from `born`, ps.
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

    /// Continues after [`Fabric::run`].
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

    /// Handles an event. It branches on the kind in the word itself, which costs one unpredictable jump
    /// instead of two.
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

    /// Handles the next event if it is due by `until`, ps; for callers that move several clocks. Returns
    /// false if there is none.
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

    /// Tells the load which packets left and which were dropped.
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

    /// The channel at whose end a queue is; `None` for a source.
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

    /// Like [`Fabric::fits`], after taking back the room that has become free.
    #[inline(never)]
    fn fits_again(&mut self, lane: usize, bytes: u32, now: u64) -> bool {
        let buffer = &mut self.lanes[lane];
        buffer.collect(now, self.go, &mut self.back[lane]);
        buffer.has_room(bytes, self.size)
    }
}
