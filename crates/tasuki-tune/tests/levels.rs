//! The controller against an oracle that knows every level beforehand and tries all fixed lengths.

use tasuki_testkit::replay::Replay;
use tasuki_tune::{
    LEVELS, Machine,
    experiment::{By, adapting, alternating, fixed, fixed_lengths, mean_and_half},
};

const REPLAY: Replay = Replay {
    variable: "TASUKI_SEED",
    command: "cargo test --release -p tasuki-tune --test levels -- --nocapture",
};

/// As many seeds, from the one that the environment names, or from 1.
fn seeds(count: u64) -> Vec<u64> {
    let first = REPLAY.one(|| 1);
    (first..first + count).collect()
}

fn turns(machine: &Machine, level: usize, us: u32, seeds: &[u64], seconds: f64) -> Vec<f64> {
    seeds.iter().map(|seed| fixed(machine, level, us, *seed, seconds).turns).collect()
}

/// Every length at a level: its number of turns by seed, best first.
fn ranked(machine: &Machine, level: usize, seeds: &[u64], seconds: f64) -> Vec<(u32, Vec<f64>)> {
    let mut all: Vec<_> =
        fixed_lengths(machine).iter().map(|us| (*us, turns(machine, level, *us, seeds, seconds))).collect();
    all.sort_by(|(_, a), (_, b)| mean_and_half(b).0.total_cmp(&mean_and_half(a).0));
    all
}

fn ratios(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a / b).collect()
}

#[test]
fn within_a_tenth_of_the_best_fixed_length_at_every_level() {
    let seeds = seeds(5);
    for machine in Machine::ALL {
        let mut between = 0;
        for level in 0..LEVELS {
            let ranked = ranked(&machine, level, &seeds, 3.0);
            let (best, best_turns) = &ranked[0];
            let at = |us: u32| &ranked.iter().find(|(length, _)| *length == us).expect("a length").1;
            // Whether the best length is better than either extreme by more than chance.
            let is_between = [0, machine.bounds_us[2]].iter().all(|end| {
                let (mean, half) = mean_and_half(&ratios(best_turns, at(*end)));
                mean - half > 1.0
            });
            between += usize::from(is_between);
            let runs: Vec<_> = seeds
                .iter()
                .map(|seed| adapting(&machine, level, By::Controller, *seed, 10.0, 6.0))
                .collect();
            let own: Vec<f64> = runs.iter().map(|run| run.turns).collect();
            let (mean, half) = mean_and_half(&ratios(&own, best_turns));
            let run = runs[0];
            eprintln!(
                "{} level {level}: best fixed {best} us{}, controller {:.0} us on average: {mean:.3} +- \
                 {half:.3} of it; {:.0} interrupts/s, {:.0} % busy",
                machine.name,
                if is_between { " (between)" } else { "" },
                run.us,
                run.interrupts,
                run.busy * 100.0,
            );
            assert!(
                mean - half >= 0.9,
                "{} level {level}: {mean} +- {half} of the best fixed length",
                machine.name
            );
            assert!(runs.iter().all(|run| run.dropped < 0.01), "{runs:?}");
        }
        assert!(
            between >= 3,
            "{}: only {between} levels have their best length between the extremes",
            machine.name
        );
    }
}

#[test]
fn better_than_any_fixed_length_when_the_load_alternates() {
    let seeds = seeds(4);
    let (turn, times) = (8.0, 5);
    for machine in Machine::ALL {
        for levels in [[0, LEVELS - 1], [1, LEVELS - 2]] {
            // A level's turns count as a share of those under its best fixed length. A fixed length has
            // nothing to adapt to, so that its turns at two levels in turn are its turns at each level alone.
            let alone = levels.map(|level| ranked(&machine, level, &seeds, 3.0));
            let best = [0, 1].map(|which| mean_and_half(&alone[which][0].1).0);
            let both = |turns: [f64; 2]| (turns[0] / best[0] + turns[1] / best[1]) / 2.0;
            let one = |seed: &u64| {
                both(alternating(&machine, levels, By::Controller, *seed, turn, times).map(|one| one.turns))
            };
            let own: Vec<f64> = seeds.iter().map(one).collect();
            let fixed = alone[0].iter().map(|(us, first)| {
                let second = &alone[1].iter().find(|(length, _)| length == us).expect("the same lengths").1;
                let scores = first.iter().zip(second).map(|(first, second)| both([*first, *second]));
                (*us, scores.collect::<Vec<f64>>())
            });
            let mut fixed: Vec<_> = fixed.collect();
            fixed.sort_by(|(_, a), (_, b)| mean_and_half(b).0.total_cmp(&mean_and_half(a).0));
            let (us, score) = &fixed[0];
            let (mean, half) = mean_and_half(&ratios(&own, score));
            eprintln!(
                "{} levels {levels:?} in turn: best fixed {us} us {:.3}, controller {:.3}: {mean:.3} +- \
                 {half:.3}",
                machine.name,
                mean_and_half(score).0,
                mean_and_half(&own).0
            );
            assert!(mean - half > 1.0, "{} {levels:?}: {mean} +- {half} of {us} us", machine.name);
        }
    }
}
