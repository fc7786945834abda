//! Packets under way.

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
    /// Whether it goes before others where ports have two queues.
    pub urgent: bool,
    /// The load's.
    pub tag: u64,
    /// When the load handed it over (or says that it did), ps.
    pub born: u64,
    /// When its head left the source, ps.
    pub left: u64,
}

/// What of a packet every hop looks at. Apart from the rest, so that more of them fit a first-level cache: two to a line.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(super) struct Moving {
    /// When its tail can leave the node where it is, at the earliest, ps.
    pub tail: u64,
    /// When its head can leave the node that it comes to, if nothing is before it, ps.
    pub head: u64,
    /// The packet behind it; of a number that is free, the next one that is.
    pub next: u32,
    /// Lane that it goes to next; while on the way to its destination or to a switch that drops, the one that it is on.
    pub lane: u32,
    pub to: u32,
    pub bytes: u32,
}

/// All packets, by a number that is used again.
pub(super) struct Packets {
    moving: Vec<Moving>,
    told: Vec<Packet>,
    free: u32,
    len: usize,
}

impl Packets {
    pub fn new() -> Packets {
        Packets { moving: Vec::new(), told: Vec::new(), free: NONE, len: 0 }
    }

    /// A packet that goes to `lane` first.
    #[inline]
    pub fn add(&mut self, packet: Packet, lane: u32) -> u32 {
        let Packet { to, bytes, .. } = packet;
        let moving = Moving { tail: 0, head: 0, next: NONE, lane, to, bytes };
        self.len += 1;
        let id = self.free;
        match self.moving.get_mut(id as usize) {
            Some(place) => {
                self.free = place.next;
                *place = moving;
                self.told[id as usize] = packet;
                id
            }
            None => {
                self.moving.push(moving);
                self.told.push(packet);
                self.told.len() as u32 - 1
            }
        }
    }

    #[inline]
    pub fn remove(&mut self, id: u32) -> Packet {
        self.len -= 1;
        self.moving[id as usize].next = std::mem::replace(&mut self.free, id);
        self.told[id as usize]
    }

    #[inline]
    pub fn get(&self, id: u32) -> &Moving {
        &self.moving[id as usize]
    }

    /// Of all of them, by number.
    #[inline]
    pub fn moving(&mut self) -> &mut [Moving] {
        &mut self.moving
    }

    #[inline]
    pub fn get_mut(&mut self, id: u32) -> &mut Moving {
        &mut self.moving[id as usize]
    }

    /// What the load knows of a packet.
    #[inline]
    pub fn told(&mut self, id: u32) -> &mut Packet {
        &mut self.told[id as usize]
    }

    pub fn len(&self) -> usize {
        self.len
    }
}
