//! What tells two lengths apart.
//!
//! Differences are logarithms of ratios: of what was seen under a length that was tried ("away") to what was
//! seen under the length that is held for best ("home").

use super::QUIET;
use crate::Sample;

/// Share by which counts or times must differ to differ at all: 1 %.
const NOTICEABLE: f64 = 0.01;
/// Share of programs' time below which parts of it say nothing: what is known by samples differs by some
/// hundredths of a period.
const USER_FLOOR: f64 = 0.05;
/// Difference of programs' time that counts in a survey.
const SURVEYED_USE: f64 = 0.15;
/// Loss that is taken for none if it is not certain.
pub(super) const TOLERATED: f64 = 0.02;

/// From when on a difference of counts is believed.
#[derive(Clone, Copy)]
pub(super) struct Belief {
    /// It must be larger than this logarithm.
    part: f64,
    /// It must be larger than so many standard deviations of packets at random.
    deviations: f64,
}

/// In a survey, whose choice is only where trials begin. Programs ask more regularly than at random.
pub(super) const LIKELY: Belief = Belief { part: NOTICEABLE, deviations: 1.0 };
/// In a trial.
const SIGNIFICANT: Belief = Belief { part: NOTICEABLE, deviations: 2.0 };
/// So plain that the comparison need not be made again.
const PLAIN: Belief = Belief { part: 0.15, deviations: 4.0 };

/// The difference of two values; 0 if both are 0.
pub(super) fn part(away: f64, home: f64) -> f64 {
    ((away + 1e-6) / (home + 1e-6)).ln()
}

/// The difference of packets sent; 0 if there are so few that chance alone makes them differ.
pub(super) fn part_sent(home: &Sample, away: &Sample) -> f64 {
    match away.sent_rate().max(home.sent_rate()) >= QUIET {
        true => part(away.sent_rate(), home.sent_rate()),
        false => 0.0,
    }
}

/// The difference by which away was better than home, by one period of each; `None`: none, or not known.
/// Counts of packets go first. `surely`: only a plain difference will do, and none of programs' time, which
/// most kernels know by samples.
pub(super) fn difference(home: &Sample, away: &Sample, surely: bool) -> Option<f64> {
    match counted(home, away, SIGNIFICANT) {
        Some(count) => (!surely || count.is_believed(PLAIN)).then_some(count.part),
        None => Some(part_user(home, away)).filter(|part| !surely && part.abs() > SURVEYED_USE),
    }
}

/// A difference of packets that were counted.
#[derive(Clone, Copy)]
pub(super) struct Count {
    /// The difference.
    pub part: f64,
    /// Standard deviation of the difference if packets come at random.
    deviation: f64,
}

impl Count {
    fn is_believed(&self, belief: Belief) -> bool {
        self.part.abs() > belief.part.max(belief.deviations * self.deviation)
    }
}

/// The first count that differs: packets sent, then packets received.
pub(super) fn counted(home: &Sample, away: &Sample, belief: Belief) -> Option<Count> {
    let deviation = |a: f64, b: f64| (1.0 / a.max(1.0) + 1.0 / b.max(1.0)).sqrt();
    let sent = Count { part: part_sent(home, away), deviation: deviation(home.sent, away.sent) };
    let came = Count {
        part: part(away.packet_rate(), home.packet_rate()),
        deviation: deviation(home.packets, away.packets),
    };
    [sent, came].into_iter().find(|count| count.is_believed(belief))
}

/// The difference of programs' time.
pub(super) fn part_user(home: &Sample, away: &Sample) -> f64 {
    part(away.user + USER_FLOOR, home.user + USER_FLOOR)
}

/// The difference by which away was better than home, by several periods of each; `None`: none, or not
/// certain. Each round has the differences of packets sent, of packets received and of programs' time.
pub(super) fn decided(rounds: &[[f64; 3]]) -> Option<f64> {
    [0, 1, 2].into_iter().find_map(|which| {
        let values: Vec<f64> = rounds.iter().map(|round| round[which]).collect();
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        // Student's t for 95 % on both sides, for 1, 2 and 3 degrees of freedom.
        let t = [12.7, 4.3, 3.18][(rounds.len() - 2).min(2)];
        (mean.abs() > NOTICEABLE && mean.abs() > t * (variance / count).sqrt()).then_some(mean)
    })
}

/// The mean difference over several rounds, certain or not, of what counts first and is not next to nothing.
pub(super) fn leaning(rounds: &[[f64; 3]]) -> f64 {
    let mean =
        |which: usize| rounds.iter().map(|round| round[which]).sum::<f64>() / rounds.len().max(1) as f64;
    [0, 1, 2].map(mean).into_iter().find(|mean| mean.abs() > TOLERATED).unwrap_or_default()
}
