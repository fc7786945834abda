//! Sets of words of a page.

use serde::{Deserialize, Serialize};

/// Bytes of a page.
pub const PAGE: usize = 4096;
/// Bytes of a word: elements of most arrays have as many or a multiple of them.
const WORD: usize = 4;

/// A set of words of 4 bytes of one page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Words([u64; PAGE / WORD / 64]);

impl Words {
    /// Adds the word in which an address lies, by its place in its page.
    pub fn insert(&mut self, address: u64) {
        let word = address as usize % PAGE / WORD;
        self.0[word / 64] |= 1 << (word % 64);
    }

    /// The words that differ between two states of a page.
    pub fn changed(before: &[u8], after: &[u8]) -> Words {
        let mut words = Words::default();
        let pairs = before.chunks_exact(WORD).zip(after.chunks_exact(WORD)).enumerate();
        for (index, _) in pairs.filter(|(_, (before, after))| before != after) {
            words.insert((index * WORD) as u64);
        }
        words
    }

    /// Adds all of another set.
    pub fn add(&mut self, other: &Words) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine |= theirs);
    }

    /// Whether a word is in both sets.
    pub fn overlaps(&self, other: &Words) -> bool {
        self.0.iter().zip(other.0).any(|(mine, theirs)| mine & theirs != 0)
    }

    /// Whether a word of one set lies in the same 64 bytes as one of the other.
    pub fn is_near(&self, other: &Words) -> bool {
        let lines = |words: u64| (0..4).map(move |line| words >> (16 * line) & 0xffff != 0);
        self.0.iter().zip(other.0).any(|(mine, theirs)| lines(*mine).zip(lines(theirs)).any(|(a, b)| a && b))
    }

    /// Number of words.
    pub fn count(&self) -> u32 {
        self.0.iter().map(|words| words.count_ones()).sum()
    }

    /// Whether no word is in it.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&words| words == 0)
    }

    /// Where the words begin, bytes from the page's first, in order.
    pub fn offsets(&self) -> impl Iterator<Item = u64> {
        let words = self.0;
        (0..PAGE / WORD)
            .filter(move |word| words[word / 64] & 1 << (word % 64) != 0)
            .map(|w| (w * WORD) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_differ_are_found() {
        let before = [7; PAGE];
        let mut after = before;
        (after[0], after[7], after[PAGE - 1]) = (1, 2, 3);
        let changed = Words::changed(&before, &after);
        assert_eq!(changed.offsets().collect::<Vec<_>>(), [0, 4, 4092]);
        let mut other = Words::default();
        assert!(other.is_empty() && !changed.is_empty() && !other.overlaps(&changed));
        // The address of any byte of a word, in any page.
        other.insert(0x7000 + 4);
        assert!(other.overlaps(&changed));
        other.add(&changed);
        assert_eq!((other, other.count()), (changed, 3));
        let one = |address| {
            let mut words = Words::default();
            words.insert(address);
            words
        };
        assert!(one(60).is_near(&one(0)) && !one(64).is_near(&one(60)) && one(4095).is_near(&one(4032)));
    }
}
