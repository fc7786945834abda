//! `tasuki tune simulate`: the controller against every fixed delay, and against what the kernel has for `adaptive-rx`.

use crate::{
    args::TuneSimulate,
    failure::Failure,
    terminal::{percent_bar, print_json, table},
};
use serde::Serialize;
use std::process::ExitCode;
use tasuki_tune::{
    LEVELS, Machine,
    experiment::{By, Outcome, adapting, alternating, fixed, fixed_lengths, mean_and_half},
};

/// Seconds of a fixed delay, and of the controller before it counts and then.
const SECONDS: [f64; 3] = [3.0, 10.0, 6.0];
/// Two levels in turn: seconds of each, and how often.
const TURNS: (f64, usize) = (8.0, 5);
const PAIRS: [[usize; 2]; 2] = [[0, LEVELS - 1], [1, LEVELS - 2]];

/// A line: a level, or two in turn.
#[derive(Serialize)]
struct Row {
    machine: &'static str,
    levels: Vec<usize>,
    /// Turns per second (two levels: the mean of each over that of its best fixed delay), mean over the seeds, by fixed delay in microseconds.
    fixed: Vec<(u32, f64)>,
    best_us: u32,
    /// Better than both extremes, by more than chance (95 %).
    between: bool,
    /// The controller over the best fixed delay, by seed; mean and half of its 95 % confidence interval.
    ratios: Vec<f64>,
    ratio: (f64, f64),
    controller: Vec<Outcome>,
    /// The same of what the kernel has for `adaptive-rx`.
    dim_ratio: (f64, f64),
    dim: Vec<Outcome>,
}

/// Runs the command.
pub fn run(arguments: &TuneSimulate) -> Result<ExitCode, Failure> {
    let seeds: Vec<u64> = (arguments.seed..).take(arguments.runs as usize).collect();
    let bar = percent_bar((Machine::ALL.len() * (LEVELS + PAIRS.len())) as u64);
    let mut rows = Vec::new();
    for machine in &Machine::ALL {
        let mut best = Vec::new();
        for level in 0..LEVELS {
            let runs = |us: u32| {
                seeds.iter().map(|seed| fixed(machine, level, us, *seed, SECONDS[0]).turns).collect()
            };
            let adapt = |by: By| {
                let run = |seed: &u64| adapting(machine, level, by, *seed, SECONDS[1], SECONDS[2]);
                seeds.iter().map(run).collect()
            };
            let row = row(machine, vec![level], runs, adapt(By::Controller), adapt(By::Dim));
            best.push(row.fixed.iter().map(|(_, turns)| *turns).fold(0.0, f64::max));
            rows.push(row);
            bar.inc(1);
        }
        for pair in PAIRS {
            let score =
                |both: &[Outcome; 2]| (both[0].turns / best[pair[0]] + both[1].turns / best[pair[1]]) / 2.0;
            let run = |by: By, seed: u64| alternating(machine, pair, by, seed, TURNS.0, TURNS.1);
            let runs = |us: u32| seeds.iter().map(|seed| score(&run(By::Fixed(us), *seed))).collect();
            let adapt = |by: By| {
                let scored = |both: [Outcome; 2]| Outcome { turns: score(&both), ..mean(&both) };
                seeds.iter().map(|seed| scored(run(by, *seed))).collect()
            };
            rows.push(row(machine, pair.to_vec(), runs, adapt(By::Controller), adapt(By::Dim)));
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    if arguments.json {
        print_json(&rows)?;
    } else {
        print(&rows);
    }
    Ok(ExitCode::SUCCESS)
}

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

fn row(
    machine: &Machine,
    levels: Vec<usize>,
    runs: impl Fn(u32) -> Vec<f64>,
    controller: Vec<Outcome>,
    dim: Vec<Outcome>,
) -> Row {
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
    Row {
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

fn print(rows: &[Row]) {
    for machine in &Machine::ALL {
        println!(
            "{}: interrupt {:.1} us, packet {:.1} us, round trip {:.0} us",
            machine.name,
            machine.costs.interrupt_ns / 1e3,
            machine.costs.packet_ns / 1e3,
            machine.round_trip_ns / 1e3
        );
        println!("  {}", machine.source);
        let mut out = table([
            "level",
            "best fixed",
            "off",
            "longest",
            "controller",
            "of the best",
            "interrupts/s",
            "busy",
            "adaptive-rx",
            "of the best",
        ]);
        for row in rows.iter().filter(|row| row.machine == machine.name) {
            let levels: Vec<_> = row.levels.iter().map(usize::to_string).collect();
            let best = row.fixed.iter().map(|(_, turns)| *turns).fold(0.0, f64::max);
            let part = |end: Option<&(u32, f64)>| {
                end.map_or(String::new(), |(_, turns)| format!("{:.3}", turns / best))
            };
            let mean_of = |outcomes: &[Outcome], of: &dyn Fn(&Outcome) -> f64| {
                outcomes.iter().map(of).sum::<f64>() / outcomes.len().max(1) as f64
            };
            let mean = |of: &dyn Fn(&Outcome) -> f64| mean_of(&row.controller, of);
            out.add_row([
                levels.join(" and "),
                format!("{} us{}", row.best_us, if row.between { " (between)" } else { "" }),
                part(row.fixed.first()),
                part(row.fixed.last()),
                format!("{:.0} us", mean(&|one| one.us)),
                format!("{:.3} +- {:.3}", row.ratio.0, row.ratio.1),
                format!("{:.0}", mean(&|one| one.interrupts)),
                format!("{:.0} %", mean(&|one| one.busy) * 100.0),
                format!("{:.0} us", mean_of(&row.dim, &|one| one.us)),
                format!("{:.3} +- {:.3}", row.dim_ratio.0, row.dim_ratio.1),
            ]);
        }
        println!("{out}\n");
    }
}
