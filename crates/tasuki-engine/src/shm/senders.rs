//! Which peer writes to which ring of the own segment.

use tasuki_ring::Slot;

use crate::api::Peer;

/// The peer that writes to each slot of the own segment, as far as the peers have introduced themselves.
#[derive(Default)]
pub(super) struct Senders(Vec<Option<(Slot, Peer)>>);

impl Senders {
    /// The peer that writes by this slot, if it has introduced itself.
    #[inline(always)]
    pub fn find(&self, slot: Slot) -> Option<Peer> {
        let known = self.0.get(slot.index()).copied().flatten();
        known.filter(|(of, _)| *of == slot).map(|(_, peer)| peer)
    }

    /// A peer has introduced itself by a record in this slot.
    pub fn insert(&mut self, slot: Slot, peer: Peer) {
        if self.0.len() <= slot.index() {
            self.0.resize(slot.index() + 1, None);
        }
        self.0[slot.index()] = Some((slot, peer));
    }

    /// Forgets the peer that wrote by this slot, and gives it.
    pub fn remove(&mut self, slot: Slot) -> Option<Peer> {
        let place = self.0.get_mut(slot.index())?;
        place.take_if(|(of, _)| *of == slot).map(|(_, peer)| peer)
    }
}
