//! The hash of match keys and sequence numbers. It is fixed, so that a run replays exactly, and well mixed,
//! because MPIs count up in the low bits of a tag while its high bits hold the communicator and the source.
//!
//! It is no defence against keys chosen to collide: the peers of a job are authenticated and trusted that
//! far.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

pub(crate) type MixMap<K, V> = HashMap<K, V, BuildHasherDefault<Mix>>;

#[derive(Clone, Copy, Default)]
pub(crate) struct Mix(u64);

impl Hasher for Mix {
    fn write_u64(&mut self, word: u64) {
        // Folded multiplication, as wyhash: every input bit reaches both ends of the result.
        let product = u128::from(self.0 ^ word ^ 0xa076_1d64_78bd_642f) * 0xe703_7ed1_a0b4_28db;
        self.0 = (product as u64) ^ ((product >> 64) as u64);
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// A random function puts 65,536 keys into about 63 % of 65,536 buckets (1 - 1/e). The standard table
    /// takes the bucket from the low bits and a 7-bit filter from the high ones, so both are looked at.
    #[test]
    fn counted_tags_spread_in_low_and_high_bits() {
        for shift in [0, 4, 16, 32, 47] {
            let hash = |n: u64| {
                let mut mix = Mix::default();
                mix.write_u64(n << shift);
                mix.write_u64(3 << 48);
                mix.finish()
            };
            let low: BTreeSet<u64> = (0..65_536).map(|n| hash(n) & 0xffff).collect();
            let high: BTreeSet<u64> = (0..65_536).map(|n| hash(n) >> 48).collect();
            assert!(low.len() > 40_000 && high.len() > 40_000, "shift {shift}: {} {}", low.len(), high.len());
        }
    }
}
