//! Payload that has arrived, and how it is copied.

use tasuki_tuning::shm;

/// Payload that has arrived, wherever it is.
pub(crate) trait Arrived {
    /// Number of bytes.
    fn len(&self) -> usize;

    /// Copies `len` bytes, from byte `offset` on, to `to`. All of them are inside.
    ///
    /// # Safety
    /// `to` has room for `len` bytes that are the caller's to write.
    unsafe fn copy_to(&self, offset: usize, to: *mut u8, len: usize);
}

impl Arrived for &[u8] {
    fn len(&self) -> usize {
        <[u8]>::len(self)
    }

    unsafe fn copy_to(&self, offset: usize, to: *mut u8, len: usize) {
        // SAFETY: as the caller promises; what has arrived is in memory of the engine.
        unsafe { copy_bytes(self[offset..offset + len].as_ptr(), to, len) };
    }
}

/// Copies `len` bytes, in pieces that the C library copies by vector instructions. From some length on it
/// takes the processor's own instruction for copies, which on some is fifteen times slower if the addresses
/// agree in their lowest twelve bits, but for less than a cache line.
///
/// # Safety
/// `from` can be read and `to` written for `len` bytes, and they do not overlap.
#[inline]
pub(crate) unsafe fn copy_bytes(from: *const u8, to: *mut u8, len: usize) {
    let mut done = 0;
    while done < len {
        let piece = (len - done).min(shm::COPY_PIECE);
        // SAFETY: as the caller promises, for a part of it.
        unsafe { std::ptr::copy_nonoverlapping(from.add(done), to.add(done), piece) };
        done += piece;
    }
}
