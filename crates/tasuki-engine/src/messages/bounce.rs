//! Bounce buffers: bytes that have arrived before a receive was posted for them, and copies of short sends.

use tasuki_msg::EarlyId;
use tasuki_tuning::sends;

use crate::memory::Arrived;

/// The buffers of one endpoint.
#[derive(Default)]
pub(crate) struct BounceBuffers {
    /// The early parts of unexpected messages, by [`EarlyId::index`]. Their total size is bounded by the
    /// credit that the message layer has granted.
    early: Vec<Vec<u8>>,
    /// Buffers that can be reused.
    pool: Vec<Vec<u8>>,
}

impl BounceBuffers {
    /// The bytes of an early buffer; empty if nothing was written to it.
    pub fn early(&self, id: EarlyId) -> &[u8] {
        self.early.get(id.index()).map_or(&[], Vec::as_slice)
    }

    /// Writes the first `len` bytes of `bytes` at `offset` of an early buffer of `size` bytes, which is made
    /// if it is new.
    pub fn write_early(&mut self, id: EarlyId, (size, offset): (u64, u64), bytes: &dyn Arrived, len: usize) {
        if self.early.len() <= id.index() {
            self.early.resize_with(id.index() + 1, Vec::new);
        }
        // The message layer bounds `size` by the credit that was granted, that is, by the pool.
        let size = size as usize;
        if self.early[id.index()].len() != size {
            let mut room = self.pool.pop().unwrap_or_default();
            room.clear();
            room.resize(size, 0);
            self.early[id.index()] = room;
        }
        let offset = offset as usize;
        let len = len.min(bytes.len());
        if let Some(place) = self.early[id.index()].get_mut(offset..offset + len) {
            // SAFETY: the place is ours and has so many bytes.
            unsafe { bytes.copy_to(0, place.as_mut_ptr(), len) };
        }
    }

    /// Frees an early buffer: its bytes have been copied or dropped.
    pub fn free_early(&mut self, id: EarlyId) {
        if let Some(buffer) = self.early.get_mut(id.index()) {
            let buffer = std::mem::take(buffer);
            self.recycle(buffer);
        }
    }

    /// A buffer with room for `len` bytes. Its content is arbitrary.
    pub fn take(&mut self, len: usize) -> Vec<u8> {
        if len > sends::POOLED_BYTES {
            return Vec::with_capacity(len);
        }
        let new = || Vec::with_capacity(sends::POOLED_BYTES.min(len.next_power_of_two()));
        self.pool.pop().unwrap_or_else(new)
    }

    /// Keeps a buffer for reuse, unless it is too large or enough are kept.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        let fits = (1..=sends::POOLED_BYTES).contains(&buffer.capacity());
        if fits && self.pool.len() < sends::POOLED_COUNT {
            self.pool.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_reused_and_large_ones_are_not_kept() {
        let mut buffers = BounceBuffers::default();
        let first = buffers.take(100);
        let address = first.as_ptr();
        buffers.recycle(first);
        let second = buffers.take(50);
        assert_eq!(second.as_ptr(), address);
        buffers.recycle(Vec::with_capacity(sends::POOLED_BYTES + 1));
        buffers.recycle(Vec::new());
        assert!(buffers.pool.is_empty());
        (0..2 * sends::POOLED_COUNT).for_each(|_| buffers.recycle(Vec::with_capacity(1)));
        assert_eq!(buffers.pool.len(), sends::POOLED_COUNT);
    }
}
