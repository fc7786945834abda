//! Virtual cut-through: queues ask for channels, and channels choose among queues.
//!
//! All of this is compiled twice: `PLAIN` is for fabrics in which no packet is dropped, no buffer says stop,
//! every queue has its own input of the crossbar, and the oldest request is served first. Most simulations
//! are of this kind, and testing the settings at every hop took a tenth of their instructions.

use super::Arbiter;
use super::event::Event;
use super::lane::Lane;
use super::packet::{Moving, Packet};
use super::plan::NONE;
use super::world::{Fabric, Track};
use crate::kernel::Time;
use std::hint::select_unpredictable;

impl Fabric {
    /// Adds a packet to a queue; returns true if it is the first.
    #[inline]
    pub(super) fn append(&mut self, queue: usize, id: u32) -> bool {
        self.packets.get_mut(id).next = NONE;
        let lane = &mut self.lanes[queue];
        let before = std::mem::replace(&mut lane.tail, id);
        if lane.head == NONE {
            lane.head = id;
            return true;
        }
        self.packets.get_mut(before).next = id;
        false
    }

    /// The head of a queue asks for its channel.
    #[inline]
    pub(super) fn ask(&mut self, queue: usize) {
        if self.plain { self.ask_as::<true>(queue) } else { self.ask_as::<false>(queue) }
    }

    /// The channel chooses among the queues that want it.
    #[inline]
    pub(super) fn wake(&mut self, channel: usize) {
        if self.plain { self.wake_as::<true>(channel) } else { self.wake_as::<false>(channel) }
    }

    fn ask_as<const PLAIN: bool>(&mut self, queue: usize) {
        let now = self.now();
        let (channel, lane) = self.look_ahead(queue);
        let track = &self.tracks[channel];
        // Queues that asked before are served by the wake that is due now.
        let turn_of_others = (track.first != NONE) & (track.wake <= now);
        let idle = (track.busy <= now) | (!PLAIN & self.drops);
        if idle & !turn_of_others && self.may_go::<PLAIN>(queue, now) {
            self.grant::<PLAIN>(queue, now);
        } else {
            self.join::<PLAIN>(queue, channel, lane, now);
        }
    }

    /// Notes what the head of a queue wants; returns the channel and the lane that it goes to.
    #[inline]
    fn look_ahead(&mut self, queue: usize) -> (usize, u32) {
        let asking = &mut self.lanes[queue];
        let &Moving { bytes, lane, .. } = self.packets.get(asking.head);
        (asking.bytes, asking.lane) = (bytes, lane);
        (self.plan.channel(lane), lane)
    }

    /// Adds a queue to those that want a channel.
    #[inline]
    fn join<const PLAIN: bool>(&mut self, queue: usize, channel: usize, lane: u32, now: u64) {
        self.counts.waits += 1;
        self.lanes[lane as usize].wanted += 1;
        let track = &mut self.tracks[channel];
        // If the channel chooses anyway before it can be idle, this queue need not wake it.
        let soon = (track.wake <= now) | ((track.wake <= track.busy) & (PLAIN | !self.drops));
        // Linked behind the last queue, or behind itself if there is none; the latter is corrected below.
        let (first, number) = (track.first == NONE, queue as u32);
        let before = select_unpredictable(first, number, track.last);
        track.first = select_unpredictable(first, number, track.first);
        track.last = number;
        self.lanes[before as usize].beside = number;
        let asking = &mut self.lanes[queue];
        (asking.waits, asking.beside) = (true, NONE);
        if !soon {
            let busy = track.busy;
            let retry = self.retry::<PLAIN>(queue, busy, now);
            self.wake_at(channel, retry);
        }
    }

    /// Whether the head of a queue could go if its channel were idle.
    #[inline(always)]
    fn may_go<const PLAIN: bool>(&mut self, queue: usize, now: u64) -> bool {
        let &Lane { busy, lane, bytes, .. } = &self.lanes[queue];
        if busy > now || self.port_busy::<PLAIN>(queue) > now {
            return false;
        }
        self.fits(lane as usize, bytes, now)
    }

    /// Until when the input of the crossbar that a queue shares is taken by another queue of its port, ps.
    #[inline]
    fn port_busy<const PLAIN: bool>(&self, queue: usize) -> u64 {
        if PLAIN | !self.per_port {
            return 0;
        }
        self.channel_of(queue).map_or(0, |port| self.ports[port])
    }

    /// The time at which it is worth asking again, ps; `u64::MAX` if something else must happen first. The
    /// channel is busy until `busy`.
    #[inline]
    fn retry<const PLAIN: bool>(&self, queue: usize, busy: u64, now: u64) -> u64 {
        let lanes = self.lanes.as_slice();
        let asking = &lanes[queue];
        let ahead = &lanes[asking.lane as usize];
        let room = select_unpredictable(ahead.has_room(asking.bytes, self.size), 0, ahead.next_room());
        let busy = if !PLAIN & self.drops { 0 } else { busy };
        now.max(asking.busy).max(busy).max(self.port_busy::<PLAIN>(queue)).max(room)
    }

    /// Makes the channel choose at `at` or before.
    #[inline]
    fn wake_at(&mut self, channel: usize, at: u64) {
        let track = &mut self.tracks[channel];
        if at < track.wake {
            track.wake = at;
            self.schedule(at, Event::Wake(channel as u32));
        }
    }

    /// The channel chooses among the queues that want it.
    fn wake_as<const PLAIN: bool>(&mut self, channel: usize) {
        let now = self.now();
        let track = &mut self.tracks[channel];
        if track.wake != now {
            return;
        }
        track.wake = u64::MAX;
        if track.busy > now && (PLAIN | !self.drops) {
            let busy = track.busy;
            self.wake_at(channel, busy);
            return;
        }
        if let Some((before, queue)) = self.choose::<PLAIN>(channel, now) {
            self.unlink(channel, before, queue);
            self.grant::<PLAIN>(queue, now);
        }
        let &Track { busy, first, .. } = &self.tracks[channel];
        let (mut next, mut retry) = (first, u64::MAX);
        while next != NONE {
            // While the channel is busy, all queues ask again when it is idle.
            retry = retry.min(self.retry::<PLAIN>(next as usize, busy, now));
            if busy > now && retry <= busy {
                break;
            }
            next = self.lanes[next as usize].beside;
        }
        if retry < u64::MAX {
            self.wake_at(channel, retry);
        }
    }

    /// The queue that is served next, and the one before it in the list.
    #[inline(always)]
    fn choose<const PLAIN: bool>(&mut self, channel: usize, now: u64) -> Option<(u32, usize)> {
        let (mut before, mut at) = (NONE, self.tracks[channel].first);
        let mut best: Option<(u32, u32, usize)> = None;
        let turn = self.tracks[channel].turn;
        let lanes = self.lanes.len() as u32;
        while at != NONE {
            let queue = at as usize;
            if self.may_go::<PLAIN>(queue, now) {
                if PLAIN || self.settings.arbiter == Arbiter::Oldest {
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

    /// Removes a queue from the list of those that want a channel.
    #[inline(always)]
    fn unlink(&mut self, channel: usize, before: u32, queue: usize) {
        let Lane { beside: after, lane, .. } = self.lanes[queue];
        self.lanes[lane as usize].wanted -= 1;
        let track = &mut self.tracks[channel];
        track.last = select_unpredictable(after == NONE, before, track.last);
        match before {
            NONE => track.first = after,
            _ => self.lanes[before as usize].beside = after,
        }
    }

    /// The head of a queue moves on.
    #[inline]
    fn grant<const PLAIN: bool>(&mut self, queue: usize, now: u64) {
        // The fields are borrowed once, so that their addresses are loaded once.
        let Fabric { lanes, tracks, packets, plan, kernel, .. } = self;
        let (lanes, moving) = (lanes.as_mut_slice(), packets.moving());
        let Lane { head: id, bytes, lane, source, .. } = lanes[queue];
        let track = &mut tracks[plan.channel(lane)];
        let packet = &mut moving[id as usize];
        let next = packet.next;
        let (takes, ahead) = (track.line.takes(bytes), track.line.ahead);
        // If the cable before this one is slow, the tail must be there when its turn comes. If packets are
        // dropped, those that a relay forwards take their places on its cable at once, and its own packets
        // come behind them.
        let start = now.max(packet.tail.saturating_sub(takes)).max(track.busy);
        let end = start + takes;
        packet.tail = end + ahead;
        (track.busy, track.turn) = (end, queue as u32);
        let from = &mut lanes[queue];
        (from.head, from.busy, from.waits) = (next, end, false);
        self.counts.hops += 1;
        let into = &mut lanes[lane as usize];
        into.fill(bytes, !PLAIN & self.stops, self.settings.largest, self.size);
        if track.line.host == packet.to {
            kernel.schedule(Time(end + ahead), Event::Deliver(id).into());
        } else {
            let at = if track.line.stores { end } else { start } + ahead;
            if !PLAIN & self.drops {
                kernel.schedule(Time(at), Event::Store(id).into());
            } else {
                packet.lane = plan.onto(&track.line, lane, packet.to);
                (packet.head, packet.next) = (at, NONE);
                // A packet behind others needs an event only once it is the first.
                let before = std::mem::replace(&mut into.tail, id);
                if into.head == NONE {
                    into.head = id;
                    kernel.schedule(Time(at), Event::Head(lane).into());
                } else {
                    moving[before as usize].next = id;
                }
            }
        }
        if source {
            self.packets.told(id).left = start;
            self.gone.push((id, end));
        } else {
            if !PLAIN & self.per_port {
                let port = self.plan.channel(queue as u32);
                self.ports[port] = end;
            }
            self.free(queue, bytes, end);
        }
        if next != NONE {
            self.move_up::<PLAIN>(queue, next, end, now);
        }
    }

    /// The next packet of a queue becomes the first, once the tail of the one before has left at `end`.
    #[inline]
    fn move_up<const PLAIN: bool>(&mut self, queue: usize, id: u32, end: u64, now: u64) {
        let &Moving { head: at, bytes, lane, .. } = self.packets.get(id);
        if at > now {
            self.schedule(at, Event::Head(queue as u32));
        } else if end > now {
            let asking = &mut self.lanes[queue];
            (asking.bytes, asking.lane) = (bytes, lane);
            self.join::<PLAIN>(queue, self.plan.channel(lane), lane, now);
        } else {
            self.ask_again::<PLAIN>(queue);
        }
    }

    /// Asks again at once. This is rare, because a packet of some length takes time to leave.
    #[cold]
    #[inline(never)]
    fn ask_again<const PLAIN: bool>(&mut self, queue: usize) {
        self.ask_as::<PLAIN>(queue);
    }

    /// A packet leaves a buffer at `end`; the sender into that buffer learns of it one cable delay later.
    #[inline]
    fn free(&mut self, lane: usize, bytes: u32, end: u64) {
        let buffer = &mut self.lanes[lane];
        if !buffer.limited {
            return;
        }
        let (at, wanted) = (end + self.settings.cable_ps, buffer.wanted > 0);
        if !buffer.announce(at, bytes) {
            self.announce_later(lane, at, bytes);
        }
        let channel = self.plan.channel(lane as u32);
        let track = &mut self.tracks[channel];
        let at = at.max(track.busy);
        if wanted & (at < track.wake) {
            track.wake = at;
            self.schedule(at, Event::Wake(channel as u32));
        }
    }

    /// Notes room that becomes free after other room.
    #[inline(never)]
    fn announce_later(&mut self, lane: usize, at: u64, bytes: u32) {
        self.back[lane].push_back((at, bytes));
    }

    /// A packet has arrived.
    #[inline]
    pub(super) fn deliver(&mut self, id: u32) -> Packet {
        let lane = self.packets.get(id).lane;
        let packet = self.packets.remove(id);
        self.counts.delivered += 1;
        self.counts.bytes += u64::from(packet.bytes);
        let now = self.now();
        self.free(lane as usize, packet.bytes, now);
        packet
    }
}
