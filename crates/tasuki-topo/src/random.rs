//! The one source of chance: small, seedable and the same on every machine and in every release.

use tasuki_random::Random;

/// The numbers of [`tasuki_random::Random`], with a range and a shuffle of its own: what a seed gives depends
/// on exactly these.
#[derive(Clone, Debug)]
pub struct SplitMix64(Random);

impl SplitMix64 {
    /// A generator whose whole sequence follows from `seed`.
    pub fn new(seed: u64) -> Self {
        Self(Random::new(seed))
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`; 0 for a `bound` of 0. The bias is below 2^-32 for bounds below 2^32.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next_u64()) * bound as u128) >> 64) as usize
    }

    /// Shuffles `items` (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First outputs for seed 1234567, as published with the reference implementation in C.
    #[test]
    fn matches_the_reference_implementation() {
        let mut random = SplitMix64::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn stays_below_its_bound() {
        let mut random = SplitMix64::new(7);
        assert!((0..1000).all(|_| random.below(13) < 13));
        assert_eq!(random.below(0), 0);
    }
}
