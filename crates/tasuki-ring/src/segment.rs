//! The receiver's end.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::create::{self, PREFIX};
use crate::file::{DIRECTORY, SharedFile};
use crate::layout::*;
use crate::map::Map;
use crate::senders::IDLE_VISITS_MAX;
use crate::{
    Departure, Found, LineRecord, Peek, Record, RingError, SegmentOptions, SegmentStats, Slot, Token, Verdict,
};

/// What the receiver knows about a slot. Nothing here is read back from shared memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lane {
    /// Bytes consumed.
    pub(crate) position: u64,
    pub(crate) generation: u32,
    pub(crate) idle_visits: u32,
    pub(crate) token: Token,
    pub(crate) state: State,
    /// The sender is gone: the slot is free once the ring is empty.
    pub(crate) leaving: Option<Departure>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nobody's.
    Vacant,
    /// Looked at on every visit.
    Active,
    /// Its sender rings the doorbell.
    Asleep,
    /// Corrupt: never looked at again, until the sender has gone.
    Shut,
}

/// This endpoint's inbox. The file is removed on drop.
pub struct Segment {
    token: Token,
    pub(crate) map: Map,
    pub(crate) file: SharedFile,
    pub(crate) geometry: Geometry,
    pub(crate) lanes: Box<[Lane]>,
    /// Indices of the active lanes.
    pub(crate) active: Vec<u32>,
    /// Which of them is visited first next time.
    turn: usize,
    /// There may be lanes that sleep, leave, or are shut.
    pub(crate) untidy: bool,
    pub(crate) departures: VecDeque<(Slot, Token, Departure)>,
    scratch: Box<[u8]>,
    pub(crate) stats: SegmentStats,
    /// What `Cma::probe` reads here from outside.
    _secret: Box<[AtomicU64]>,
}

/// How a look at a ring ended.
pub(crate) enum Look {
    Empty,
    Record(usize),
    Corrupt,
}

impl Segment {
    /// Makes the segment, removes those of dead processes, and allows other processes to read this one's memory (for `Cma`).
    pub fn create(options: &SegmentOptions) -> Result<Segment, RingError> {
        Segment::create_in(Path::new(DIRECTORY), options)
    }

    /// As [`Segment::create`], in another directory (on a tmpfs, or it is slow).
    pub fn create_in(directory: &Path, options: &SegmentOptions) -> Result<Segment, RingError> {
        let made = create::segment(directory, options)?;
        let geometry = made.geometry;
        let vacant = Lane {
            position: 0,
            generation: 0,
            idle_visits: 0,
            token: Token::from_bytes([0; 16]),
            state: State::Vacant,
            leaving: None,
        };
        Ok(Segment {
            token: options.token,
            map: made.map,
            file: made.file,
            geometry,
            lanes: vec![vacant; geometry.peers].into_boxed_slice(),
            active: Vec::with_capacity(geometry.peers),
            turn: 0,
            untidy: false,
            departures: VecDeque::new(),
            scratch: vec![0; geometry.max_record()].into_boxed_slice(),
            stats: SegmentStats::default(),
            _secret: made.secret,
        })
    }

    /// Its name.
    pub fn token(&self) -> Token {
        self.token
    }

    /// Visits up to `budget` records, in order per sender, each copied into private memory first. Returns how many were taken.
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

    /// Whether a record waits, and where. Senders take turns.
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

    /// The same of those that come after this one.
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

    /// The word that waits at an active lane, 0 if there is none.
    #[inline(always)]
    fn peek_at(&self, at: usize) -> Found {
        let index = self.active[at] as usize;
        let position = self.lanes[index].position;
        let place = self.geometry.ring(index) + (position as usize & (self.geometry.ring_bytes - 1));
        Found { at, place, word: self.map.word(place).load(Ordering::Acquire) }
    }

    /// The record that [`Segment::peek`] has found just before, if it takes one line of the cache: what most looks of most programs find. It stays where it is until
    /// [`LineRecord::consume`]. None: it is something else, which [`Segment::receive`] takes.
    #[inline(always)]
    pub fn line(&mut self, found: Found) -> Option<LineRecord<'_>> {
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
        let words = self.map.line(place);
        Some(LineRecord { words, slot, len, lane, tail, stats: &mut self.stats })
    }

    #[inline(always)]
    fn turn_after(&self, at: usize) -> usize {
        if at + 1 >= self.active.len() { 0 } else { at + 1 }
    }

    /// The next lanes in turn, up to this one, have been found empty while this one was not.
    #[cold]
    fn pass_over(&mut self, found: usize) {
        let mut at = self.turn_after(self.turn);
        while at != found {
            let lane = &mut self.lanes[self.active[at] as usize];
            lane.idle_visits = lane.idle_visits.saturating_add(1);
            self.untidy |= lane.idle_visits > IDLE_VISITS_MAX;
            at = self.turn_after(at);
        }
    }

    /// As [`Segment::receive`], without the private copy: for payload that goes straight to its place.
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
            // Lanes leave `active` only in `tidy`, below.
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

    /// Visits one ring. Returns how many records were taken, and whether the visitor wants to end.
    fn visit(
        &mut self,
        index: usize,
        budget: usize,
        each: &mut impl FnMut(Slot, &Record<'_>) -> Verdict,
    ) -> (usize, bool) {
        let tail = self.geometry.slot(index) + SLOT_TAIL;
        let mut taken = 0;
        while taken < budget {
            let len = match self.look(index) {
                Look::Record(len) => len,
                Look::Empty => {
                    let lane = &mut self.lanes[index];
                    lane.idle_visits = if taken > 0 { 0 } else { lane.idle_visits.saturating_add(1) };
                    self.untidy |= lane.idle_visits > IDLE_VISITS_MAX;
                    return (taken, false);
                }
                Look::Corrupt => {
                    self.shut(index);
                    return (taken, false);
                }
            };
            let lane = &mut self.lanes[index];
            let slot = Slot { index: index as u32, generation: lane.generation };
            let start = lane.position as usize & (self.geometry.ring_bytes - 1);
            let offset = self.geometry.ring(index) + start + 8;
            let verdict = each(slot, &Record { map: &self.map, offset, len });
            lane.idle_visits = 0;
            if verdict == Verdict::Stop {
                return (taken, true);
            }
            lane.position += footprint(len) as u64;
            // The copy has been made before the sender may write there again.
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

    /// What is at the lane's position; goes over a wrap.
    #[inline]
    pub(crate) fn look(&mut self, index: usize) -> Look {
        let ring_bytes = self.geometry.ring_bytes;
        let ring = self.geometry.ring(index);
        let lane = &mut self.lanes[index];
        loop {
            let offset = lane.position as usize & (ring_bytes - 1);
            let word = self.map.word(ring + offset).load(Ordering::Acquire);
            match parse(word, lane.position, ring_bytes) {
                Word::Nothing => return Look::Empty,
                Word::Record(len) => return Look::Record(len),
                Word::Corrupt => return Look::Corrupt,
                // At most once: at the beginning `parse` takes no wrap.
                Word::Wrap => lane.position += (ring_bytes - offset) as u64,
            }
        }
    }

    /// Who the sender in `slot` said it is; None once it has gone.
    pub fn sender(&self, slot: Slot) -> Option<Token> {
        let lane = self.lanes.get(slot.index())?;
        (lane.generation == slot.generation && lane.state != State::Vacant).then_some(lane.token)
    }

    /// A word of a slot.
    pub(crate) fn slot_word(&self, slot: Slot, at: usize) -> &AtomicU64 {
        self.map.word(self.geometry.slot(slot.index()) + at)
    }

    /// Whether nothing waits.
    pub fn idle(&self) -> bool {
        let nothing = |at: usize| self.map.word(at).load(Ordering::Acquire) == 0;
        let ring_is_empty = |&index: &u32| {
            let offset = self.lanes[index as usize].position as usize & (self.geometry.ring_bytes - 1);
            nothing(self.geometry.ring(index as usize) + offset)
        };
        !self.map.is_here() || (nothing(AT_RUNG) && self.active.iter().all(ring_is_empty))
    }

    /// Counters.
    pub fn stats(&self) -> SegmentStats {
        self.stats
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // The file of a forked child's parent is not the child's to remove.
        if self.map.is_here() {
            self.map.half(AT_CLOSED).store(1, Ordering::Release);
            self.file.unlink();
            self.file.unlock(LOCK_OWNER);
        }
    }
}

/// Path of the segment named `token`.
pub(crate) fn path(directory: &Path, token: &Token) -> std::path::PathBuf {
    directory.join(format!("{PREFIX}{token}"))
}
