//! The receiver's end.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use crate::create::{self, PREFIX};
use crate::file::{DIRECTORY, Holder, SharedFile};
use crate::layout::*;
use crate::map::Map;
use crate::{RingError, Token};

/// Visits in vain after which a ring is no longer looked at until its sender rings the doorbell. Looking costs about a nanosecond, an
/// armed doorbell costs its sender a contended cache line per message.
const IDLE_VISITS_MAX: u32 = 4096;
/// Departures kept until `reap` reports them.
const DEPARTURES_MAX: usize = 8192;

/// How to make a segment.
#[derive(Clone, Copy, Debug)]
pub struct SegmentOptions {
    /// Its name.
    pub token: Token,
    /// Size of each sender's ring in bytes (default 64 KiB); rounded up to a power of two. The largest record is a little under half of it.
    /// Memory is used by senders that really open one.
    pub ring_bytes: usize,
    /// How many senders can have a ring at once (default 512).
    pub max_peers: usize,
}

impl SegmentOptions {
    /// Defaults for `token`.
    pub fn new(token: Token) -> SegmentOptions {
        SegmentOptions { token, ring_bytes: 64 << 10, max_peers: 512 }
    }
}

/// One sender as its receiver sees it. A slot that is given to a new sender is a new `Slot` with the same index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl Slot {
    /// Dense, below `max_peers`.
    pub fn index(self) -> usize {
        self.index as usize
    }
}

/// What the visitor of a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The record is done with; go on.
    Consumed,
    /// The record is done with; end this visit.
    Last,
    /// The record is NOT taken, it comes again at the next visit; end this visit.
    Stop,
}

/// Why a slot was given up by [`Segment::reap`] or during receiving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// The sender closed its outbox, and all that it sent has been received.
    Closed,
    /// The sender's process is gone, and all that it sent has been received.
    Died,
    /// The ring's contents are corrupt: nothing more is read from it.
    Corrupt,
}

/// Counters of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentStats {
    /// Records received.
    pub records: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Senders that have come.
    pub arrived: u64,
    /// Senders that have gone.
    pub departed: u64,
    /// Slots shut because of corrupt contents.
    pub corrupt: u64,
}

/// What the receiver knows about a slot. Nothing here is read back from shared memory.
#[derive(Clone, Copy, Debug)]
struct Lane {
    /// Bytes consumed.
    position: u64,
    generation: u32,
    idle_visits: u32,
    token: Token,
    state: State,
    /// The sender is gone: the slot is free once the ring is empty.
    leaving: Option<Departure>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
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
    map: Map,
    file: SharedFile,
    geometry: Geometry,
    lanes: Box<[Lane]>,
    /// Indices of the active lanes.
    active: Vec<u32>,
    /// Which of them is visited first next time.
    turn: usize,
    departures: VecDeque<(Slot, Token, Departure)>,
    scratch: Box<[u8]>,
    stats: SegmentStats,
    /// What `Cma::probe` reads here from outside.
    _secret: Box<[AtomicU64]>,
}

/// A record still in shared memory.
pub struct Record<'a> {
    map: &'a Map,
    offset: usize,
    len: usize,
}

impl Record<'_> {
    /// Length in bytes.
    #[expect(clippy::len_without_is_empty, reason = "a length, not a container")]
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Copies `into.len()` bytes from `offset` on; false (and nothing copied) if the record is shorter. A faulty sender may change the
    /// bytes meanwhile: copy once, then check.
    #[inline]
    pub fn copy_to(&self, offset: usize, into: &mut [u8]) -> bool {
        let fits = offset <= self.len && into.len() <= self.len - offset;
        if fits {
            self.map.copy_out(self.offset + offset, into);
        }
        fits
    }
}

/// How a look at a ring ended.
enum Look {
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
        self.tidy();
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
    fn look(&mut self, index: usize) -> Look {
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

    /// Takes up the lanes whose senders have rung.
    fn answer_bells(&mut self) {
        for word in 0..self.geometry.bells() {
            let bell = self.map.word(self.geometry.bell(word));
            if bell.load(Ordering::Relaxed) == 0 {
                continue;
            }
            let mut rung = bell.swap(0, Ordering::AcqRel);
            // Pairs with the fence in `Outbox::push`: whoever saw the bell still rung has published what we look at after this.
            fence(Ordering::SeqCst);
            while rung != 0 {
                let index = word * 64 + rung.trailing_zeros() as usize;
                rung &= rung - 1;
                if index < self.lanes.len() {
                    self.wake(index);
                }
            }
        }
    }

    fn wake(&mut self, index: usize) {
        let slot = self.geometry.slot(index);
        let state = self.map.half(slot + SLOT_STATE).load(Ordering::Acquire);
        let lane = &mut self.lanes[index];
        match lane.state {
            State::Vacant if state == OPEN || state == CLOSED => {
                let mut bytes = [0; 16];
                self.map.copy_out(slot + SLOT_TOKEN, &mut bytes);
                lane.token = Token::from_bytes(bytes);
                self.stats.arrived += 1;
            }
            State::Asleep | State::Active => {}
            State::Shut if state == CLOSED => return self.free(index),
            State::Vacant | State::Shut => return,
        }
        if state == CLOSED {
            lane.leaving = lane.leaving.or(Some(Departure::Closed));
        }
        if lane.state != State::Active {
            lane.state = State::Active;
            lane.idle_visits = 0;
            self.active.push(index as u32);
            self.map.half(slot + SLOT_ARMED).store(0, Ordering::Relaxed);
        }
    }

    /// Lets idle lanes sleep and empty ones of departed senders go.
    fn tidy(&mut self) {
        let mut at = 0;
        while at < self.active.len() {
            let index = self.active[at] as usize;
            let lane = self.lanes[index];
            if lane.state != State::Active {
                self.active.swap_remove(at);
            } else if lane.leaving.is_some() && matches!(self.look(index), Look::Empty) {
                self.active.swap_remove(at);
                self.depart(index);
            } else if lane.idle_visits > IDLE_VISITS_MAX && self.sleep(index) {
                self.active.swap_remove(at);
            } else {
                at += 1;
            }
        }
    }

    /// Arms the doorbell; false if something has come meanwhile.
    fn sleep(&mut self, index: usize) -> bool {
        let armed = self.geometry.slot(index) + SLOT_ARMED;
        self.map.half(armed).store(1, Ordering::Relaxed);
        // Pairs with the fence in `Outbox::push`: either the sender sees the bell armed, or we see its record.
        fence(Ordering::SeqCst);
        if matches!(self.look(index), Look::Empty) {
            self.lanes[index].state = State::Asleep;
            return true;
        }
        self.map.half(armed).store(0, Ordering::Relaxed);
        self.lanes[index].idle_visits = 0;
        false
    }

    fn slot_of(&self, index: usize) -> Slot {
        Slot { index: index as u32, generation: self.lanes[index].generation }
    }

    fn note(&mut self, index: usize, departure: Departure) {
        if self.departures.len() == DEPARTURES_MAX {
            self.departures.pop_front();
        }
        self.departures.push_back((self.slot_of(index), self.lanes[index].token, departure));
        self.stats.departed += 1;
    }

    /// Nothing more is read from this slot; it is free once its sender has gone.
    fn shut(&mut self, index: usize) {
        self.lanes[index].state = State::Shut;
        self.stats.corrupt += 1;
        self.note(index, Departure::Corrupt);
        let slot = self.geometry.slot(index);
        // Armed, so that the sender's closing rings.
        self.map.half(slot + SLOT_ARMED).store(1, Ordering::Relaxed);
        self.map.half(slot + SLOT_SHUT).store(1, Ordering::Release);
    }

    /// The sender has gone and its ring is empty.
    fn depart(&mut self, index: usize) {
        if let Some(departure) = self.lanes[index].leaving {
            self.note(index, departure);
        }
        self.free(index);
    }

    /// Makes the slot as it was at the beginning. The ring keeps its memory for the next sender.
    fn free(&mut self, index: usize) {
        let lane = &mut self.lanes[index];
        lane.generation = lane.generation.wrapping_add(1);
        lane.state = State::Vacant;
        lane.leaving = None;
        lane.position = 0;
        let slot = self.geometry.slot(index);
        self.map.word(slot + SLOT_TAIL).store(0, Ordering::Relaxed);
        self.map.half(slot + SLOT_SHUT).store(0, Ordering::Relaxed);
        self.map.half(slot + SLOT_ARMED).store(1, Ordering::Relaxed);
        self.map.half(slot + SLOT_STATE).store(FREE, Ordering::Release);
    }

    /// Who the sender in `slot` said it is; None once it has gone.
    pub fn sender(&self, slot: Slot) -> Option<Token> {
        let lane = self.lanes.get(slot.index())?;
        (lane.generation == slot.generation && lane.state != State::Vacant).then_some(lane.token)
    }

    /// Whether nothing waits.
    pub fn idle(&self) -> bool {
        let bells = (0..self.geometry.bells()).map(|word| self.geometry.bell(word));
        let rings = self.active.iter().map(|&index| {
            let offset = self.lanes[index as usize].position as usize & (self.geometry.ring_bytes - 1);
            self.geometry.ring(index as usize) + offset
        });
        !self.map.is_here() || bells.chain(rings).all(|at| self.map.word(at).load(Ordering::Acquire) == 0)
    }

    /// Looks after senders that have closed or died (one system call per sender: call it about once per second) and reports each once,
    /// after all that it sent has been received.
    pub fn reap(&mut self, mut each: impl FnMut(Slot, Token, Departure)) {
        if self.map.is_here() {
            for index in 0..self.lanes.len() {
                self.look_after(index);
            }
            self.tidy();
        }
        while let Some((slot, token, departure)) = self.departures.pop_front() {
            each(slot, token, departure);
        }
    }

    fn look_after(&mut self, index: usize) {
        let at = self.geometry.slot(index) + SLOT_STATE;
        let state = self.map.half(at).load(Ordering::Acquire);
        let lane = &self.lanes[index];
        let known = matches!(lane.state, State::Active | State::Asleep);
        match state {
            FREE if lane.state == State::Vacant => return,
            CLOSED => return self.wake(index),
            // No sender ever goes back from being open.
            state if known && state != OPEN => {
                self.shut(index);
            }
            _ => {}
        }
        // If the kernel cannot say it, the sender is not held to be dead.
        if self.file.holder(LOCK_SLOTS + index as i64).unwrap_or(Holder::This) != Holder::Nobody {
            return;
        }
        // Its lock is gone; but it may have closed properly between the two looks.
        let state = self.map.half(at).load(Ordering::Acquire);
        match self.lanes[index].state {
            // It died while setting up, or before it could ring.
            State::Vacant if state == OPEN || state == CLOSED => self.wake(index),
            State::Vacant | State::Shut => return self.free(index),
            State::Active | State::Asleep => self.wake(index),
        }
        let lane = &mut self.lanes[index];
        lane.leaving = lane.leaving.or(Some(Departure::Died));
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
