//! Virtual cut-through: queues ask for channels, channels choose among queues.

use super::lane::Lane;
use super::packet::Packet;
use super::plan::NONE;
use super::world::{Event, Fabric};
use super::{Arbiter, Crossbar, Room};
use crate::kernel::Time;

impl Fabric {
    /// A packet joins a queue; true if it is the first.
    #[inline]
    pub(super) fn append(&mut self, queue: usize, id: u32) -> bool {
        self.packets.get_mut(id).next = NONE;
        let Lane { head, tail, .. } = &mut self.lanes[queue];
        let before = std::mem::replace(tail, id);
        if *head == NONE {
            *head = id;
            return true;
        }
        self.packets.get_mut(before).next = id;
        false
    }

    /// A packet is on its way to a switch, which its head can leave at `at` if nothing is before it. What comes behind others
    /// is an event only once it is the first.
    #[inline]
    fn come(&mut self, id: u32, at: u64) {
        let packet = self.packets.get_mut(id);
        let (channel, vc, to) = (packet.out, packet.out_vc, packet.to);
        let (out, out_vc) = self.plan.onward(channel, vc, to);
        (packet.vc, packet.out, packet.out_vc, packet.head) = (vc, out, out_vc, at);
        let queue = self.plan.lane(channel, vc);
        if self.append(queue, id) {
            self.kernel.schedule(Time(at), Event::Head(queue as u32));
        }
    }

    /// The head of a queue asks for its channel.
    #[inline]
    pub(super) fn ask(&mut self, queue: usize) {
        let now = self.now();
        let packet = self.packets.get(self.lanes[queue].head);
        let (channel, lane) = (packet.out as usize, self.plan.lane(packet.out, packet.out_vc) as u32);
        let bytes = packet.bytes;
        let asking = &mut self.lanes[queue];
        (asking.bytes, asking.lane) = (bytes, lane);
        let track = self.tracks[channel];
        // Whoever asked before is served by the wake that is due now.
        let turn_of_others = track.first != NONE && track.wake <= now;
        let idle = track.busy <= now || self.settings.drops();
        if idle && !turn_of_others && self.may_go(channel, queue, now) {
            self.grant(queue, now);
            return;
        }
        self.counts.waits += 1;
        (self.lanes[queue].waits, self.lanes[queue].beside) = (true, NONE);
        self.lanes[lane as usize].wanted += 1;
        let track = &mut self.tracks[channel];
        match track.first {
            NONE => track.first = queue as u32,
            _ => self.lanes[track.last as usize].beside = queue as u32,
        }
        self.tracks[channel].last = queue as u32;
        let retry = self.retry(channel, queue, now);
        self.wake_at(channel, retry);
    }

    /// Whether the head of a queue could go if its channel were idle.
    #[inline]
    fn may_go(&mut self, channel: usize, queue: usize, now: u64) -> bool {
        let asking = self.lanes[queue];
        if asking.busy > now {
            return false;
        }
        if self.settings.crossbar == Crossbar::PerPort
            && let Some(port) = self.channel_of(queue)
            && self.ports[port] > now
        {
            return false;
        }
        !self.plan.lines[channel].limited || self.fits(asking.lane as usize, asking.bytes, now)
    }

    /// When it is worth asking again; `u64::MAX` if something else has to happen first.
    #[inline]
    fn retry(&self, channel: usize, queue: usize, now: u64) -> u64 {
        let mut at = self.lanes[queue].busy;
        if !self.settings.drops() {
            at = at.max(self.tracks[channel].busy);
        }
        if self.settings.crossbar == Crossbar::PerPort
            && let Some(port) = self.channel_of(queue)
        {
            at = at.max(self.ports[port]);
        }
        let Lane { lane, bytes, .. } = self.lanes[queue];
        let ahead = &self.lanes[lane as usize];
        if let Room::Lossless { buffer: size, .. } = self.settings.room
            && !ahead.has_room(bytes, size)
        {
            at = at.max(ahead.next_room());
        }
        at.max(now)
    }

    /// The channel looks at who wants it at `at`, or before.
    #[inline]
    fn wake_at(&mut self, channel: usize, at: u64) {
        if at < self.tracks[channel].wake {
            self.tracks[channel].wake = at;
            self.kernel.schedule(Time(at), Event::Wake(channel as u32));
        }
    }

    /// The channel chooses among those who want it.
    pub(super) fn wake(&mut self, channel: u32) {
        let now = self.now();
        let channel = channel as usize;
        if self.tracks[channel].wake != now {
            return;
        }
        self.tracks[channel].wake = u64::MAX;
        if self.tracks[channel].busy > now && !self.settings.drops() {
            let busy = self.tracks[channel].busy;
            self.wake_at(channel, busy);
            return;
        }
        if let Some((before, queue)) = self.choose(channel, now) {
            self.unlink(channel, before, queue);
            self.grant(queue, now);
        }
        let mut next = self.tracks[channel].first;
        let mut retry = u64::MAX;
        while next != NONE {
            // While the channel is busy that is when everybody asks again.
            retry = retry.min(self.retry(channel, next as usize, now));
            if self.tracks[channel].busy > now && retry <= self.tracks[channel].busy {
                break;
            }
            next = self.lanes[next as usize].beside;
        }
        if retry < u64::MAX {
            self.wake_at(channel, retry);
        }
    }

    /// The queue that goes next, and the one before it in the list.
    fn choose(&mut self, channel: usize, now: u64) -> Option<(u32, usize)> {
        let (mut before, mut at) = (NONE, self.tracks[channel].first);
        let mut best: Option<(u32, u32, usize)> = None;
        let turn = self.tracks[channel].turn;
        let lanes = self.lanes.len() as u32;
        while at != NONE {
            let queue = at as usize;
            if self.may_go(channel, queue, now) {
                if self.settings.arbiter == Arbiter::Oldest {
                    return Some((before, queue));
                }
                let rank = (at + lanes - turn - 1) % lanes;
                if best.is_none_or(|(least, ..)| rank < least) {
                    best = Some((rank, before, queue));
                }
            }
            (before, at) = (at, self.lanes[queue].beside);
        }
        best.map(|(_, before, queue)| (before, queue))
    }

    /// Takes a queue from the list of those that want a channel.
    fn unlink(&mut self, channel: usize, before: u32, queue: usize) {
        let Lane { beside: after, lane, .. } = self.lanes[queue];
        self.lanes[lane as usize].wanted -= 1;
        match before {
            NONE => self.tracks[channel].first = after,
            _ => self.lanes[before as usize].beside = after,
        }
        if after == NONE {
            self.tracks[channel].last = before;
        }
    }

    /// The head of a queue goes.
    #[inline]
    fn grant(&mut self, queue: usize, now: u64) {
        let id = self.lanes[queue].pop(&self.packets);
        let channel = self.packets.get(id).out as usize;
        let line = self.plan.lines[channel];
        let packet = self.packets.get_mut(id);
        let takes = line.takes(packet.bytes);
        // A slow cable before this one: the tail must be there when its turn comes. Where packets are dropped, those
        // that a relay forwards take their places on its cable at once, and its own go behind them.
        let start = now.max(packet.tail.saturating_sub(takes)).max(self.tracks[channel].busy);
        let end = start + takes;
        packet.tail = end + line.ahead;
        let (bytes, vc, to) = (packet.bytes, packet.out_vc, packet.to);
        self.tracks[channel].busy = end;
        self.tracks[channel].turn = queue as u32;
        self.passed[channel] += u64::from(bytes);
        self.counts.hops += 1;
        self.lanes[queue].busy = end;
        self.lanes[queue].waits = false;
        if line.limited {
            self.fill(self.plan.lane(channel as u32, vc), bytes);
        }
        if line.host == to {
            self.kernel.schedule(Time(end + line.ahead), Event::Deliver(id));
        } else {
            let at = if line.stores { end } else { start } + line.ahead;
            if self.settings.drops() {
                self.kernel.schedule(Time(at), Event::Store(id));
            } else {
                self.come(id, at);
            }
        }
        match self.channel_of(queue) {
            Some(port) => {
                self.ports[port] = end;
                self.free(queue, bytes, end);
            }
            None => {
                self.packets.get_mut(id).left = start;
                self.gone.push((id, end));
            }
        }
        let next = self.lanes[queue].head;
        if next != NONE {
            let at = self.packets.get(next).head;
            if at <= now {
                self.ask(queue);
            } else {
                self.kernel.schedule(Time(at), Event::Head(queue as u32));
            }
        }
    }

    /// A packet leaves a buffer at `end`; who sends into it hears of that a cable later.
    #[inline]
    fn free(&mut self, lane: usize, bytes: u32, end: u64) {
        let channel = lane >> self.plan.lane_bits;
        if !self.plan.lines[channel].limited {
            return;
        }
        let at = end + self.settings.cable_ps;
        self.lanes[lane].announce(at, bytes, &mut self.back[lane]);
        if self.lanes[lane].wanted > 0 {
            let at = at.max(self.tracks[channel].busy);
            self.wake_at(channel, at);
        }
    }

    /// A packet has arrived.
    #[inline]
    pub(super) fn deliver(&mut self, id: u32) -> Packet {
        let packet = self.packets.remove(id);
        self.counts.delivered += 1;
        self.counts.bytes += u64::from(packet.bytes);
        let line = self.plan.lines[packet.out as usize];
        if line.limited {
            let lane = self.plan.lane(packet.out, packet.out_vc);
            let now = self.now();
            self.free(lane, packet.bytes, now);
        }
        packet
    }
}
