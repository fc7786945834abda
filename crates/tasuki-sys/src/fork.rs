//! Descriptors and memory that forked children do not keep.
//!
//! A child after fork(2) has all descriptors of its parent, and a socket is closed once nobody has it any
//! more. A child that lives on (a worker of Python's `multiprocessing`, a daemon) would so keep the ports of
//! a parent that has died or has closed them: no host would refuse datagrams to them, by which peers learn of
//! a death, no stream would end, and nobody could use them again. To close on exec helps only if there is
//! one.
//!
//! So sockets are noted in a table, and before fork(2) returns in a child a handler (pthread_atfork(3)) puts
//! /dev/null in their places. The numbers stay taken: what the child does with a socket that it knows of by
//! its number meets nothing else. The parent notices nothing, since its own descriptors hold the sockets. In
//! a child other threads may have held any lock, so the handler takes none: it reads atomics and makes
//! system calls. It takes a microsecond for each descriptor. vfork(2) and posix_spawn(3) do not call it, nor
//! do bare system calls; their children call execve(2) as a rule, which closes the descriptors.
//!
//! If another thread opens or closes a socket in the moment of the fork (between the system call and the
//! note in the table) the child may keep that one.

use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::ptr::NonNull;
use std::sync::Once;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

/// Descriptors that the table has room for; children keep what finds none. A process has a few for each NIC,
/// and one for each peer to which it has a stream.
const DESCRIPTORS: usize = 4096;
/// Mappings that the table has room for: one for each raw lane.
const MAPPINGS: usize = 128;
/// A place of the table that is free.
const FREE: i32 = 0;

/// The descriptors, each as its number plus one, since zeroes take no memory. It is a static because the
/// handler of a fork gets no argument.
static TABLE: [AtomicI32; DESCRIPTORS] = [const { AtomicI32::new(FREE) }; DESCRIPTORS];
/// The places of the table from here on were never taken.
static END: AtomicUsize = AtomicUsize::new(0);

/// A mapping. The place is free if the length is 0, and tells nothing while the address is 0.
struct Mapping {
    len: AtomicUsize,
    at: AtomicUsize,
}

/// The mappings. It is a static as [`TABLE`] is.
static MEMORY: [Mapping; MAPPINGS] =
    [const { Mapping { len: AtomicUsize::new(0), at: AtomicUsize::new(0) } }; MAPPINGS];

/// A descriptor that forked children do not keep.
pub struct Uninherited<T> {
    // The first field, which is dropped first: a number that is free may be another file's at once, and what
    // stands in the table is taken from children.
    _note: Note,
    descriptor: T,
}

impl<T: AsFd> Uninherited<T> {
    /// From now on no child that is forked keeps the descriptor.
    pub fn new(descriptor: T) -> Uninherited<T> {
        Uninherited { _note: Note::of(descriptor.as_fd().as_raw_fd()), descriptor }
    }

    /// The descriptor, which children keep from now on.
    pub fn into_inner(self) -> T {
        self.descriptor
    }
}

impl<T: AsFd> AsFd for Uninherited<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl<T> Deref for Uninherited<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.descriptor
    }
}

/// A place in the table of descriptors, if there was one.
struct Note {
    place: Option<&'static AtomicI32>,
    value: i32,
}

impl Note {
    fn of(descriptor: RawFd) -> Note {
        install();
        let value = descriptor + 1;
        let is_taken = |place: &AtomicI32| {
            place.load(Ordering::Relaxed) == FREE
                && place.compare_exchange(FREE, value, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let place = TABLE.iter().position(is_taken);
        if let Some(place) = place {
            END.fetch_max(place + 1, Ordering::AcqRel);
        }
        Note { place: place.map(|place| &TABLE[place]), value }
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        // In a child the place may be that of a descriptor of its own.
        if let Some(place) = self.place {
            let _ = place.compare_exchange(self.value, FREE, Ordering::AcqRel, Ordering::Relaxed);
        }
    }
}

/// A mapping of memory that is shared with the kernel, which forked children do not keep: they have zeroes
/// there, which are theirs alone. It ends with this value.
pub(crate) struct UninheritedMemory {
    at: NonNull<u8>,
    len: usize,
    note: Option<&'static Mapping>,
}

impl UninheritedMemory {
    /// From now on no child that is forked keeps the mapping of `len` bytes at `at`.
    ///
    /// # Safety
    /// The range is a mapping, which belongs to nothing else.
    pub(crate) unsafe fn new(at: NonNull<u8>, len: usize) -> UninheritedMemory {
        install();
        let is_taken = |mapping: &&Mapping| {
            mapping.len.load(Ordering::Relaxed) == 0
                && mapping.len.compare_exchange(0, len, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let note = MEMORY.iter().find(is_taken);
        if let Some(mapping) = note {
            mapping.at.store(at.as_ptr().addr(), Ordering::Release);
            // A fork need not copy what the handler will take away. If this fails the fork takes longer.
            // SAFETY: the range is a mapping, as the caller promises. Its contents stay as they are.
            unsafe { libc::madvise(at.as_ptr().cast(), len, libc::MADV_DONTFORK) };
        }
        UninheritedMemory { at, len, note }
    }

    /// Its first byte.
    #[inline(always)]
    pub(crate) fn at(&self) -> NonNull<u8> {
        self.at
    }
}

impl Drop for UninheritedMemory {
    fn drop(&mut self) {
        // This comes first: once the mapping has ended, something else may be at its address. In a child the
        // place may be that of a mapping of its own.
        let is_ours = |at: &AtomicUsize| {
            let ours = self.at.as_ptr().addr();
            at.compare_exchange(ours, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        if let Some(mapping) = self.note.filter(|mapping| is_ours(&mapping.at)) {
            mapping.len.store(0, Ordering::Release);
        }
        // SAFETY: the range is the mapping, or in a child the memory that the handler has put there.
        unsafe { libc::munmap(self.at.as_ptr().cast(), self.len) };
    }
}

fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handler reads and writes atomics and makes system calls, which is allowed in a child.
        // If memory is short the handler is not installed, and children keep what is noted.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

/// Takes what is noted from a child, and empties the tables: what they tell of belongs to the parent, and
/// children of this child are to keep what it may open under the same numbers.
extern "C" fn in_child() {
    let mut blank = None;
    for place in &TABLE[..END.swap(0, Ordering::Relaxed).min(DESCRIPTORS)] {
        let value = place.swap(FREE, Ordering::Relaxed);
        // SAFETY: a number that the parent's table has is that of a socket which this process has from its
        // parent, and which nothing uses by now.
        if value != FREE && unsafe { libc::close(value - 1) } == 0 {
            blank = blank_out(value - 1, blank);
        }
    }
    if let Some((blank, true)) = blank {
        // SAFETY: it was opened here, and nothing else knows of it.
        unsafe { libc::close(blank) };
    }
    for Mapping { len, at } in &MEMORY {
        let (at, len) = (at.swap(0, Ordering::Relaxed), len.swap(0, Ordering::Relaxed));
        if at != 0 {
            fill_with_zeroes(at, len);
        }
    }
}

/// Puts /dev/null in the place of a number that has just become free. `blank` is a descriptor of it, if there
/// is one already, and whether it has a number of its own; gives one for the next call. Where /dev/null
/// cannot be opened the number stays free.
fn blank_out(number: RawFd, blank: Option<(RawFd, bool)>) -> Option<(RawFd, bool)> {
    let blank = blank.or_else(|| {
        // It is opened only now, since a process may have as many descriptors as it may.
        // SAFETY: the path is a string that ends in zero.
        let opened = unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
        (opened >= 0).then_some((opened, opened != number))
    });
    if let Some((open, _)) = blank.filter(|(open, _)| *open != number) {
        // SAFETY: no pointers are passed, and the number is free.
        unsafe { libc::dup3(open, number, libc::O_CLOEXEC) };
    }
    blank
}

/// Puts private memory of zeroes in the place of a mapping, or in the hole that is there.
fn fill_with_zeroes(at: usize, len: usize) {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the range was a mapping of the parent when it forked, of which this process has nothing or a
    // copy; no thread but this one is here, and it is in the middle of a fork.
    unsafe { libc::mmap(std::ptr::without_provenance_mut(at), len, protection, flags, -1, 0) };
}

#[cfg(test)]
mod tests;
