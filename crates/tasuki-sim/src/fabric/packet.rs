//! Packets under way.

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
    /// When its head can leave the node that it comes to, if nothing is before it, ps.
    pub(super) head: u64,
    /// The packet behind it.
    pub(super) next: u32,
}

/// A packet in a cache line of its own: there are more of them than a first-level cache holds.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Place(Packet);

/// All packets, by a number that is used again.
#[derive(Default)]
pub(super) struct Packets {
    all: Vec<Place>,
    free: Vec<u32>,
}

impl Packets {
    #[inline]
    pub fn add(&mut self, packet: Packet) -> u32 {
        match self.free.pop() {
            Some(id) => {
                self.all[id as usize] = Place(packet);
                id
            }
            None => {
                self.all.push(Place(packet));
                self.all.len() as u32 - 1
            }
        }
    }

    #[inline]
    pub fn remove(&mut self, id: u32) -> Packet {
        self.free.push(id);
        self.all[id as usize].0
    }

    #[inline]
    pub fn get(&self, id: u32) -> &Packet {
        &self.all[id as usize].0
    }

    #[inline]
    pub fn get_mut(&mut self, id: u32) -> &mut Packet {
        &mut self.all[id as usize].0
    }

    pub fn len(&self) -> usize {
        self.all.len() - self.free.len()
    }
}
