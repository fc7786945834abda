//! The controller held against every fixed delay and against a rival, level by level, over several seeds.

use crate::{
    LEVELS, Machine,
    experiment::{By, Outcome, adapting, alternating, fixed, fixed_lengths, mean_and_half},
};
use serde::Serialize;

/// Seconds of a run under a fixed delay.
const FIXED_SECONDS: f64 = 3.0;
/// Seconds that what sets the delay has before they count.
const WARM_SECONDS: f64 = 10.0;
/// Seconds of a run under what sets the delay.
const ADAPTING_SECONDS: f64 = 6.0;
/// Seconds of each of two levels in turn.
const TURN_SECONDS: f64 = 8.0;
/// How often two levels take turns.
const TURNS: usize = 5;
/// Levels that take turns: the outermost, and those next to them.
const PAIRS: [[usize; 2]; 2] = [[0, LEVELS - 1], [1, LEVELS - 2]];

/// What came of a level, or of two in turn.
#[derive(Serialize)]
pub struct Comparison {
    /// Name of the machine.
    pub machine: &'static str,
    /// The level, or the two.
    pub levels: Vec<usize>,
    /// By fixed delay in microseconds: turns of the program per second, mean over the seeds. Of two levels it
    /// is the mean of each level's turns over those of its best fixed delay.
    pub fixed: Vec<(u32, f64)>,
    /// The fixed delay with the most turns, microseconds.
    pub best_us: u32,
    /// Whether that is better than the shortest and than the longest by more than chance (95 %).
    pub between: bool,
    /// By seed: turns under the controller over those under the best fixed delay.
    pub ratios: Vec<f64>,
    /// Mean of `ratios`, and the half of its 95 % confidence interval.
    pub ratio: (f64, f64),
    /// By seed: what came of the controller.
    pub controller: Vec<Outcome>,
    /// Turns under what the kernel has for `adaptive-rx` over those under the best fixed delay: mean, and the
    /// half of its 95 % confidence interval.
    pub dim_ratio: (f64, f64),
    /// By seed: what came of what the kernel has for `adaptive-rx`.
    pub dim: Vec<Outcome>,
}

/// Number of comparisons that [`compare_all`] makes.
pub const COMPARISONS: usize = Machine::ALL.len() * (LEVELS + PAIRS.len());

/// Compares at every level of every machine, and at two levels in turn. `step` is called after each
/// comparison.
pub fn compare_all(seeds: &[u64], mut step: impl FnMut()) -> Vec<Comparison> {
    let mut all = Vec::new();
    for machine in &Machine::ALL {
        let mut best = Vec::new();
        for level in 0..LEVELS {
            let one = one_level(machine, level, seeds);
            best.push(one.fixed.iter().map(|(_, turns)| *turns).fold(0.0, f64::max));
            all.push(one);
            step();
        }
        for pair in PAIRS {
            all.push(two_levels(machine, pair, pair.map(|level| best[level]), seeds));
            step();
        }
    }
    all
}

fn one_level(machine: &Machine, level: usize, seeds: &[u64]) -> Comparison {
    let runs =
        |us: u32| seeds.iter().map(|seed| fixed(machine, level, us, *seed, FIXED_SECONDS).turns).collect();
    let adapt = |by: By| {
        let run = |seed: &u64| adapting(machine, level, by, *seed, WARM_SECONDS, ADAPTING_SECONDS);
        seeds.iter().map(run).collect()
    };
    comparison(machine, vec![level], runs, adapt(By::Controller), adapt(By::Dim))
}

/// Two levels in turn; `best` are the turns per second of the best fixed delay of each.
fn two_levels(machine: &Machine, pair: [usize; 2], best: [f64; 2], seeds: &[u64]) -> Comparison {
    let score = |both: &[Outcome; 2]| (both[0].turns / best[0] + both[1].turns / best[1]) / 2.0;
    let run = |by: By, seed: u64| alternating(machine, pair, by, seed, TURN_SECONDS, TURNS);
    let runs = |us: u32| seeds.iter().map(|seed| score(&run(By::Fixed(us), *seed))).collect();
    let adapt = |by: By| {
        let scored = |both: [Outcome; 2]| Outcome { turns: score(&both), ..mean(&both) };
        seeds.iter().map(|seed| scored(run(by, *seed))).collect()
    };
    comparison(machine, pair.to_vec(), runs, adapt(By::Controller), adapt(By::Dim))
}

/// The mean of two outcomes, without turns, which are scored otherwise.
fn mean([a, b]: &[Outcome; 2]) -> Outcome {
    let half = |a: f64, b: f64| (a + b) / 2.0;
    Outcome {
        turns: 0.0,
        interrupts: half(a.interrupts, b.interrupts),
        busy: half(a.busy, b.busy),
        us: half(a.us, b.us),
        dropped: half(a.dropped, b.dropped),
    }
}

/// `runs` gives the turns of every seed under a fixed delay.
fn comparison(
    machine: &Machine,
    levels: Vec<usize>,
    runs: impl Fn(u32) -> Vec<f64>,
    controller: Vec<Outcome>,
    dim: Vec<Outcome>,
) -> Comparison {
    let all: Vec<(u32, Vec<f64>)> = fixed_lengths(machine).into_iter().map(|us| (us, runs(us))).collect();
    let fixed: Vec<_> = all.iter().map(|(us, turns)| (*us, mean_and_half(turns).0)).collect();
    let best = fixed.iter().enumerate().max_by(|(_, a), (_, b)| a.1.total_cmp(&b.1)).map_or(0, |(at, _)| at);
    let over = |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a / b).collect() };
    let is_better = |other: usize| {
        let (mean, half) = mean_and_half(&over(&all[best].1, &all[other].1));
        mean - half > 1.0
    };
    let of_best = |outcomes: &[Outcome]| {
        let turns: Vec<f64> = outcomes.iter().map(|one| one.turns).collect();
        over(&turns, &all[best].1)
    };
    let ratios = of_best(&controller);
    Comparison {
        machine: machine.name,
        levels,
        best_us: all[best].0,
        between: is_better(0) && is_better(all.len() - 1),
        fixed,
        ratio: mean_and_half(&ratios),
        ratios,
        controller,
        dim_ratio: mean_and_half(&of_best(&dim)),
        dim,
    }
}
