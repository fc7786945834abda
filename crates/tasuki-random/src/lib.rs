//! The random generator behind every random choice of simulations, searches and tests: one number, the seed,
//! decides everything.
//!
//! Networks, trials and failing cases are named by their seeds, in tests and in reports, so a seed's sequence
//! must never change; general-purpose crates give no such promise between versions. None of these numbers is
//! secret.

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator whose numbers follow from `seed` alone.
    #[inline]
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// A generator of its own for one part of the work, so that the number of draws in one part does not
    /// change another.
    #[must_use]
    pub fn fork(&mut self) -> Random {
        Random(self.next_u64())
    }

    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `end`; 0 if `end` is 0. (The bias of the remainder is below 2^-40 for the small ends
    /// used here.)
    #[inline]
    pub fn below(&mut self, end: u64) -> u64 {
        self.next_u64() % end.max(1)
    }

    /// A number from `least` to `most`, both included.
    #[inline]
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most.saturating_sub(least).saturating_add(1))
    }

    /// A number of at most `most` whose magnitude is uniform: as often between 1 and 2 as between 1000 and
    /// 2000.
    pub fn magnitude(&mut self, most: u64) -> u64 {
        let bits = self.below(u64::from(u64::BITS - most.leading_zeros()) + 1) as u32;
        self.below(1u64.checked_shl(bits).unwrap_or(u64::MAX)).min(most)
    }

    /// An index of a list of `len` elements.
    #[inline]
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// One of `from`, which is not empty.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.index(from.len())]
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// True in `per_mille` of 1000 cases.
    pub fn per_mille(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }

    /// True in `ppm` of a million cases. If `ppm` is 0, nothing is drawn.
    pub fn ppm(&mut self, ppm: u32) -> bool {
        ppm > 0 && self.below(1_000_000) < u64::from(ppm)
    }

    /// A number in (0, 1], uniformly.
    pub fn uniform(&mut self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// A number from the exponential distribution with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -self.uniform().ln() * mean
    }

    /// Fills `bytes`.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let word = self.next_u64().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
}

/// The finaliser of SplitMix64: a bijection whose output bits each depend on all input bits.
#[inline]
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First outputs for seed 1234567 of the reference implementation (prng.di.unimi.it/splitmix64.c).
    #[test]
    fn agrees_with_the_reference() {
        let mut random = Random::new(1_234_567);
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(expected.map(|_| random.next_u64()), expected);
        let mut bytes = [0; 11];
        Random::new(1_234_567).fill(&mut bytes);
        assert_eq!(bytes[..8], expected[0].to_le_bytes());
        assert_eq!(bytes[8..], expected[1].to_le_bytes()[..3]);
    }

    #[test]
    fn ranges_hold() {
        let mut random = Random::new(1);
        for most in [0, 1, 2, 1000, u64::MAX] {
            for _ in 0..1000 {
                assert!(random.magnitude(most) <= most);
                assert!(random.below(most) < most.max(1));
                assert!((3.min(most)..=most).contains(&random.between(3.min(most), most)));
            }
        }
        let mut always =
            |_| !random.ppm(0) && random.ppm(1_000_000) && random.chance(100) && !random.chance(0);
        assert!((0..1000).all(&mut always));
    }

    // An exponential distribution has its mean as standard deviation, and a share of 1/e beyond its mean.
    #[test]
    fn it_is_exponential() {
        let mut random = Random::new(1);
        let values: Vec<f64> = (0..100_000).map(|_| random.exponential(3.0)).collect();
        let mean = values.iter().sum::<f64>() / 1e5;
        let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 1e5;
        let beyond = values.iter().filter(|value| **value > 3.0).count() as f64 / 1e5;
        // Ten standard errors: 3/sqrt(1e5) of the mean.
        assert!((mean - 3.0).abs() < 0.1 && (square.sqrt() - 3.0).abs() < 0.2, "{mean} {square}");
        assert!((beyond - (-1f64).exp()).abs() < 0.016, "{beyond}");
    }
}
