//! Statistics of a run.

/// The index of fairness of Jain, Chiu, Hawe: "A quantitative measure of fairness", 1984.
pub(super) fn jain(shares: &[f64]) -> f64 {
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    if squares > 0.0 { sum * sum / (shares.len() as f64 * squares) } else { 0.0 }
}

/// The sample below which the share `q` (0 to 1) of all samples lies; 0 if there is none. Sorts them.
pub(super) fn quantile(times: &mut [u64], q: f64) -> u64 {
    times.sort_unstable();
    let at = ((times.len() as f64 * q).ceil() as usize).clamp(1, times.len().max(1)) - 1;
    times.get(at).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_is_jains() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), 1.0);
        assert!((jain(&[1.0, 0.0, 0.0, 0.0]) - 0.25).abs() < 1e-12);
        assert_eq!(jain(&[]), 0.0);
    }

    #[test]
    fn quantiles_are_samples() {
        assert_eq!(quantile(&mut [5, 1, 3], 0.5), 3);
        assert_eq!(quantile(&mut (1..=100).collect::<Vec<_>>(), 0.99), 99);
        assert_eq!(quantile(&mut [], 0.99), 0);
    }
}
