//! Statistics of repeated measurements: quantiles, and ratios of runs that were made in pairs.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The fewest pairs whose ratio is printed: two that agree do so by chance in every second case.
const PAIRS_MIN: usize = 3;
/// A gain or a loss of more than this share is a clear one.
const CLEAR: f64 = 0.05;

/// Median and spread of a set of samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Half of the samples lie below.
    pub median: f64,
    /// A tenth of the samples lies below.
    pub p10: f64,
    /// Nine tenths of the samples lie below.
    pub p90: f64,
}

impl Summary {
    /// The summary of samples; `None` if there are none, or if one is not a finite number.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let sorted = sorted(samples)?;
        let at = |q| quantile(&sorted, q);
        Some(Self { median: at(0.5)?, p10: at(0.1)?, p90: at(0.9)? })
    }
}

/// The median of samples; `None` if there are none, or if one is not a finite number.
pub fn median(samples: &[f64]) -> Option<f64> {
    quantile_of(samples, 0.5)
}

/// The quantile `q` (0 to 1) of samples in any order; `None` if there are none, or if one is not a finite
/// number.
pub fn quantile_of(samples: &[f64], q: f64) -> Option<f64> {
    quantile(&sorted(samples)?, q)
}

/// The quantile `q` (0 to 1) of samples in ascending order, linear between neighbours: type 7 of Hyndman and
/// Fan (1996), the default of R and NumPy.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&q) {
        return None;
    }
    let last = sorted.len().checked_sub(1)?;
    let position = q * last as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    let fraction = position - below as f64;
    Some(sorted[below] + fraction * (sorted[above] - sorted[below]))
}

/// An interval that holds the true median with a known probability, whatever the distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Probability that the interval holds the median of the population (0 to 1). With too few samples it is
    /// below what was asked for: fewer than six cannot give 95 %.
    pub confidence: f64,
}

/// The narrowest interval between two order statistics, symmetric in rank, that holds the median with at
/// least the probability `wanted`. Of n samples exactly k lie below the median with the binomial probability
/// C(n, k) / 2^n. With too few samples it is the whole range.
pub fn median_interval(samples: &[f64], wanted: f64) -> Option<Interval> {
    let sorted = sorted(samples)?;
    let n = sorted.len();
    let last = n.checked_sub(1)?;
    // `tail` is P(at most `cut` samples below the median): the probability that the interval misses the
    // median on one side.
    let mut term = 0.5f64.powi(i32::try_from(n).ok()?);
    let mut tail = term;
    let mut best = Interval { low: sorted[0], high: sorted[last], confidence: 1.0 - 2.0 * tail };
    for cut in 1..n / 2 {
        term *= (n - cut + 1) as f64 / cut as f64;
        tail += term;
        let confidence = 1.0 - 2.0 * tail;
        if confidence < wanted {
            break;
        }
        best = Interval { low: sorted[cut], high: sorted[last - cut], confidence };
    }
    best.confidence = best.confidence.max(0.0);
    Some(best)
}

/// The ratio of two series that were measured in turn (A B A B ...). The drift of the machine, which is often
/// larger than the difference, cancels within each pair.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairedRatio {
    /// Median of the ratios of the pairs.
    pub median: f64,
    /// An interval that holds the true median ratio.
    pub interval: Interval,
    /// Number of pairs.
    pub pairs: usize,
}

impl PairedRatio {
    /// The ratios `numerator[i] / denominator[i]`, with the interval for 95 %. Surplus values of the longer
    /// series are left out. A numerator of 0 is a ratio of 0, as of a stream that brought nothing. `None` if
    /// there is no pair, or if a value is not a finite number, or less than 0, or a denominator is 0.
    pub fn of(numerator: &[f64], denominator: &[f64]) -> Option<Self> {
        let is_ratio = |a: f64, b: f64| a.is_finite() && a >= 0.0 && b.is_finite() && b > 0.0;
        let pairs = numerator.iter().zip(denominator);
        let ratios: Option<Vec<f64>> = pairs.map(|(&a, &b)| is_ratio(a, b).then(|| a / b)).collect();
        let ratios = ratios?;
        let interval = median_interval(&ratios, 0.95)?;
        Some(Self { median: median(&ratios)?, interval, pairs: ratios.len() })
    }

    /// Like [`Self::of`], for values with the numbers of their repetitions: only values of one repetition
    /// make a pair, whatever is missing in one of the series.
    pub fn of_repetitions(numerator: &[(usize, f64)], denominator: &[(usize, f64)]) -> Option<Self> {
        let beside = |repetition| denominator.iter().find(|(other, _)| *other == repetition);
        let pairs = numerator.iter().filter_map(|(repetition, a)| Some((*a, beside(*repetition)?.1)));
        let (numerator, denominator): (Vec<f64>, Vec<f64>) = pairs.unzip();
        Self::of(&numerator, &denominator)
    }

    /// Whether the pairs say too little to print their ratio: there are too few, or their interval holds both
    /// a clear gain and a clear loss.
    pub fn is_undecided(&self) -> bool {
        let Interval { low, high, .. } = self.interval;
        self.pairs < PAIRS_MIN || (low < 1.0 - CLEAR && high > 1.0 + CLEAR)
    }

    /// The ratio without its interval, as `1.85 x`; or that the pairs do not decide it.
    pub fn brief(&self) -> String {
        if self.is_undecided() { "undecided".into() } else { format!("{:.2} x", self.median) }
    }

    /// Whether the interval lies wholly on one side of 1, so that the two series differ.
    pub fn is_decided(&self) -> bool {
        self.interval.confidence >= 0.95 && !(self.interval.low..=self.interval.high).contains(&1.0)
    }
}

/// Like `1.85 x (1.70 to 2.00)`; a `?` says that the interval does not exclude, at 95 %, that the two series
/// are equal. A ratio that is undecided is not printed: `undecided (2 repetitions)`.
impl fmt::Display for PairedRatio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_undecided() {
            let plural = if self.pairs == 1 { "" } else { "s" };
            return write!(f, "undecided ({} repetition{plural})", self.pairs);
        }
        let Interval { low, high, .. } = self.interval;
        let doubt = if self.is_decided() { "" } else { " ?" };
        write!(f, "{:.2} x ({low:.2} to {high:.2}){doubt}", self.median)
    }
}

fn sorted(samples: &[f64]) -> Option<Vec<f64>> {
    if samples.iter().any(|sample| !sample.is_finite()) {
        return None;
    }
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(sorted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-12 * a.abs().max(b.abs())
    }

    // R 4: quantile(c(15, 20, 35, 40, 50), c(.1, .4, .5, .9)) gives 17, 29, 35, 46.
    #[test]
    fn quantiles_are_those_of_r() {
        let samples = [15.0, 20.0, 35.0, 40.0, 50.0];
        for (q, expected) in [(0.0, 15.0), (0.1, 17.0), (0.4, 29.0), (0.5, 35.0), (0.9, 46.0), (1.0, 50.0)] {
            let value = quantile(&samples, q).unwrap_or(f64::NAN);
            assert!(close(value, expected), "{q}: {value}, should be {expected}");
        }
        let summary = Summary::of(&[50.0, 15.0, 40.0, 20.0, 35.0]);
        let summary = summary.unwrap_or(Summary { median: 0.0, p10: 0.0, p90: 0.0 });
        assert!(close(summary.median, 35.0) && close(summary.p10, 17.0) && close(summary.p90, 46.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&[7.0]), Some(7.0));
    }

    #[test]
    fn nonsense_gives_none() {
        assert_eq!(median(&[]), None);
        assert_eq!(Summary::of(&[1.0, f64::NAN]), None);
        assert_eq!(quantile(&[1.0], 1.5), None);
        assert_eq!(median_interval(&[], 0.95), None);
        assert_eq!(PairedRatio::of(&[], &[]), None);
        assert_eq!(PairedRatio::of(&[1.0], &[0.0]), None);
        assert_eq!(PairedRatio::of(&[f64::INFINITY], &[1.0]), None);
        assert_eq!(PairedRatio::of(&[-1.0], &[1.0]), None);
    }

    // Of six pairs the interval for 95 % is from the least to the greatest.
    #[test]
    fn a_repetition_that_brought_nothing_counts_as_the_worst() {
        let Some(ratio) = PairedRatio::of(&[2.0, 2.0, 0.0, 2.0, 2.0, 2.0], &[1.0; 6]) else { panic!("none") };
        assert_eq!((ratio.median, ratio.interval.low, ratio.interval.high), (2.0, 0.0, 2.0));
        assert_eq!(ratio.pairs, 6);
    }

    // A machine that becomes twice as fast from each repetition to the next.
    #[test]
    fn only_values_of_one_repetition_make_a_pair() {
        let all: Vec<(usize, f64)> =
            (1..=8).map(|repetition| (repetition, f64::from(1 << repetition))).collect();
        let own: Vec<_> =
            all.iter().filter(|(at, _)| *at != 2).map(|(at, value)| (*at, value * 1.5)).collect();
        for (a, b, median) in [(&own, &all, 1.5), (&all, &own, 1.0 / 1.5)] {
            let Some(ratio) = PairedRatio::of_repetitions(a, b) else { panic!("none") };
            assert!(close(ratio.median, median) && close(ratio.interval.low, median), "{ratio:?}");
            assert_eq!(ratio.pairs, 7);
        }
    }

    // The table of order-statistic intervals for the median in Conover, Practical Nonparametric Statistics,
    // has n = 6: (x1, x6) 96.88 %; n = 10: (x2, x9) 97.85 %; n = 15: (x4, x12) 96.48 %; n = 20: (x6, x15)
    // 95.86 %.
    #[test]
    fn intervals_are_those_of_the_binomial_table() {
        for (n, rank, confidence) in
            [(5, 1, 0.9375), (6, 1, 0.96875), (10, 2, 0.9785), (15, 4, 0.9648), (20, 6, 0.9586)]
        {
            let samples: Vec<f64> = (1..=n).rev().map(f64::from).collect();
            let Some(interval) = median_interval(&samples, 0.95) else { panic!("none for {n}") };
            assert_eq!(interval.low, f64::from(rank), "n = {n}");
            assert_eq!(interval.high, f64::from(n + 1 - rank), "n = {n}");
            assert!((interval.confidence - confidence).abs() < 5e-5, "n = {n}: {}", interval.confidence);
        }
        let Some(one) = median_interval(&[3.0], 0.95) else { panic!("none") };
        assert_eq!((one.low, one.high, one.confidence), (3.0, 3.0, 0.0));
    }

    // A run on a busy machine printed the figures of the first case as `18.88 x (0.05 to 37.71)`.
    #[test]
    fn a_ratio_is_printed_only_where_the_pairs_decide_it() {
        let words = |ratios: &[f64]| {
            let ratio = PairedRatio::of(ratios, &vec![1.0; ratios.len()]).expect("a ratio");
            (ratio.to_string(), ratio.brief())
        };
        let pair = |long: &str, short: &str| (long.to_owned(), short.to_owned());
        assert_eq!(words(&[0.05, 37.71]), pair("undecided (2 repetitions)", "undecided"));
        assert_eq!(words(&[0.05, 37.71, 18.0]), pair("undecided (3 repetitions)", "undecided"));
        assert_eq!(words(&[2.0]), pair("undecided (1 repetition)", "undecided"));
        assert_eq!(words(&[1.7, 2.0, 1.85]), pair("1.85 x (1.70 to 2.00) ?", "1.85 x"));
        assert_eq!(words(&[0.99, 1.01, 1.0]), pair("1.00 x (0.99 to 1.01) ?", "1.00 x"));
        assert_eq!(words(&[0.99, 1.5, 1.4]), pair("1.40 x (0.99 to 1.50) ?", "1.40 x"));
        assert_eq!(words(&[2.0; 6]), pair("2.00 x (2.00 to 2.00)", "2.00 x"));
    }

    // A machine that drifts by 3 x during the run, and one stack that is always 0.8 times the other: the
    // pooled samples overlap widely, the pairs show it exactly.
    #[test]
    fn pairs_cancel_drift() {
        let slow: Vec<f64> = (0..8).map(|i| 10.0 * (1.0 + f64::from(i) / 4.0)).collect();
        let fast: Vec<f64> = slow.iter().map(|value| value * 0.8).collect();
        let Some(ratio) = PairedRatio::of(&fast, &slow) else { panic!("none") };
        assert!(
            close(ratio.median, 0.8) && close(ratio.interval.low, 0.8) && close(ratio.interval.high, 0.8)
        );
        assert!(ratio.is_decided() && ratio.pairs == 8);
        let Some(few) = PairedRatio::of(&fast[..3], &slow[..3]) else { panic!("none") };
        assert!(!few.is_decided(), "three pairs cannot decide at 95 %");
    }
}
