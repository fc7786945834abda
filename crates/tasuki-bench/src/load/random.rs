//! Random times that are the same for the same seed.

/// SplitMix64 (Steele, Lea, Flood 2014).
pub(super) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Uniform in (0, 1].
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        ((z >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Exponentially distributed with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -self.uniform().ln() * mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // An exponential distribution has its mean as standard deviation, and a part 1/e beyond its mean.
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
