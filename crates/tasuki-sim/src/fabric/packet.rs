//! Packets under way, and the queues they wait in.

use super::plan::NONE;

/// A packet. What it carries is the load's business: `tag` is all that it gets back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Source, as a host number.
    pub from: u32,
    /// Destination.
    pub to: u32,
    /// Length, headers included.
    pub bytes: u32,
    /// The load's.
    pub tag: u64,
    /// When the load handed it over (or says that it did), ps.
    pub born: u64,
    /// When its head left the source, ps.
    pub left: u64,
    /// Virtual channel where it is.
    pub(super) vc: u8,
    /// Virtual channel that it goes to next.
    pub(super) out_vc: u8,
    /// Channel that it goes to next; while under way, the one that it is on.
    pub(super) out: u32,
    /// When its tail can leave the node where it is, at the earliest, ps.
    pub(super) tail: u64,
    /// The packet behind it.
    pub(super) next: u32,
}

/// All packets, by a number that is used again.
#[derive(Default)]
pub(super) struct Packets {
    all: Vec<Packet>,
    free: Vec<u32>,
}

impl Packets {
    #[inline]
    pub fn add(&mut self, packet: Packet) -> u32 {
        match self.free.pop() {
            Some(id) => {
                self.all[id as usize] = packet;
                id
            }
            None => {
                self.all.push(packet);
                self.all.len() as u32 - 1
            }
        }
    }

    #[inline]
    pub fn remove(&mut self, id: u32) -> Packet {
        self.free.push(id);
        self.all[id as usize]
    }

    #[inline]
    pub fn get(&self, id: u32) -> &Packet {
        &self.all[id as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, id: u32) -> &mut Packet {
        &mut self.all[id as usize]
    }

    pub fn len(&self) -> usize {
        self.all.len() - self.free.len()
    }
}

/// A queue: packets of one virtual channel at the end of a channel, or of a source.
#[derive(Clone, Copy)]
pub(super) struct Queue {
    pub head: u32,
    pub tail: u32,
    /// When the tail of the packet that left last is gone.
    pub busy: u64,
    /// The next queue that wants the same channel.
    pub beside: u32,
    /// Of its head, while that waits: length, and the virtual channel that it goes to.
    pub bytes: u32,
    pub lane: u32,
    /// Whether its head is among those that want their next channel.
    pub waits: bool,
}

impl Queue {
    pub const EMPTY: Queue =
        Queue { head: NONE, tail: NONE, busy: 0, beside: NONE, bytes: 0, lane: 0, waits: false };

    /// Adds a packet; true if it is the head.
    #[inline]
    pub fn push(&mut self, id: u32, packets: &mut Packets) -> bool {
        packets.get_mut(id).next = NONE;
        if self.head == NONE {
            (self.head, self.tail) = (id, id);
            return true;
        }
        packets.get_mut(self.tail).next = id;
        self.tail = id;
        false
    }

    /// Takes the head.
    #[inline]
    pub fn pop(&mut self, packets: &Packets) -> u32 {
        let id = self.head;
        self.head = packets.get(id).next;
        id
    }
}
