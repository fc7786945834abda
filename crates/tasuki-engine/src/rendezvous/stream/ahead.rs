//! Bytes that were read from a stream before it was known where they belong.

use tasuki_tuning::streams::AHEAD_ROOM as ROOM;

use super::record::HEAD;

/// A buffer that is filled at its end and emptied from its front.
#[derive(Default)]
pub(super) struct Ahead {
    bytes: Vec<u8>,
    begin: usize,
    end: usize,
}

impl Ahead {
    /// The bytes that are there.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.begin..self.end]
    }

    /// Room for at most `most` more bytes behind them.
    pub fn room(&mut self, most: usize) -> &mut [u8] {
        if self.bytes.is_empty() {
            self.bytes.resize(ROOM, 0);
        }
        if self.begin > 0 {
            self.bytes.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
        }
        let end = self.end.saturating_add(most).min(ROOM);
        &mut self.bytes[self.end..end]
    }

    /// So many bytes of the room were filled.
    pub fn fill(&mut self, count: usize) {
        self.end += count;
    }

    /// Puts bytes behind those that are there, as far as there is room.
    pub fn put(&mut self, bytes: &[u8]) {
        let room = self.room(bytes.len());
        let count = room.len();
        room.copy_from_slice(&bytes[..count]);
        self.fill(count);
    }

    /// So many bytes are needed no longer.
    pub fn drop_first(&mut self, count: usize) {
        self.begin += count;
        if self.begin >= self.end {
            (self.begin, self.end) = (0, 0);
        }
    }

    /// The head that the bytes begin with, if it is there whole.
    pub fn head(&self) -> Option<&[u8; HEAD]> {
        self.bytes().first_chunk()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_leave_in_the_order_in_which_they_came() {
        let mut ahead = Ahead::default();
        assert!(ahead.head().is_none());
        let mut next = 0u8;
        let mut expected = 0u8;
        for round in 1..500 {
            let room = ahead.room(round % 70 + 1);
            room.iter_mut().for_each(|byte| {
                *byte = next;
                next = next.wrapping_add(1);
            });
            let count = room.len();
            ahead.fill(count);
            let take = ahead.bytes().len().min(round % 90);
            for byte in &ahead.bytes()[..take] {
                assert_eq!(*byte, expected);
                expected = expected.wrapping_add(1);
            }
            ahead.drop_first(take);
        }
        assert_eq!(ahead.room(usize::MAX).len(), ROOM - ahead.bytes().len());
    }
}
