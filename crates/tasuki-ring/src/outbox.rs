//! The sender's end.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering, fence};

use crate::file::{DIRECTORY, Holder, SharedFile};
use crate::layout::*;
use crate::map::Map;
use crate::types::SHORT;
use crate::{OpenError, Token, segment};

/// Sender's end of one ring in a peer's segment. Dropping it tells the receiver, who still gets all that was pushed.
pub struct Outbox {
    token: Token,
    map: Map,
    file: SharedFile,
    geometry: Geometry,
    index: usize,
    /// Bytes pushed.
    head: u64,
    /// Bytes consumed, as last read: the receiver's line is only looked at when room seems to be short.
    tail: u64,
    /// The word at this position is zero already, so that a record that ends there can be published without another line of the cache.
    zeroed: u64,
    /// Copies that both ends make, begun here.
    dual_copies: u16,
    /// The receiver's index was impossible.
    broken: bool,
}

/// Room that was found for a record. Nothing else can be pushed while it is held, so it cannot be out of date.
pub struct Room<'a> {
    outbox: &'a mut Outbox,
    space: Space,
}

impl Room<'_> {
    /// Pushes a record of `len` bytes, at most what was asked for, that `write` fills in place (it finds arbitrary bytes there).
    #[inline]
    pub fn fill(self, len: usize, write: impl FnOnce(&mut [u8])) {
        self.outbox.fill(self.space, len, write);
    }
}

/// Room that was found for a record in one line of the cache. As [`Room`] in all but its cost.
pub struct Line<'a> {
    outbox: &'a mut Outbox,
}

impl<'a> Line<'a> {
    /// Gives the room back, for a record of up to two lines: it has room.
    pub fn give_back(self) -> &'a mut Outbox {
        self.outbox
    }

    /// Where the record is to be written, before [`Line::push`]. Arbitrary bytes are there.
    #[inline(always)]
    pub fn bytes(&mut self) -> &mut [u8; SHORT] {
        // SAFETY: `has_room` said that the receiver has consumed what was here, and nothing was pushed since; it reads it again only after the store of the
        // record's word in `push`, which ends the reference. A line never runs over the ring's end.
        unsafe { self.outbox.map.writable_line(self.at() + 8) }
    }

    /// Pushes the first `len` bytes of it, at most [`SHORT`], as a record.
    #[inline(never)]
    pub fn push(self, len: usize) {
        assert!(len <= SHORT);
        let (at, position) = (self.at(), self.outbox.head);
        self.outbox.announce(position + LINE as u64);
        self.outbox.map.word(at).swap(record_word(position, len), Ordering::SeqCst);
        self.outbox.published(position + LINE as u64);
    }

    #[inline(always)]
    fn at(&self) -> usize {
        let geometry = &self.outbox.geometry;
        geometry.ring(self.outbox.index) + (self.outbox.head as usize & (geometry.ring_bytes - 1))
    }
}

/// Where the next record may go. It holds until the next is pushed.
struct Space {
    /// Bytes at the ring's end that are left out.
    skipped: usize,
    /// Bytes that the record may take.
    size: usize,
}

impl Outbox {
    /// Opens the segment named `token` and takes a slot in it, leaving `me` there as the name of the sender.
    pub fn open(token: &Token, me: &Token) -> Result<Outbox, OpenError> {
        Outbox::open_in(Path::new(DIRECTORY), token, me)
    }

    /// As [`Outbox::open`], in another directory.
    pub fn open_in(directory: &Path, token: &Token, me: &Token) -> Result<Outbox, OpenError> {
        let path = segment::path(directory, token);
        let system = |call| {
            let path = path.clone();
            move |source| OpenError::System { path, call, source }
        };
        let file = SharedFile::open(&path, true).map_err(|source| open_error(&path, source))?;
        let geometry = check(&file, &path)?;
        if file.holder(LOCK_OWNER).map_err(system("fcntl(F_GETLK)"))? == Holder::Nobody {
            return Err(OpenError::Dead { path });
        }
        let map = Map::new(file.fd(), geometry.total(), true).map_err(system("mmap"))?;
        let mut outbox = Outbox {
            token: *token,
            map,
            file,
            geometry,
            index: usize::MAX,
            head: 0,
            tail: 0,
            zeroed: 0,
            dual_copies: 0,
            broken: false,
        };
        outbox.index = outbox.claim(&path)?;
        outbox.set_up(me, &path)?;
        Ok(outbox)
    }

    /// Takes a free slot: its lock first, which says that its holder lives, then its state.
    fn claim(&self, path: &Path) -> Result<usize, OpenError> {
        for index in 0..self.geometry.peers {
            let state = self.map.half(self.geometry.slot(index) + SLOT_STATE);
            if state.load(Ordering::Relaxed) != FREE {
                continue;
            }
            let lock = LOCK_SLOTS + index as i64;
            let locked = self.file.try_lock(lock).map_err(|source| OpenError::System {
                path: path.to_path_buf(),
                call: "fcntl(F_SETLK)",
                source,
            })?;
            if !locked {
                continue;
            }
            // Acquire: what the receiver has reset is seen.
            if state.compare_exchange(FREE, CLAIMED, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return Ok(index);
            }
            self.file.unlock(lock);
        }
        Err(OpenError::Full { path: path.to_path_buf(), slots: self.geometry.peers })
    }

    /// Takes memory for the ring, empties it, signs it and tells the receiver.
    fn set_up(&mut self, me: &Token, path: &Path) -> Result<(), OpenError> {
        let (ring, bytes) = (self.geometry.ring(self.index), self.geometry.ring_bytes);
        if let Err(source) = self.file.reserve(ring, bytes) {
            self.map.half(self.slot() + SLOT_STATE).store(FREE, Ordering::Release);
            self.file.unlock(LOCK_SLOTS + self.index as i64);
            self.index = usize::MAX;
            let path = path.to_path_buf();
            return Err(match source.raw_os_error() {
                Some(libc::ENOSPC) => OpenError::NoSpace { path, bytes: bytes as u64 },
                _ => OpenError::System { path, call: "fallocate", source },
            });
        }
        self.map.word(ring).store(0, Ordering::Relaxed);
        let slot = self.slot();
        // Of who had the slot before.
        [SLOT_CLAIMS, SLOT_WRITTEN]
            .iter()
            .for_each(|at| self.map.word(slot + at).store(0, Ordering::Relaxed));
        self.map.half(slot + SLOT_PID).store(std::process::id(), Ordering::Relaxed);
        self.map.copy_in(slot + SLOT_TOKEN, &me.to_bytes());
        self.map.half(slot + SLOT_STATE).store(OPEN, Ordering::Release);
        self.ring_bell();
        Ok(())
    }

    #[inline]
    fn slot(&self) -> usize {
        self.geometry.slot(self.index)
    }

    #[cold]
    fn ring_bell(&self) {
        let bell = self.map.word(self.geometry.bell(self.index / 64));
        let bit = 1 << (self.index % 64);
        // A bell that is still rung need not be rung again: its answer comes after what was published before this.
        if bell.load(Ordering::SeqCst) & bit == 0 {
            bell.fetch_or(bit, Ordering::AcqRel);
            self.map.word(AT_RUNG).fetch_or(1 << (self.index / 64), Ordering::AcqRel);
        }
    }

    /// The segment's name.
    pub fn token(&self) -> Token {
        self.token
    }

    /// Pushes a record of `len` bytes that `write` fills in place (it finds arbitrary bytes there). False, without calling `write`, if
    /// the ring has no room now, if `len` exceeds [`Outbox::max_record`], or if the ring is shut ([`Outbox::is_shut`]).
    ///
    /// Cut a long stream into records of at most an eighth of the ring: then both sides copy at the same time.
    #[inline]
    pub fn push(&mut self, len: usize, write: impl FnOnce(&mut [u8])) -> bool {
        let Some(space) = self.find_space(len) else { return false };
        self.fill(space, len, write);
        true
    }

    /// Room for a record of up to [`SHORT`] bytes, which takes one line of the cache, in a segment that its owner has not closed; or for one that takes two.
    #[inline(always)]
    pub fn line(&mut self) -> Option<Line<'_>> {
        // The zero word behind it has a line of its own; and there may be one at the ring's end into which two do not fit.
        let free = self.is_open() && self.has_room(4 * LINE);
        free.then_some(Line { outbox: self })
    }

    /// Whether its owner has it open. That is in a line that hardly ever changes, unlike that of `is_shut`, which the receiver writes for every record.
    #[inline(always)]
    fn is_open(&self) -> bool {
        self.map.is_here() && self.map.half(AT_CLOSED).load(Ordering::Acquire) == 0
    }

    /// Room for a record of up to `len` bytes, in a segment that its owner has not closed.
    #[inline]
    pub fn room(&mut self, len: usize) -> Option<Room<'_>> {
        let space = if self.is_open() { self.find_space(len) } else { None };
        space.map(|space| Room { outbox: self, space })
    }

    #[inline]
    fn find_space(&mut self, len: usize) -> Option<Space> {
        if len > self.geometry.max_record() || !self.map.is_here() {
            return None;
        }
        let (offset, size) = (self.head as usize & (self.geometry.ring_bytes - 1), footprint(len));
        let left = self.geometry.ring_bytes - offset;
        // At the ring's end, if it does not fit there.
        let skipped = if size > left { left } else { 0 };
        // A line more, for the zero word behind it.
        self.has_room(skipped + size + LINE).then_some(Space { skipped, size })
    }

    /// Pushes a record of `len` bytes into the space that was found for it. Private: nothing may have been pushed in between.
    #[inline]
    fn fill(&mut self, space: Space, len: usize, write: impl FnOnce(&mut [u8])) {
        let (ring, mask) = (self.geometry.ring(self.index), self.geometry.ring_bytes - 1);
        let (offset, size) = (self.head as usize & mask, footprint(len));
        assert!(size <= space.size, "a record of {len} bytes is larger than its room");
        let skipped = space.skipped;
        let position = self.head + skipped as u64;
        let start = position as usize & mask;
        // SAFETY: `has_room` said that the receiver has consumed what was here, and nothing was pushed since; it reads it again only after the store of the record's
        // word, below. The reference ends with `write`.
        write(unsafe { self.map.writable(ring + start + 8, len) });
        let next = position + size as u64;
        self.announce(next);
        // An exchange and not a store and a fence, which takes three times as long. Pairs with the fences of the receiver: it sees the record, or
        // we see the bell armed.
        let record = record_word(position, len);
        if skipped == 0 {
            self.map.word(ring + start).swap(record, Ordering::SeqCst);
        } else {
            self.map.word(ring + start).store(record, Ordering::Relaxed);
            // Only this shows the receiver the record at the beginning.
            self.map.word(ring + offset).swap(wrap_word(self.head), Ordering::SeqCst);
        }
        self.published(next);
    }

    /// Before a record that ends at `next` is published: the word behind it is zero.
    #[inline(always)]
    fn announce(&mut self, next: u64) {
        let (ring, mask) = (self.geometry.ring(self.index), self.geometry.ring_bytes - 1);
        if self.zeroed != next {
            self.map.word(ring + (next as usize & mask)).store(0, Ordering::Relaxed);
        }
        self.map.prefetch_for_writing(ring + ((next as usize + LINE) & mask));
    }

    /// A record that ends at `next` has been published, by an exchange.
    #[inline(always)]
    fn published(&mut self, next: u64) {
        self.head = next;
        if self.map.half(self.slot() + SLOT_ARMED).load(Ordering::SeqCst) != 0 {
            self.ring_bell();
        }
        self.prepare(next + LINE as u64);
    }

    /// Does for the next record, if that is a short one, what would keep its receiver waiting then.
    #[inline(always)]
    fn prepare(&mut self, next: u64) {
        let (ring, mask) = (self.geometry.ring(self.index), self.geometry.ring_bytes - 1);
        // The line must be the sender's, as `has_room` would find.
        if next + LINE as u64 - self.tail <= self.geometry.ring_bytes as u64 {
            self.map.word(ring + (next as usize & mask)).store(0, Ordering::Relaxed);
            self.zeroed = next;
        }
    }

    #[inline(always)]
    fn has_room(&mut self, need: usize) -> bool {
        let free = self.geometry.ring_bytes - (self.head - self.tail) as usize;
        if free >= need { !self.broken } else { self.find_room(need) }
    }

    /// The same after a look at how far the receiver has come.
    #[cold]
    fn find_room(&mut self, need: usize) -> bool {
        let free = |head: u64, tail: u64| self.geometry.ring_bytes - (head - tail) as usize;
        let tail = self.map.word(self.slot() + SLOT_TAIL).load(Ordering::Acquire);
        if tail < self.tail || tail > self.head || !tail.is_multiple_of(LINE as u64) {
            self.broken = true;
        }
        if self.is_shut() {
            return false;
        }
        self.tail = tail;
        free(self.head, tail) >= need
    }

    /// The largest record, in bytes.
    pub fn max_record(&self) -> usize {
        self.geometry.max_record()
    }

    /// Whether nothing will ever go through any more: the receiver has shut the slot or closed its segment, or its indices are corrupt.
    pub fn is_shut(&self) -> bool {
        self.broken
            || !self.map.is_here()
            || self.map.half(self.slot() + SLOT_SHUT).load(Ordering::Acquire) != 0
            || self.map.half(AT_CLOSED).load(Ordering::Acquire) != 0
    }

    /// Whether everything pushed has been received.
    pub fn is_drained(&self) -> bool {
        self.map.is_here() && self.map.word(self.slot() + SLOT_TAIL).load(Ordering::Acquire) == self.head
    }

    /// Whether the owner's process still lives and has its segment open (one system call).
    pub fn alive(&self) -> bool {
        // If the kernel cannot say it, the owner is not held to be dead.
        self.map.is_here()
            && self.map.half(AT_CLOSED).load(Ordering::Acquire) == 0
            && self.file.holder(LOCK_OWNER).unwrap_or(Holder::This) != Holder::Nobody
    }

    pub(crate) fn map(&self) -> &Map {
        &self.map
    }

    /// A word of its slot.
    pub(crate) fn word(&self, at: usize) -> &AtomicU64 {
        self.map.word(self.slot() + at)
    }

    /// A number for a copy that both ends make. That of one long ago is forgotten: the ring has no room for so many offers.
    pub(crate) fn next_dual_copy(&mut self) -> u16 {
        self.dual_copies = self.dual_copies.wrapping_add(1);
        self.dual_copies
    }

    /// The process id of the segment's owner, in the PID namespace of this process (one system call).
    pub fn owner_pid(&self) -> Option<libc::pid_t> {
        match self.file.holder(LOCK_OWNER).ok()? {
            Holder::Nobody => None,
            Holder::This => libc::pid_t::try_from(std::process::id()).ok(),
            // The kernel translates it into this PID namespace, which what the owner wrote is not.
            Holder::Other(pid) if pid > 0 => Some(pid),
            Holder::Other(_) => libc::pid_t::try_from(self.map.half(AT_PID).load(Ordering::Relaxed)).ok(),
        }
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        if self.map.is_here() && self.index != usize::MAX {
            self.map.half(self.slot() + SLOT_STATE).store(CLOSED, Ordering::Release);
            fence(Ordering::SeqCst);
            self.ring_bell();
            self.file.unlock(LOCK_SLOTS + self.index as i64);
        }
    }
}

fn open_error(path: &Path, source: io::Error) -> OpenError {
    let path: PathBuf = path.to_path_buf();
    match source.raw_os_error() {
        Some(libc::ENOENT | libc::EACCES | libc::EPERM | libc::ENOTDIR | libc::ELOOP) => {
            OpenError::NotHere { path }
        }
        _ => OpenError::System { path, call: "open", source },
    }
}

/// Checks that the file is one of this user's segments, and complete. Read, not mapped: its size is not known yet.
fn check(file: &SharedFile, path: &Path) -> Result<Geometry, OpenError> {
    let layout = |what| OpenError::Layout { path: path.to_path_buf(), what };
    let stat = file.stat().map_err(|source| OpenError::System {
        path: path.to_path_buf(),
        call: "fstat",
        source,
    })?;
    // SAFETY: no pointers are passed.
    if stat.st_uid != unsafe { libc::geteuid() } {
        return Err(OpenError::NotHere { path: path.to_path_buf() });
    }
    let mut header = [0; HEADER_BYTES];
    file.read_at(0, &mut header).map_err(|_| layout("it is too short"))?;
    let half = |at: usize| u32::from_ne_bytes(header[at..at + 4].try_into().unwrap_or_default());
    let word = |at: usize| u64::from_ne_bytes(header[at..at + 8].try_into().unwrap_or_default());
    if word(AT_MAGIC) != MAGIC {
        return Err(layout("wrong magic number"));
    }
    if half(AT_VERSION) != VERSION {
        return Err(layout("another version; both sides must run the same Tasuki"));
    }
    let geometry = usize::try_from(word(AT_RING_BYTES))
        .ok()
        .and_then(|bytes| Geometry::new(half(AT_PEERS) as usize, bytes));
    let geometry = geometry.ok_or_else(|| layout("impossible sizes"))?;
    if stat.st_size as u64 != geometry.total() as u64 || stat.st_blocks * 512 < geometry.head_bytes() as i64 {
        return Err(layout("its length is not what its sizes say"));
    }
    Ok(geometry)
}
