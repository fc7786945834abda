//! How a record is written and read consistently: a seqlock. A sequence word stands before each record, which
//! is odd while the record is being written.

use super::words::{Cursor, WORDS_MAX, Words};
use crate::map::Map;
use crate::sync::{Ordering, fence};

/// A writer's count, from which every write takes a sequence number that no record of the page has had
/// before. Were a record that is erased and written anew to begin again with 2, a reader might read half of
/// the old one and half of the new one between two looks at the same number.
#[derive(Debug, Default)]
pub(crate) struct Sequence(u64);

impl Sequence {
    /// The sequence number of a record while it is being written, which is odd. The number after it is that
    /// of the record once it has been written. At a write per nanosecond the count lasts for 292 years.
    fn next(&mut self) -> u64 {
        self.0 += 2;
        self.0 - 1
    }
}

/// Writes a record of `words` words, which `put` gives, at `at`. These are plain stores and no
/// read-modify-writes, as there is one writer.
pub(crate) fn write(
    map: &Map,
    at: usize,
    words: usize,
    sequence: &mut Sequence,
    put: impl FnOnce(&mut Cursor<'_>),
) {
    let mut values = [0; WORDS_MAX];
    put(&mut Cursor(&mut values[..words]));
    // An odd word says that the record is being written. Zero is reserved for "never written".
    let odd = sequence.next();
    map.word(at).store(odd, Ordering::Relaxed);
    // Release: a reader that sees a new word of the record sees the odd value, too.
    fence(Ordering::Release);
    for (index, &value) in values[..words].iter().enumerate() {
        map.word(at + 8 + index * 8).store(value, Ordering::Relaxed);
    }
    // Release: a reader that sees the even value sees all words.
    map.word(at).store(odd + 1, Ordering::Release);
}

/// Takes the record at `at` off the page.
pub(crate) fn erase(map: &Map, at: usize) {
    map.word(at).store(0, Ordering::Release);
}

/// What reading a record gave.
pub(crate) enum Found<T> {
    /// The record, consistent in itself.
    Record(T),
    /// Never written, or erased.
    Empty,
    /// The record was being written at every try.
    Torn,
}

/// Reads a record, whose sequence word was `before` when it was last read, at most `tries` times. `read`
/// reads bytes from an offset of the record on, one call after the other, and returns false if they are not
/// there.
pub(crate) fn read<T: Words>(before: u64, tries: usize, read: impl Fn(usize, &mut [u8]) -> bool) -> Found<T> {
    let (mut before, mut bytes) = (before, [0; WORDS_MAX * 8]);
    for _ in 0..tries {
        if before == 0 {
            return Found::Empty;
        }
        // Acquire: the record is read after its sequence word, which gave `before`.
        fence(Ordering::Acquire);
        // An odd sequence word says that the record is being written.
        let whole = before.is_multiple_of(2) && read(8, &mut bytes[..T::WORDS * 8]);
        // Acquire: the sequence word is read again after the record.
        fence(Ordering::Acquire);
        let mut sequence = [0; 8];
        if !read(0, &mut sequence) {
            return Found::Empty;
        }
        let after = u64::from_ne_bytes(sequence);
        if whole && after == before {
            let mut values = [0; WORDS_MAX];
            for (value, word) in values.iter_mut().zip(bytes.chunks_exact(8)) {
                *value = u64::from_ne_bytes(word.try_into().unwrap_or_default());
            }
            return Found::Record(T::get(&mut Cursor(&mut values[..T::WORDS])));
        }
        before = after;
    }
    Found::Torn
}
