//! Ethernet with two queues per port: urgent packets go before others, but interrupt none (IEEE 802.1Q-2022, 8.6.8.1). When a packet
//! leaves is not known as it comes in, so a port that has one waiting looks each time that its cable is free.

use std::collections::VecDeque;

use super::event::Event;
use super::world::Fabric;

/// What waits in front of a channel: urgent packets, others.
#[derive(Clone, Default)]
pub(super) struct Port {
    urgent: Class,
    other: Class,
    /// It will look when its cable is free.
    serving: bool,
}

#[derive(Clone, Default)]
struct Class {
    packets: VecDeque<u32>,
    bytes: u64,
}

impl Port {
    fn class(&mut self, urgent: bool) -> &mut Class {
        if urgent { &mut self.urgent } else { &mut self.other }
    }

    /// The packet that goes next, of those that wait.
    fn next(&mut self) -> Option<(bool, u32)> {
        let urgent = !self.urgent.packets.is_empty();
        self.class(urgent).packets.pop_front().map(|id| (urgent, id))
    }
}

impl Fabric {
    /// Puts a packet into its queue of its next channel, of so many bytes, if it fits.
    pub(super) fn line_up(&mut self, id: u32, queue: u32) {
        let bytes = u64::from(self.packets.get(id).bytes);
        let channel = self.plan.channel(self.packets.get(id).lane);
        let urgent = self.packets.told(id).urgent;
        let idle = self.tracks[channel].busy <= self.now();
        let port = &mut self.classes[channel];
        let class = port.class(urgent);
        if class.bytes + bytes > u64::from(queue) {
            return self.drop_packet(id);
        }
        class.bytes += bytes;
        class.packets.push_back(id);
        self.counts.waits += u64::from(port.serving || !idle);
        if !port.serving {
            self.serve(channel);
        }
    }

    /// The cable of a port may be free. A relay's own packets go over it, too.
    pub(super) fn serve(&mut self, channel: usize) {
        let (now, busy) = (self.now(), self.tracks[channel].busy);
        let again = if busy > now {
            Some(busy)
        } else {
            self.classes[channel].next().map(|(urgent, id)| {
                self.classes[channel].class(urgent).bytes -= u64::from(self.packets.get(id).bytes);
                self.forward(id, now)
            })
        };
        self.classes[channel].serving = again.is_some();
        if let Some(at) = again {
            self.schedule(at, Event::Serve(channel as u32));
        }
    }
}
