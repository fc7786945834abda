//! The bytes of messages: a function of the message's name and the place in it, so that every byte can be
//! checked wherever it turns up.

use std::collections::BTreeMap;

use tasuki_random::mix;

/// Written over a send buffer once its operation is over.
pub const SCRIBBLE: u8 = 0xEE;
/// Written behind every receive buffer; must never change.
pub const GUARD: [u8; 16] = [0xA5; 16];

fn word(name: usize, index: u64) -> u64 {
    mix((name as u64) << 40 ^ index ^ 0x7461_7375_6b69)
}

fn byte(name: usize, at: u64) -> u8 {
    word(name, at / 8).to_le_bytes()[(at % 8) as usize]
}

/// Number of bytes before the first whole word of a piece that begins at `offset` and has `len` bytes.
fn ragged(offset: u64, len: usize) -> usize {
    ((offset.next_multiple_of(8) - offset) as usize).min(len)
}

/// Fills `into` with the bytes of message `name` from `offset` on.
pub fn fill(name: usize, offset: u64, into: &mut [u8]) {
    let (head, rest) = into.split_at_mut(ragged(offset, into.len()));
    head.iter_mut().zip(offset..).for_each(|(into, at)| *into = byte(name, at));
    let begin = offset + head.len() as u64;
    let mut words = rest.chunks_exact_mut(8);
    let mut index = begin / 8;
    for into in &mut words {
        into.copy_from_slice(&word(name, index).to_le_bytes());
        index += 1;
    }
    words.into_remainder().iter_mut().zip(index * 8..).for_each(|(into, at)| *into = byte(name, at));
}

/// The place in the message of the first byte of `bytes` that is wrong; they begin at `offset`.
pub fn first_wrong(name: usize, offset: u64, bytes: &[u8]) -> Option<u64> {
    let (head, rest) = bytes.split_at(ragged(offset, bytes.len()));
    let begin = offset + head.len() as u64;
    let words = rest.chunks_exact(8);
    let tail = (begin + (rest.len() - rest.len() % 8) as u64, words.remainder());
    let right = |(got, index): (&[u8], u64)| {
        <[u8; 8]>::try_from(got).is_ok_and(|got| u64::from_le_bytes(got) == word(name, index))
    };
    let wrong_word = words.zip(begin / 8..).find(|(got, index)| !right((got, *index)));
    let slow = |from: u64, bytes: &[u8]| {
        bytes.iter().zip(from..).find(|(got, at)| **got != byte(name, *at)).map(|(_, at)| at)
    };
    slow(offset, head)
        .or_else(|| wrong_word.and_then(|(got, index)| slow(index * 8, got)))
        .or_else(|| slow(tail.0, tail.1))
}

/// The bytes of a message that have arrived: each may do so once.
#[derive(Clone, Debug, Default)]
pub struct Pieces {
    /// Begin to end of each piece; none is adjacent to another.
    pieces: BTreeMap<u64, u64>,
    total: u64,
}

impl Pieces {
    /// Number of bytes that have arrived.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Whether all of these bytes have arrived.
    pub fn covers(&self, begin: u64, len: u64) -> bool {
        let before = self.pieces.range(..=begin).next_back();
        len == 0 || before.is_some_and(|(_, &end)| end >= begin + len)
    }

    /// Adds a piece; returns false if some of it has arrived before.
    pub fn add(&mut self, begin: u64, len: u64) -> bool {
        let (mut from, mut end) = (begin, begin + len);
        if len == 0 {
            return true;
        }
        let before = self.pieces.range(..end).next_back().map(|(&from, &end)| (from, end));
        if before.is_some_and(|(_, before_end)| before_end > begin) {
            return false;
        }
        self.total += len;
        if let Some((before_from, before_end)) = before
            && before_end == begin
        {
            from = before_from;
        }
        if let Some(after_end) = self.pieces.remove(&end) {
            end = after_end;
        }
        self.pieces.insert(from, end);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_random::Random as Rng;

    #[test]
    fn what_is_filled_is_right_and_nothing_else() {
        let mut whole = [0; 100];
        fill(5, 0, &mut whole);
        for (offset, len) in [(0, 100), (3, 60), (8, 8), (15, 1), (99, 1)] {
            let mut part = vec![0; len];
            fill(5, offset as u64, &mut part);
            assert_eq!(part, whole[offset..offset + len]);
            assert_eq!(first_wrong(5, offset as u64, &part), None);
            part[len - 1] ^= 1;
            assert_eq!(first_wrong(5, offset as u64, &part), Some((offset + len - 1) as u64));
        }
        assert!(first_wrong(6, 0, &whole).is_some());
    }

    #[test]
    fn pieces_are_a_set() {
        let mut rng = Rng::new(2);
        for _ in 0..200 {
            let (mut pieces, mut set) = (Pieces::default(), [false; 64]);
            for _ in 0..40 {
                let begin = rng.index(60);
                let range = begin..begin + 1 + rng.index(64 - begin);
                let fresh = set[range.clone()].iter().all(|seen| !seen);
                let covered = !set[range.clone()].contains(&false);
                assert_eq!(pieces.covers(begin as u64, range.len() as u64), covered);
                assert_eq!(pieces.add(begin as u64, range.len() as u64), fresh);
                if fresh {
                    set[range].fill(true);
                }
                assert_eq!(pieces.total(), set.iter().filter(|seen| **seen).count() as u64);
            }
        }
    }
}
