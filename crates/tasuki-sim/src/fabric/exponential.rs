//! Times between random arrivals.

use crate::Rng;

/// A number from the exponential distribution of the given mean, by comparisons of random numbers only (von
/// Neumann, "Various techniques used in connection with random digits", 1951). It needs no logarithm, so it
/// is the same on every machine.
pub fn exponential(rng: &mut Rng, mean: u64) -> u64 {
    let mut whole: u64 = 0;
    loop {
        let first = rng.next_u64();
        let (mut last, mut length) = (first, 1);
        loop {
            let next = rng.next_u64();
            if next >= last {
                break;
            }
            (last, length) = (next, length + 1);
        }
        // A falling run has odd length with the density of the fraction wanted; the number of failures before
        // it is the whole part.
        if length % 2 == 1 {
            let part = ((u128::from(first) * u128::from(mean)) >> 64) as u64;
            return whole.saturating_mul(mean).saturating_add(part);
        }
        whole += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean, variance and the share above the mean are those of the exponential distribution: 1, 1 and 1/e.
    #[test]
    fn is_exponential() {
        let (mut rng, mean, n) = (Rng::new(1), 1_000_000u64, 200_000);
        let all: Vec<f64> = (0..n).map(|_| exponential(&mut rng, mean) as f64 / mean as f64).collect();
        let average = all.iter().sum::<f64>() / n as f64;
        let variance = all.iter().map(|x| (x - average).powi(2)).sum::<f64>() / n as f64;
        let above = all.iter().filter(|x| **x > 1.0).count() as f64 / n as f64;
        assert!((average - 1.0).abs() < 0.01, "{average}");
        assert!((variance - 1.0).abs() < 0.03, "{variance}");
        assert!((above - (-1f64).exp()).abs() < 0.005, "{above}");
    }
}
