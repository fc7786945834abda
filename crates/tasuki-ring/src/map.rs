//! Shared memory as this crate sees it: atomics and raw copies, always inside the mapping.
//!
//! Another process writes to it, so no Rust reference to plain data in it is ever made for reading; what was read is checked afterwards.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU32, AtomicU64};

use crate::fork::Process;
use crate::layout::LINE;
use crate::types::SHORT;

/// A mapping of a whole shared file.
pub(crate) struct Map {
    at: NonNull<u8>,
    len: usize,
    process: Process,
}

// SAFETY: the memory is only touched through atomics and raw copies, which any thread may do; the mapping lives as long as the value.
unsafe impl Send for Map {}
// SAFETY: as above.
unsafe impl Sync for Map {}

impl Map {
    /// Maps `len` bytes of `fd`. They must exist in the file for as long as the map lives, or touching them is SIGBUS: callers touch only
    /// what has been reserved, see `file::reserve`.
    pub(crate) fn new(fd: &OwnedFd, len: usize, writable: bool) -> io::Result<Map> {
        // `word` and `half` count on it.
        assert!(len.is_multiple_of(8), "whole words");
        let protection = if writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
        let at = unsafe { libc::mmap(null_mut(), len, protection, libc::MAP_SHARED, fd.as_raw_fd(), 0) };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // A forked child must not have it; if this fails it only costs the child page tables.
        // SAFETY: the range is the mapping just made.
        unsafe { libc::madvise(at, len, libc::MADV_DONTFORK) };
        let at = NonNull::new(at.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Map { at, len, process: Process::current() })
    }

    /// Whether the process that made it is this one.
    #[inline]
    pub(crate) fn is_here(&self) -> bool {
        self.process.is_current()
    }

    #[inline(always)]
    fn pointer(&self, offset: usize, len: usize) -> *mut u8 {
        assert!(
            offset <= self.len && len <= self.len - offset,
            "offset {offset} + {len} outside the mapping"
        );
        // SAFETY: `offset` is inside the mapping.
        unsafe { self.at.as_ptr().add(offset) }
    }

    #[inline]
    pub(crate) fn word(&self, offset: usize) -> &AtomicU64 {
        // The length is a multiple of 8, so that a word that begins inside is inside.
        assert!(offset.is_multiple_of(8) && offset < self.len);
        // SAFETY: inside the mapping, aligned (mappings are page-aligned), valid as long as `self`, and only ever used as an atomic
        // at times when another process may use it.
        unsafe { AtomicU64::from_ptr(self.at.as_ptr().add(offset).cast()) }
    }

    /// The words of the line of the cache at `offset`.
    #[inline]
    pub(crate) fn line(&self, offset: usize) -> &[AtomicU64; LINE / 8] {
        assert!(offset.is_multiple_of(LINE) && offset < self.len && LINE <= self.len - offset);
        // SAFETY: as in `word`, all of it inside the mapping.
        unsafe { &*self.at.as_ptr().add(offset).cast() }
    }

    #[inline]
    pub(crate) fn half(&self, offset: usize) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4) && offset < self.len);
        // SAFETY: as in `word`.
        unsafe { AtomicU32::from_ptr(self.at.as_ptr().add(offset).cast()) }
    }

    /// The line of the cache at `offset` will be written to soon: it may come from where it is meanwhile, without anybody's waiting for it.
    #[inline]
    pub(crate) fn prefetch_for_writing(&self, offset: usize) {
        let at = self.pointer(offset, 1);
        // SAFETY: a hint, which changes nothing; every processor of this architecture knows the instruction or does nothing for it.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            std::arch::asm!("prefetchw [{at}]", at = in(reg) at, options(nostack, preserves_flags));
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = at;
    }

    #[inline]
    pub(crate) fn copy_out(&self, offset: usize, into: &mut [u8]) {
        let from = self.pointer(offset, into.len());
        // SAFETY: both ranges are valid for `into.len()` bytes and cannot overlap, as `into` is no shared memory. If the other process
        // writes at the same time the bytes are arbitrary, which callers expect.
        unsafe { from.copy_to_nonoverlapping(into.as_mut_ptr(), into.len()) }
    }

    #[inline]
    pub(crate) fn copy_in(&self, offset: usize, from: &[u8]) {
        let into = self.pointer(offset, from.len());
        // SAFETY: as in `copy_out`; callers own the range by the protocol.
        unsafe { into.copy_from_nonoverlapping(from.as_ptr(), from.len()) }
    }

    /// A range to write into.
    ///
    /// # Safety
    /// The caller owns the range by the ring's protocol (the receiver reads it only after it has been published) and makes no other
    /// reference to it meanwhile.
    #[inline]
    #[expect(clippy::mut_from_ref, reason = "exclusive by the protocol, as the contract says")]
    pub(crate) unsafe fn writable(&self, offset: usize, len: usize) -> &mut [u8] {
        // SAFETY: inside the mapping; exclusive by the contract of this function.
        unsafe { std::slice::from_raw_parts_mut(self.pointer(offset, len), len) }
    }

    /// The same of a record that takes a line of the cache, behind its word.
    ///
    /// # Safety
    /// As for [`Map::writable`].
    #[inline]
    #[expect(clippy::mut_from_ref, reason = "exclusive by the protocol, as the contract says")]
    pub(crate) unsafe fn writable_line(&self, offset: usize) -> &mut [u8; SHORT] {
        // SAFETY: inside the mapping; exclusive by the contract of this function; an array of bytes has no alignment.
        unsafe { &mut *self.pointer(offset, SHORT).cast() }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // In a forked child the mapping does not exist (MADV_DONTFORK), and something else may be at its address.
        if self.is_here() {
            // SAFETY: the range is this mapping, and no reference into it outlives `self`.
            unsafe { libc::munmap(self.at.as_ptr().cast(), self.len) };
        }
    }
}
