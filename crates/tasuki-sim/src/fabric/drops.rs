//! Ethernet: a packet that has arrived as a whole goes into a queue of its port, or is dropped if that is
//! full. A single queue is served in order, so the time at which a packet will leave is known as soon as it
//! comes in. Of two queues ([`super::priority`]) the urgent one goes first, so a port with waiting packets
//! chooses each time that its cable is free.

use super::Room;
use super::event::Event;
use super::packet::Moving;
use super::world::Fabric;

impl Fabric {
    /// A packet has arrived at a switch, or at a host that relays.
    pub(super) fn store(&mut self, id: u32) {
        let packet = self.packets.get_mut(id);
        let line = &self.tracks[self.plan.channel(packet.lane)].line;
        packet.lane = self.plan.onto(line, packet.lane, packet.to);
        match self.settings.room {
            Room::DropTail { queue } => self.forward_or_drop(id, queue),
            Room::Priority { queue } => self.line_up(id, queue),
            Room::Lossless { .. } => {}
        }
    }

    /// Puts a packet into the queue of its next channel, if it fits into `queue` bytes; otherwise drops it.
    fn forward_or_drop(&mut self, id: u32, queue: u32) {
        let now = self.now();
        let packet = *self.packets.get(id);
        let channel = self.plan.channel(packet.lane);
        let track = &self.tracks[channel];
        let line = track.line;
        let start = now.max(track.busy);
        // What is in front of it, in bytes on this cable.
        let ahead = ((u128::from(start - now) << 20) / u128::from(line.rate.max(1))) as u64;
        if ahead + u64::from(packet.bytes) > u64::from(queue) {
            return self.drop_packet(id);
        }
        self.counts.waits += u64::from(start > now);
        self.forward(id, start);
    }

    /// Drops a packet.
    pub(super) fn drop_packet(&mut self, id: u32) {
        let lost = self.packets.remove(id);
        self.counts.dropped += 1;
        self.lost.push(lost);
    }

    /// Sends a packet over its next channel at `start`, ps, when that is free. Returns the time at which it
    /// has left.
    pub(super) fn forward(&mut self, id: u32, start: u64) -> u64 {
        let packet = *self.packets.get(id);
        let channel = self.plan.channel(packet.lane);
        let track = &mut self.tracks[channel];
        let line = track.line;
        let end = start + line.takes(packet.bytes);
        track.busy = end;
        self.lanes[packet.lane as usize].passed += u64::from(packet.bytes);
        self.counts.hops += 1;
        self.packets.get_mut(id).tail = end + line.ahead;
        if line.host == packet.to {
            self.schedule(end + line.ahead, Event::Deliver(id));
        } else {
            let at = if line.stores { end } else { start } + line.ahead;
            self.schedule(at, Event::Store(id));
        }
        end
    }

    /// Puts a packet into that of the two queues of its next channel to which its class belongs, if it fits
    /// into `queue` bytes; otherwise drops it.
    fn line_up(&mut self, id: u32, queue: u32) {
        let Moving { bytes, lane, .. } = *self.packets.get(id);
        let channel = self.plan.channel(lane);
        let urgent = self.packets.told(id).urgent;
        let idle = self.tracks[channel].busy <= self.now();
        let port = &mut self.classes[channel];
        if !port.push(id, bytes, urgent, queue) {
            return self.drop_packet(id);
        }
        let serving = port.serving;
        self.counts.waits += u64::from(serving || !idle);
        if !serving {
            self.serve(channel);
        }
    }

    /// Sends the next packet of a port if its cable is free. A relay's own packets use that cable, too.
    pub(super) fn serve(&mut self, channel: usize) {
        let (now, busy) = (self.now(), self.tracks[channel].busy);
        let again = if busy > now {
            Some(busy)
        } else {
            self.classes[channel].next().map(|id| self.forward(id, now))
        };
        self.classes[channel].serving = again.is_some();
        if let Some(at) = again {
            self.schedule(at, Event::Serve(channel as u32));
        }
    }
}
