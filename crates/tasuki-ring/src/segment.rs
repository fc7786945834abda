//! The receiver's end of all rings: the segment.

#[path = "segment/found.rs"]
mod found;

use std::collections::VecDeque;
use std::path::Path;

use crate::create;
use crate::file::{DIRECTORY, SharedFile};
use crate::lane::{Lane, LaneState};
use crate::layout::*;
use crate::map::Map;
use crate::record::{Found, LineRecord, Peek, Record};
use crate::sync::{AtomicU64, Ordering};
use crate::{Departure, RingError, SegmentOptions, SegmentStats, Slot, Token, Verdict};
use tasuki_tuning::segments;

/// An endpoint's inbox: a ring for each of its senders. The file is removed on drop.
pub struct Segment {
    token: Token,
    pub(crate) map: Map,
    pub(crate) file: SharedFile,
    pub(crate) geometry: Geometry,
    pub(crate) lanes: Box<[Lane]>,
    /// Indices of the active lanes.
    pub(crate) active: Vec<u32>,
    /// Place, among the active lanes, of the one that was visited last; the next visit begins behind it.
    turn: usize,
    /// There may be lanes that are about to sleep, to leave, or to be shut.
    pub(crate) untidy: bool,
    /// Senders that have gone and that `reap` has not reported yet.
    pub(crate) departures: VecDeque<(Slot, Token, Departure)>,
    /// Where `receive` copies a record to.
    scratch: Box<[u8]>,
    pub(crate) stats: SegmentStats,
    /// What [`crate::Cma::probe`] reads in this process's memory from outside.
    _secret: Box<[AtomicU64]>,
}

/// What is at a lane's position in its ring.
pub(crate) enum Next {
    Empty,
    /// A record of so many bytes.
    Record(usize),
    Corrupt,
}

impl Segment {
    /// Makes the segment, removes segments of dead processes, and allows other processes to read this one's
    /// memory (for [`crate::Cma`]).
    pub fn create(options: &SegmentOptions) -> Result<Segment, RingError> {
        Segment::create_in(Path::new(DIRECTORY), options)
    }

    /// Like [`Segment::create`], with the file in another directory than `/dev/shm` (on a tmpfs, or it is
    /// slow).
    pub fn create_in(directory: &Path, options: &SegmentOptions) -> Result<Segment, RingError> {
        let made = create::segment(directory, options)?;
        let geometry = made.geometry;
        Ok(Segment {
            token: options.token,
            map: made.map,
            file: made.file,
            geometry,
            lanes: vec![Lane::vacant(); geometry.peers].into_boxed_slice(),
            active: Vec::with_capacity(geometry.peers),
            turn: 0,
            untidy: false,
            departures: VecDeque::new(),
            scratch: vec![0; geometry.max_record()].into_boxed_slice(),
            stats: SegmentStats::default(),
            _secret: made.secret,
        })
    }

    /// The segment's name.
    pub fn token(&self) -> Token {
        self.token
    }

    /// Visits up to `budget` records, in order per sender, each copied into private memory first. Returns how
    /// many were taken.
    pub fn receive(&mut self, budget: usize, mut each: impl FnMut(Slot, &[u8]) -> Verdict) -> usize {
        let mut scratch = std::mem::take(&mut self.scratch);
        let taken = self.receive_raw(budget, |slot, record| {
            let copy = &mut scratch[..record.len()];
            record.copy_to(0, copy);
            each(slot, copy)
        });
        self.scratch = scratch;
        taken
    }

    /// Looks whether a record waits, and where. Senders take turns.
    #[inline(always)]
    pub fn peek(&self) -> Peek {
        let count = self.active.len();
        let plain = count > 0 && !self.untidy && self.map.is_here();
        if !plain || self.map.word(AT_RUNG).load(Ordering::Relaxed) != 0 {
            return Peek::Other;
        }
        let found = self.peek_at(self.turn_after(self.turn));
        if found.word != 0 {
            return Peek::Found(found);
        }
        if count > 1 { self.peek_others(found.at) } else { Peek::Nothing }
    }

    /// Looks at the active lanes that come after the one in place `first`.
    #[inline(never)]
    fn peek_others(&self, first: usize) -> Peek {
        let mut at = first;
        for _ in 1..self.active.len() {
            at = self.turn_after(at);
            let found = self.peek_at(at);
            if found.word != 0 {
                return Peek::Found(found);
            }
        }
        Peek::Nothing
    }

    /// The header word at the position of the active lane in place `at`; 0 if no record waits there.
    #[inline(always)]
    fn peek_at(&self, at: usize) -> Found {
        let index = self.active[at] as usize;
        let position = self.lanes[index].position;
        let place = self.geometry.ring(index) + (position as usize & (self.geometry.ring_bytes - 1));
        Found { at, place, word: self.map.word(place).load(Ordering::Acquire) }
    }

    /// The record that [`Segment::peek`] has found just before, if it takes one cache line, as what most
    /// programs find mostly does. It stays where it is until [`LineRecord::consume`]. `None` if it is
    /// something else, which [`Segment::receive`] takes.
    #[inline(always)]
    pub fn cache_line(&mut self, found: Found) -> Option<LineRecord<'_>> {
        let Found { at, place, word } = found;
        let index = *self.active.get(at)? as usize;
        let len = line_len(word, self.lanes.get(index)?.position)?;
        if at != self.turn_after(self.turn) {
            self.pass_over(at);
        }
        self.turn = at;
        let lane = &mut self.lanes[index];
        let slot = Slot { index: index as u32, generation: lane.generation };
        let tail = self.map.word(self.geometry.slot(index) + SLOT_TAIL);
        let words = self.map.cache_line(place);
        let place = (&self.map, place + 8);
        Some(LineRecord { words, slot, len, lane, tail, stats: &mut self.stats, place })
    }

    /// The place of the active lane whose turn it is after the one in place `at`.
    #[inline(always)]
    fn turn_after(&self, at: usize) -> usize {
        if at + 1 >= self.active.len() { 0 } else { at + 1 }
    }

    /// Counts a visit in vain for the lanes whose turn comes before that of the lane in place `found`: they
    /// were empty.
    #[cold]
    fn pass_over(&mut self, found: usize) {
        let mut at = self.turn_after(self.turn);
        while at != found {
            let lane = &mut self.lanes[self.active[at] as usize];
            lane.idle_visits = lane.idle_visits.saturating_add(1);
            self.untidy |= lane.idle_visits > segments::IDLE_VISITS_MAX;
            at = self.turn_after(at);
        }
    }

    /// Like [`Segment::receive`], without the private copy: for payload that goes straight to its place.
    pub fn receive_raw(
        &mut self,
        budget: usize,
        mut each: impl FnMut(Slot, &Record<'_>) -> Verdict,
    ) -> usize {
        if !self.map.is_here() {
            return 0;
        }
        self.answer_bells();
        let (mut taken, mut at, count) = (0, self.turn, self.active.len());
        for _ in 0..count {
            // No lane leaves `active` within this loop: they do so in `tidy`, below.
            at = if at + 1 >= count { 0 } else { at + 1 };
            let (more, ended) = self.visit(self.active[at] as usize, budget - taken, &mut each);
            taken += more;
            if ended || taken == budget {
                break;
            }
        }
        self.turn = at;
        if self.untidy {
            self.tidy();
        }
        taken
    }

    /// Visits the ring of lane `index`. Returns how many records were taken, and whether the visitor wants to
    /// end.
    fn visit(
        &mut self,
        index: usize,
        budget: usize,
        each: &mut impl FnMut(Slot, &Record<'_>) -> Verdict,
    ) -> (usize, bool) {
        let tail = self.geometry.slot(index) + SLOT_TAIL;
        let mut taken = 0;
        while taken < budget {
            let len = match self.next(index) {
                Next::Record(len) => len,
                Next::Empty => {
                    let lane = &mut self.lanes[index];
                    lane.idle_visits = if taken > 0 { 0 } else { lane.idle_visits.saturating_add(1) };
                    self.untidy |= lane.idle_visits > segments::IDLE_VISITS_MAX;
                    return (taken, false);
                }
                Next::Corrupt => {
                    self.shut(index);
                    return (taken, false);
                }
            };
            let lane = &mut self.lanes[index];
            let slot = Slot { index: index as u32, generation: lane.generation };
            let offset =
                self.geometry.ring(index) + 8 + (lane.position as usize & (self.geometry.ring_bytes - 1));
            let verdict = each(slot, &Record { map: &self.map, offset, len });
            lane.idle_visits = 0;
            if verdict == Verdict::Stop {
                return (taken, true);
            }
            lane.position += footprint(len) as u64;
            // Release: the record has been copied before the sender may write there again.
            self.map.word(tail).store(lane.position, Ordering::Release);
            taken += 1;
            self.stats.records += 1;
            self.stats.bytes += len as u64;
            if verdict == Verdict::Last {
                return (taken, true);
            }
        }
        (taken, false)
    }

    /// Looks at what is at the lane's position. A wrap there moves the position to the ring's beginning.
    #[inline]
    pub(crate) fn next(&mut self, index: usize) -> Next {
        let ring_bytes = self.geometry.ring_bytes;
        let ring = self.geometry.ring(index);
        let lane = &mut self.lanes[index];
        loop {
            let offset = lane.position as usize & (ring_bytes - 1);
            let word = self.map.word(ring + offset).load(Ordering::Acquire);
            match parse(word, lane.position, ring_bytes) {
                Word::Nothing => return Next::Empty,
                Word::Record(len) => return Next::Record(len),
                Word::Corrupt => return Next::Corrupt,
                // This comes at most once: at the ring's beginning `parse` takes no wrap.
                Word::Wrap => lane.position += (ring_bytes - offset) as u64,
            }
        }
    }

    /// The name that the sender in `slot` gave; `None` once it has gone.
    pub fn sender(&self, slot: Slot) -> Option<Token> {
        let lane = self.lanes.get(slot.index())?;
        (lane.generation == slot.generation && lane.state != LaneState::Vacant).then_some(lane.token)
    }

    /// The word at `at` of a slot.
    pub(crate) fn slot_word(&self, slot: Slot, at: usize) -> &AtomicU64 {
        self.map.word(self.geometry.slot(slot.index()) + at)
    }

    /// Counters.
    pub fn stats(&self) -> SegmentStats {
        self.stats
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // A forked child must not remove its parent's file.
        if self.map.is_here() {
            self.map.half(AT_CLOSED).store(1, Ordering::Release);
            self.file.unlink();
            self.file.unlock(LOCK_OWNER);
        }
    }
}
