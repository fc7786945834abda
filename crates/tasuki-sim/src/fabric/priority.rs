//! Ethernet with two queues per port: urgent packets are sent before others, but do not interrupt any (IEEE
//! 802.1Q-2022, 8.6.8.1). The time at which a packet leaves is not known when it comes in, so a port with
//! waiting packets chooses each time that its cable is free.

use std::collections::VecDeque;

use super::event::Event;
use super::packet::Moving;
use super::world::Fabric;

/// The packets that wait in front of a channel.
#[derive(Clone, Default)]
pub(super) struct Port {
    urgent: Class,
    other: Class,
    /// The port will choose when its cable is free.
    serving: bool,
}

#[derive(Clone, Default)]
struct Class {
    /// The packets by number, and the length of each, bytes.
    packets: VecDeque<(u32, u32)>,
    bytes: u64,
}

impl Port {
    fn class(&mut self, urgent: bool) -> &mut Class {
        if urgent { &mut self.urgent } else { &mut self.other }
    }

    /// Takes the packet that is sent next.
    fn next(&mut self) -> Option<u32> {
        let class = self.class(!self.urgent.packets.is_empty());
        let (id, bytes) = class.packets.pop_front()?;
        class.bytes -= u64::from(bytes);
        Some(id)
    }
}

impl Fabric {
    /// Puts a packet into the queue of its next channel, if it fits into `queue` bytes; otherwise drops it.
    pub(super) fn line_up(&mut self, id: u32, queue: u32) {
        let Moving { bytes, lane, .. } = *self.packets.get(id);
        let channel = self.plan.channel(lane);
        let urgent = self.packets.told(id).urgent;
        let idle = self.tracks[channel].busy <= self.now();
        let port = &mut self.classes[channel];
        let class = port.class(urgent);
        if class.bytes + u64::from(bytes) > u64::from(queue) {
            return self.drop_packet(id);
        }
        class.bytes += u64::from(bytes);
        class.packets.push_back((id, bytes));
        self.counts.waits += u64::from(port.serving || !idle);
        if !port.serving {
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
