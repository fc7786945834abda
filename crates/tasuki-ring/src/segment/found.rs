//! Whether records wait, and those that stay in the ring until they are consumed.

use super::{Next, SLOT_TAIL, Segment};
use crate::layout::AT_RUNG;
use crate::record::{Found, FoundRecord, Record};
use crate::segment::Slot;
use crate::sync::Ordering;

impl Segment {
    /// The record that [`Segment::peek`] has found just before, whatever its length. It stays where it is,
    /// and comes again, unless it is consumed ([`FoundRecord::consume`]). `None` if there is none: the ring's
    /// contents are corrupt, for instance, which [`Segment::receive`] deals with.
    #[inline]
    pub fn found_record(&mut self, found: Found) -> Option<FoundRecord<'_>> {
        let at = found.at;
        let index = *self.active.get(at)? as usize;
        let Next::Record(len) = self.next(index) else { return None };
        if at != self.turn_after(self.turn) {
            self.pass_over(at);
        }
        let lane = &mut self.lanes[index];
        let slot = Slot { index: index as u32, generation: lane.generation };
        let start = lane.position as usize & (self.geometry.ring_bytes - 1);
        let record = Record { map: &self.map, offset: self.geometry.ring(index) + start + 8, len };
        let tail = self.map.word(self.geometry.slot(index) + SLOT_TAIL);
        Some(FoundRecord { record, slot, lane, tail, turn: (&mut self.turn, at), stats: &mut self.stats })
    }

    /// Whether no record waits and no sender has rung.
    pub fn idle(&self) -> bool {
        let nothing = |at: usize| self.map.word(at).load(Ordering::Acquire) == 0;
        let ring_is_empty = |&index: &u32| {
            let offset = self.lanes[index as usize].position as usize & (self.geometry.ring_bytes - 1);
            nothing(self.geometry.ring(index as usize) + offset)
        };
        !self.map.is_here() || (nothing(AT_RUNG) && self.active.iter().all(ring_is_empty))
    }
}
