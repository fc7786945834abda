//! Records of several cache lines, whose payload is copied once, out of the ring.

use tasuki_ring::Record;
use tasuki_tuning::shm;

use super::record::HEAD;
use crate::memory::Arrived;

/// The payload of a record that is still in shared memory: it is copied once, straight to its place.
pub(super) struct Payload<'a> {
    pub record: &'a Record<'a>,
    /// Size of the head before it, bytes.
    pub head: usize,
}

impl Arrived for Payload<'_> {
    fn len(&self) -> usize {
        self.record.len().saturating_sub(self.head)
    }

    unsafe fn copy_to(&self, offset: usize, to: *mut u8, len: usize) {
        // SAFETY: as the caller promises.
        let into = unsafe { std::slice::from_raw_parts_mut(to, len) };
        let mut from = self.head + offset;
        for piece in into.chunks_mut(shm::COPY_PIECE) {
            let copied = self.record.copy_to(from, piece);
            debug_assert!(copied, "the caller stays inside of the payload");
            from += piece.len();
        }
    }
}

/// A private copy of a record's first bytes, up to [`HEAD`]: the record's sender may change it meanwhile, so
/// what is checked is the copy.
pub(super) fn first_bytes<'a>(record: &Record<'_>, into: &'a mut [u8; HEAD]) -> &'a [u8] {
    let first = &mut into[..record.len().min(HEAD)];
    record.copy_to(0, first);
    first
}
