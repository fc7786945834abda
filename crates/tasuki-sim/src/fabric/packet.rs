//! Packets under way.

use super::plan::NONE;

/// A packet. Its content belongs to the load, which gets only `tag` back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Source, as a host number.
    pub from: u32,
    /// Destination, as a host number.
    pub to: u32,
    /// Length, headers included, bytes.
    pub bytes: u32,
    /// Whether it is sent before others by ports with two queues.
    pub urgent: bool,
    /// A number of the load.
    pub tag: u64,
    /// When the load handed it over, or says that it did, ps.
    pub born: u64,
    /// When its head left the source, ps.
    pub left: u64,
}

/// The part of a packet that every hop needs. It is apart from the rest, so that more of them fit a
/// first-level cache: two to a line.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(super) struct Moving {
    /// Earliest time at which its tail can leave the node where it is, ps.
    pub tail: u64,
    /// Time at which its head can leave the node that it comes to, if no packet is before it, ps.
    pub head: u64,
    /// The packet behind it; for a free number, the next free number.
    pub next: u32,
    /// Lane that it goes to next. On its way to its destination, or to a switch that drops, it is the lane
    /// that it is on.
    pub lane: u32,
    pub to: u32,
    pub bytes: u32,
}

/// All packets, by number; numbers are used again.
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

    /// Adds a packet that goes to `lane` first.
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

    /// The moving parts of all packets, by number.
    #[inline]
    pub fn moving(&mut self) -> &mut [Moving] {
        &mut self.moving
    }

    #[inline]
    pub fn get_mut(&mut self, id: u32) -> &mut Moving {
        &mut self.moving[id as usize]
    }

    /// The part of a packet that the load knows.
    #[inline]
    pub fn told(&mut self, id: u32) -> &mut Packet {
        &mut self.told[id as usize]
    }

    pub fn len(&self) -> usize {
        self.len
    }
}
