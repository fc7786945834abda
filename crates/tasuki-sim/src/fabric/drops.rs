//! Ethernet: a packet that has come in whole goes into the queue of its port, or is dropped when that is full. The
//! queue is served in order, so when a packet will leave is known as it comes in.

use super::Room;
use super::world::{Event, Fabric};
use crate::kernel::Time;

impl Fabric {
    /// A packet comes to a switch (or a relaying host).
    pub(super) fn store(&mut self, id: u32) {
        let packet = self.packets.get(id);
        let (out, out_vc) = self.plan.onward(packet.out, packet.out_vc, packet.to);
        let packet = self.packets.get_mut(id);
        (packet.vc, packet.out, packet.out_vc) = (packet.out_vc, out, out_vc);
        self.forward_or_drop(id);
    }

    /// Puts it into the queue of its next channel if it fits.
    fn forward_or_drop(&mut self, id: u32) {
        let Room::DropTail { queue } = self.settings.room else { return };
        let now = self.now();
        let packet = *self.packets.get(id);
        let channel = packet.out as usize;
        let line = self.plan.lines[channel];
        let start = now.max(self.tracks[channel].busy);
        // What is in front, in bytes of this cable.
        let ahead = ((u128::from(start - now) << 20) / u128::from(line.rate.max(1))) as u64;
        if ahead + u64::from(packet.bytes) > u64::from(queue) {
            let lost = self.packets.remove(id);
            self.counts.dropped += 1;
            self.lost.push(lost);
            return;
        }
        self.counts.waits += u64::from(start > now);
        let end = start + line.takes(packet.bytes);
        self.tracks[channel].busy = end;
        self.passed[channel] += u64::from(packet.bytes);
        self.counts.hops += 1;
        self.packets.get_mut(id).tail = end + line.ahead;
        if line.host == packet.to {
            self.kernel.schedule(Time(end + line.ahead), Event::Deliver(id));
        } else {
            let at = if line.stores { end } else { start } + line.ahead;
            self.kernel.schedule(Time(at), Event::Store(id));
        }
    }
}
