//! R as it was measured: not a number but a distribution (section 3.3 and figure 4 of the paper).

use serde::{Deserialize, Serialize};

/// What was measured of something that varies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Number of samples.
    pub count: usize,
    /// Mean of the samples: what the paper takes as R.
    pub mean: f64,
    /// Standard deviation; 0 of a single sample.
    pub deviation: f64,
    /// The smallest sample.
    pub least: f64,
    /// The largest sample.
    pub most: f64,
    /// Samples in bins of equal width, from the least to the most; the last bin holds its upper end, too.
    pub bins: Vec<Bin>,
}

/// One bar of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// Its lower end.
    pub from: f64,
    /// Its upper end.
    pub to: f64,
    /// Number of samples in it.
    pub count: usize,
}

impl Distribution {
    /// The distribution of some samples in at most `bins` bins (as many as are needed if all samples are the
    /// same). `None` without samples, or if one is not finite.
    pub fn of(samples: &[f64], bins: usize) -> Option<Self> {
        if samples.is_empty() || samples.iter().any(|sample| !sample.is_finite()) {
            return None;
        }
        let count = samples.len() as f64;
        let mean = samples.iter().sum::<f64>() / count;
        let squares: f64 = samples.iter().map(|sample| (sample - mean).powi(2)).sum();
        let least = samples.iter().copied().fold(f64::INFINITY, f64::min);
        let most = samples.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let bins = if most > least { bins.max(1) } else { 1 };
        let width = (most - least) / bins as f64;
        let edge = |at: usize| if at == bins { most } else { least + width * at as f64 };
        let mut bars: Vec<Bin> =
            (0..bins).map(|at| Bin { from: edge(at), to: edge(at + 1), count: 0 }).collect();
        for sample in samples {
            let at = if width > 0.0 { ((sample - least) / width) as usize } else { 0 };
            bars[at.min(bins - 1)].count += 1;
        }
        let deviation = (squares / (count - 1.0).max(1.0)).sqrt();
        Some(Self { count: samples.len(), mean, deviation, least, most, bins: bars })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_counts_every_sample_once() {
        let of = |samples: &[f64]| Distribution::of(samples, 4).unwrap();
        // Known values: the deviation of 2, 4, 4, 4, 5, 5, 7, 9 about their mean 5 is sqrt(32 / 7).
        let known = of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!((known.mean, known.least, known.most), (5.0, 2.0, 9.0));
        assert!((known.deviation - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
        let counts: Vec<usize> = known.bins.iter().map(|bin| bin.count).collect();
        assert_eq!(counts, [1, 5, 1, 1], "edges at 3.75, 5.5, 7.25");
        assert_eq!((known.bins[0].from, known.bins[3].to), (2.0, 9.0));
        let one = of(&[3.0, 3.0]);
        assert_eq!((one.bins.len(), one.bins[0].count, one.deviation), (1, 2, 0.0));
    }

    #[test]
    fn nothing_and_nonsense_have_none() {
        for samples in [&[][..], &[1.0, f64::NAN], &[f64::INFINITY]] {
            assert_eq!(Distribution::of(samples, 4), None);
        }
    }
}
