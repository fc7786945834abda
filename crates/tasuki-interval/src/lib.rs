//! When a checkpoint is worth its cost: the time between checkpoints that costs least, from what one costs
//! and how often the machine fails. Programs that save their own state and jobs that are saved as they are
//! ask the same question. Nothing here reads a clock or performs IO.
#![forbid(unsafe_code)]

use std::time::Duration;

/// How long all hosts of a program together run from one failure to the next, on the average, where nobody
/// says it.
pub const FAILURES: Duration = Duration::from_secs(86_400);

/// The time between checkpoints that costs a program least, if one takes `cost` and the machine fails every
/// `failures` on the average, at random moments. J. T. Daly, "A higher order estimate of the optimum
/// checkpoint interval for restart dumps", 2006, equation 37. Its first term is that of J. W. Young, "A first
/// order approximation to the optimum checkpoint interval", 1974.
pub fn interval(cost: Duration, failures: Duration) -> Duration {
    let (cost, failures) = (cost.as_secs_f64(), failures.as_secs_f64());
    if cost >= 2.0 * failures {
        return Duration::from_secs_f64(failures);
    }
    let share = cost / (2.0 * failures);
    let best = (2.0 * cost * failures).sqrt() * (1.0 + share.sqrt() / 3.0 + share / 9.0) - cost;
    Duration::from_secs_f64(best.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(cost: f64, failures: f64) -> f64 {
        interval(Duration::from_secs_f64(cost), Duration::from_secs_f64(failures)).as_secs_f64()
    }

    /// The time that a program takes for each second of work, if it saves every `interval` seconds of it and
    /// failures come at random: Daly's equation 20, which is exact.
    fn stretch(interval: f64, cost: f64, failures: f64) -> f64 {
        failures * ((interval + cost) / failures).exp_m1() / interval
    }

    #[test]
    fn no_other_interval_costs_noticeably_less() {
        for cost in [0.01, 1.0, 30.0, 300.0, 3_600.0] {
            for failures in [3_600.0, 86_400.0, 2_592_000.0_f64] {
                let of = |seconds| stretch(seconds, cost, failures);
                let best =
                    (1..4_000).map(|i| of(failures * 1.01_f64.powi(i - 3_000))).fold(f64::MAX, f64::min);
                let ours = of(seconds(cost, failures));
                assert!(ours <= best * 1.002, "cost {cost} s, failures {failures} s: {ours} and {best}");
            }
        }
        assert_eq!(interval(Duration::ZERO, FAILURES), Duration::ZERO);
        assert_eq!(interval(Duration::from_secs(100), Duration::from_secs(10)), Duration::from_secs(10));
    }

    /// Cost, time between failures and best interval, seconds: where the derivative of the exact time is 0,
    /// `exp((t + cost) / failures) * (1 - t / failures) = 1`, found by bisection with numbers of 50 digits.
    const BEST: [(f64, f64, f64); 5] = [
        (0.2, 86_400.0, 185.7699),
        (1.0, 86_400.0, 415.0258),
        (60.0, 86_400.0, 3_180.062_7),
        (300.0, 21_600.0, 3_402.840_1),
        (600.0, 604_800.0, 26_541.426_8),
    ];

    #[test]
    fn the_interval_is_that_of_the_papers() {
        for (cost, failures, best) in BEST {
            let ours = seconds(cost, failures);
            assert!((ours / best - 1.0).abs() < 1e-4, "cost {cost} s, failures {failures} s: {ours}, {best}");
            // Young's estimate counts the checkpoint to the interval, and is right where that is short.
            let young = (2.0 * cost * failures).sqrt();
            assert!(((ours + cost) / young - 1.0).abs() < 0.03, "{ours} and {young}");
        }
    }
}
