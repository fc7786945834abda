//! `tasuki bench tune`: the interrupt delay's controller against every fixed delay, at eight levels of load and at two in turn, with real parts.

mod field;
pub mod follow;
mod report;
mod watch;

use super::{
    results::give,
    turns::{in_turn, interruption},
};
use crate::{
    args::{BenchTune, TimerArg},
    failure::Failure,
};
use field::Field;
use report::{Report, Row, Run};
use std::{
    process::ExitCode,
    sync::{Arc, atomic::Ordering},
};
use tasuki_bench::{
    Machine,
    load::{Done, Load, Phase, Timer},
};
use tasuki_host::Delay;
use tasuki_tune::{Costs, LEVELS, Lengths, level};

/// Pairs that take turns if nothing else is wanted.
const PAIRS: [[usize; 2]; 2] = [[0, LEVELS - 1], [1, LEVELS - 2]];
/// Time before a fixed delay counts, seconds.
const WARM: f64 = 0.15;
/// How often two levels take turns under the controller.
const TURNS: usize = 4;
/// The controller counts for so many times the time of a fixed delay.
const LONGER: f64 = 4.0;

/// Runs the command.
pub fn run(arguments: &BenchTune) -> Result<ExitCode, Failure> {
    let delays = check(arguments)?;
    let interrupted = interruption()?;
    let timer = timer(arguments.timer);
    let field = Field::new(timer, Arc::clone(&interrupted))?;
    let (levels, pairs) = wanted(arguments);
    let rows = levels.into_iter().map(|level| vec![level]).chain(pairs.into_iter().map(|pair| pair.to_vec()));
    let mut rows: Vec<Row> = rows.map(|levels| Row::new(levels, &delays)).collect();
    let mut failures = Vec::new();
    let step = |row: &mut Row, repetition: usize| {
        let measured = measure(arguments, &field, row, repetition as u64);
        // One that Ctrl-C has ended is no failure.
        if let (Err(failure), false) = (measured, interrupted.load(Ordering::Relaxed)) {
            failures.push(format!("{}, repetition {repetition}: {}", row.name(), failure.message));
        }
    };
    in_turn("tune", &interrupted, arguments.repetitions, &mut rows, Row::name, step);
    let machine = Machine::here();
    let report = Report { machine, timer, rows, failures, interrupted: interrupted.load(Ordering::Relaxed) };
    give(&arguments.results, "tune", &report.text(), &report.json()?, || Ok(Vec::new()))?;
    Ok(if report.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn timer(argument: TimerArg) -> Timer {
    match argument {
        TimerArg::Kernel => Timer::Kernel,
        TimerArg::Nic => Timer::Nic,
    }
}

/// The delays, microseconds: those that the controller chooses from.
fn check(arguments: &BenchTune) -> Result<Vec<u32>, Failure> {
    let bad = |text: &str| Err(Failure::new(text));
    let time = |seconds: f64| (0.1..=600.0).contains(&seconds);
    let Delay::Fixed(most) = arguments.most else { return bad("--most is a time") };
    match arguments {
        BenchTune { repetitions: 0, .. } => bad("--repetitions 0: nothing would be measured"),
        _ if !time(arguments.seconds) => bad("--seconds: 0.1 to 600"),
        _ if !time(arguments.settle) => bad("--settle: 0.1 to 600"),
        _ => {
            let lengths = Lengths::new(0, 10, most)?;
            Ok((0..lengths.len()).map(|number| lengths.at(number)).collect())
        }
    }
}

fn wanted(arguments: &BenchTune) -> (Vec<usize>, Vec<[usize; 2]>) {
    if arguments.level.is_empty() && arguments.pair.is_empty() {
        return ((0..LEVELS).collect(), PAIRS.to_vec());
    }
    let levels = arguments.level.iter().map(|level| *level as usize);
    (levels.collect(), arguments.pair.iter().map(|pair| pair.0).collect())
}

/// The emulated NIC as a machine of the model, by a first look at it: a program that only waits has 17,302 answers a second, and a stream of 83,052
/// packets a second takes 59 % of a processor without a delay (once, on the machine of `PRESENT`). Of the costs only the sum counts here.
const NIC: tasuki_tune::Machine = tasuki_tune::Machine {
    name: "nic",
    source: "`tasuki bench tune --timer nic --level 0,7`, with the levels of `present`",
    costs: Costs { interrupt_ns: 5_800.0, packet_ns: 1_300.0 },
    round_trip_ns: 57_800.0,
    bounds_us: [0, 10, 1000],
};

/// A level of the model, with the numbers of what it is measured on.
fn load(number: usize, timer: Timer) -> Load {
    let machine = match timer {
        Timer::Kernel => tasuki_tune::Machine::PRESENT,
        Timer::Nic => NIC,
    };
    let tasuki_tune::Load { compute_ns, waits, stream_rate, .. } = level(&machine, number);
    Load { compute_ns, waits, stream_rate }
}

/// One repetition: every fixed delay, then the controller. Fixed delays have nothing to adapt to, so that their turns can be short.
fn measure(arguments: &BenchTune, field: &Field, row: &mut Row, repetition: u64) -> Result<(), Failure> {
    let loads: Vec<Load> = row.levels.iter().map(|level| load(*level, timer(arguments.timer))).collect();
    let fixed = |us: &u32| {
        let phase = |load: &Load| Phase {
            load: *load,
            delay_us: Some(*us),
            warm_s: WARM,
            seconds: arguments.seconds,
        };
        loads.iter().map(phase).collect::<Vec<_>>()
    };
    // Each repetition begins elsewhere, so that what drifts meets every delay.
    let mut delays: Vec<u32> = row.delays().collect();
    let first = repetition as usize % delays.len().max(1);
    delays.rotate_left(first);
    let done = field.run(delays.iter().flat_map(fixed).collect(), repetition)?;
    let tuned = |load: &Load, warm_s, seconds| Phase { load: *load, delay_us: None, warm_s, seconds };
    let phases = match loads[..] {
        [load] => vec![tuned(&load, arguments.settle, LONGER * arguments.seconds)],
        // All of it counts, the first steps of the controller, too.
        _ => (0..TURNS).flat_map(|_| loads.iter().map(|load| tuned(load, 0.0, arguments.settle))).collect(),
    };
    let most_us = row.delays().last().unwrap_or(0);
    let tuned = field.run_tuned(phases, repetition, most_us)?;
    let outcome = |done: &Done, us: f64| Run::new(done, field.polling().between(done.window_ns), us);
    for (us, done) in delays.iter().zip(done.chunks(loads.len())) {
        row.add_fixed(*us, done.iter().map(|done| outcome(done, f64::from(*us))).collect());
    }
    let runs = tuned.done.iter().map(|(done, us)| outcome(done, *us)).collect();
    row.add_controlled(runs, tuned.log);
    Ok(())
}
