//! The two queues of an Ethernet port: urgent packets are sent before others, but do not interrupt any (IEEE
//! 802.1Q-2022, 8.6.8.1). The time at which a packet leaves is not known when it comes in, so a port with
//! waiting packets chooses each time that its cable is free.

use std::collections::VecDeque;

/// The packets that wait in front of a channel.
#[derive(Clone, Default)]
pub(super) struct Port {
    urgent: Class,
    other: Class,
    /// The port will choose when its cable is free.
    pub(super) serving: bool,
}

#[derive(Clone, Default)]
struct Class {
    /// The packets by number, and the length of each, bytes.
    packets: VecDeque<(u32, u32)>,
    bytes: u64,
}

impl Port {
    /// Appends a packet of `bytes` bytes, if its class then has no more than `limit` bytes waiting; false
    /// otherwise.
    #[inline]
    pub(super) fn push(&mut self, id: u32, bytes: u32, urgent: bool, limit: u32) -> bool {
        let class = self.class(urgent);
        let fits = class.bytes + u64::from(bytes) <= u64::from(limit);
        if fits {
            class.bytes += u64::from(bytes);
            class.packets.push_back((id, bytes));
        }
        fits
    }

    fn class(&mut self, urgent: bool) -> &mut Class {
        if urgent { &mut self.urgent } else { &mut self.other }
    }

    /// Takes the packet that is sent next.
    #[inline]
    pub(super) fn next(&mut self) -> Option<u32> {
        let class = self.class(!self.urgent.packets.is_empty());
        let (id, bytes) = class.packets.pop_front()?;
        class.bytes -= u64::from(bytes);
        Some(id)
    }
}
