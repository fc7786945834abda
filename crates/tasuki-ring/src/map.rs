//! Shared memory as this crate sees it: atomics and raw copies, always inside the mapping.
//!
//! Another process writes to it, so no Rust reference to plain data in it is ever made for reading, and what
//! was read is checked afterwards.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::{NonNull, null_mut};

use crate::fork::Process;
use crate::layout::{LINE, SHORT};
use crate::sync::{AtomicU32, AtomicU64};

/// A mapping of a whole shared file.
pub(crate) struct Map {
    at: NonNull<u8>,
    len: usize,
    process: Process,
}

// SAFETY: the memory is only touched through atomics and raw copies, which any thread may do; the mapping
// lives as long as the value.
unsafe impl Send for Map {}
// SAFETY: the memory is only touched through atomics and raw copies, also from several threads at once.
unsafe impl Sync for Map {}

impl Map {
    /// Maps `len` bytes of `fd`. They must exist in the file for as long as the map lives, or touching them
    /// is SIGBUS: callers touch only what has been reserved, see `SharedFile::reserve`.
    pub(crate) fn new(fd: &OwnedFd, len: usize, writable: bool) -> io::Result<Map> {
        // `word` and `half` count on a length of whole words.
        assert!(len.is_multiple_of(8), "whole words");
        let protection = if writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
        let at = unsafe { libc::mmap(null_mut(), len, protection, libc::MAP_SHARED, fd.as_raw_fd(), 0) };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // A forked child must not have the mapping; if this call fails, that only costs the child page
        // tables. SAFETY: the range is the mapping just made.
        unsafe { libc::madvise(at, len, libc::MADV_DONTFORK) };
        let at = NonNull::new(at.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Map { at, len, process: Process::current() })
    }

    /// Whether the process that made it is this one.
    #[inline]
    pub(crate) fn is_here(&self) -> bool {
        self.process.is_current()
    }

    /// Where the `len` bytes at `offset` are. Panics if they are not all inside the mapping.
    #[inline(always)]
    fn pointer(&self, offset: usize, len: usize) -> *mut u8 {
        assert!(
            offset <= self.len && len <= self.len - offset,
            "offset {offset} + {len} outside the mapping"
        );
        // SAFETY: `offset` is inside the mapping.
        unsafe { self.at.as_ptr().add(offset) }
    }

    /// The 64-bit word at `offset`.
    #[inline]
    pub(crate) fn word(&self, offset: usize) -> &AtomicU64 {
        // The length is a multiple of 8, so that a word that begins inside is inside.
        assert!(offset.is_multiple_of(8) && offset < self.len);
        // SAFETY: inside the mapping, aligned (mappings are page-aligned), valid as long as `self`, and only
        // ever used as an atomic at times when another process may use it.
        unsafe { AtomicU64::from_ptr(self.at.as_ptr().add(offset).cast()) }
    }

    /// The words of the cache line at `offset`.
    #[inline]
    pub(crate) fn cache_line(&self, offset: usize) -> &[AtomicU64; LINE / 8] {
        assert!(offset.is_multiple_of(LINE) && offset < self.len && LINE <= self.len - offset);
        // SAFETY: the whole line is inside the mapping and aligned, valid as long as `self`, and only ever
        // used as atomics at times when another process may use it.
        unsafe { &*self.at.as_ptr().add(offset).cast() }
    }

    /// The 32-bit word at `offset`.
    #[inline]
    pub(crate) fn half(&self, offset: usize) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4) && offset < self.len);
        // SAFETY: inside the mapping, as its length is a multiple of 8, aligned, valid as long as `self`, and
        // only ever used as an atomic at times when another process may use it.
        unsafe { AtomicU32::from_ptr(self.at.as_ptr().add(offset).cast()) }
    }

    /// Fetches the cache line at `offset`, which will be written to soon, from the processor that has it.
    /// Nothing waits for its arrival.
    #[inline]
    pub(crate) fn prefetch_for_writing(&self, offset: usize) {
        let at = self.pointer(offset, 1);
        // SAFETY: a hint, which changes nothing; every processor of this architecture knows the instruction
        // or ignores it.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            std::arch::asm!("prefetchw [{at}]", at = in(reg) at, options(nostack, preserves_flags));
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = at;
    }

    /// Copies what is at `offset` into private memory.
    #[inline]
    pub(crate) fn copy_out(&self, offset: usize, into: &mut [u8]) {
        let from = self.pointer(offset, into.len());
        // SAFETY: both ranges are valid for `into.len()` bytes and cannot overlap, as `into` is no shared
        // memory. If the other process writes at the same time the bytes are arbitrary, which callers expect.
        unsafe { from.copy_to_nonoverlapping(into.as_mut_ptr(), into.len()) }
    }

    /// Copies `from` to `offset`.
    #[inline]
    pub(crate) fn copy_in(&self, offset: usize, from: &[u8]) {
        let into = self.pointer(offset, from.len());
        // SAFETY: both ranges are valid for `from.len()` bytes and cannot overlap, as `from` is no shared
        // memory; callers own the range by the protocol.
        unsafe { into.copy_from_nonoverlapping(from.as_ptr(), from.len()) }
    }

    /// The `len` bytes at `offset`, to write into.
    ///
    /// # Safety
    /// The caller owns the range by the ring's protocol (the receiver reads it only after it has been
    /// published) and makes no other reference to it meanwhile.
    #[inline]
    #[expect(clippy::mut_from_ref, reason = "exclusive by the protocol, as the contract says")]
    pub(crate) unsafe fn writable(&self, offset: usize, len: usize) -> &mut [u8] {
        // SAFETY: inside the mapping; exclusive by the contract of this function.
        unsafe { std::slice::from_raw_parts_mut(self.pointer(offset, len), len) }
    }

    /// The payload, at `offset`, of a record that takes one cache line, to write into.
    ///
    /// # Safety
    /// The caller owns the payload by the ring's protocol, as for [`Map::writable`], and makes no other
    /// reference to it meanwhile.
    #[inline]
    #[expect(clippy::mut_from_ref, reason = "exclusive by the protocol, as the contract says")]
    pub(crate) unsafe fn writable_line(&self, offset: usize) -> &mut [u8; SHORT] {
        // SAFETY: inside the mapping; exclusive by the contract of this function; an array of bytes has no
        // alignment.
        unsafe { &mut *self.pointer(offset, SHORT).cast() }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // In a forked child the mapping does not exist (MADV_DONTFORK), and something else may be at its
        // address.
        if self.is_here() {
            // SAFETY: the range is this mapping, and no reference into it outlives `self`.
            unsafe { libc::munmap(self.at.as_ptr().cast(), self.len) };
        }
    }
}
