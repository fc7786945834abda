//! Runs of the model: at a level of load, or at two in turn, under a fixed delay, under the controller or
//! under its rival.

use crate::{Controller, Dim, Lengths, Load, Machine, Model, dim::EVENTS, level};
use serde::Serialize;

/// Fixed lengths that the controller is held against, microseconds: off, and from its first step to its
/// longest by factors of the square root of two, twice as many as its own.
pub fn fixed_lengths(machine: &Machine) -> Vec<u32> {
    let [least, step, most] = machine.bounds_us;
    let number = |n: u32| (f64::from(step) * 2f64.powf(f64::from(n) / 2.0)).round() as u32;
    [least].into_iter().chain((0..).map(number).take_while(|us| *us <= most)).collect()
}

/// Length of a period of the controller, seconds.
pub const PERIOD: f64 = 0.1;

/// What came of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Outcome {
    /// Turns of the program per second: its processor time over what a turn takes on average.
    pub turns: f64,
    /// Interrupts per second.
    pub interrupts: f64,
    /// Part of the processor's time that was not idle.
    pub busy: f64,
    /// Mean length in force, microseconds.
    pub us: f64,
    /// Part of the packets that found no room.
    pub dropped: f64,
}

fn outcome(machine: &Machine, load: &Load, model: &Model, before: &crate::Counters, us: f64) -> Outcome {
    let now = model.counters();
    let sample = now.since(before);
    let work = load.compute_ns + if load.waits { machine.costs.packet_ns } else { 0.0 };
    let dropped = (now.dropped - before.dropped) as f64;
    Outcome {
        turns: sample.user * 1e9 / work,
        interrupts: sample.interrupt_rate(),
        busy: sample.busy,
        us,
        dropped: dropped / (sample.packets + dropped).max(1.0),
    }
}

/// Runs a level under a fixed length.
pub fn fixed(machine: &Machine, number: usize, us: u32, seed: u64, seconds: f64) -> Outcome {
    let load = level(machine, number);
    let mut model = Model::new(machine.costs, load, seed);
    model.set_delay_us(us);
    model.run(0.05);
    let before = model.counters();
    model.run(seconds);
    outcome(machine, &load, &model, &before, f64::from(us))
}

/// What sets the delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Nothing changes it: it is so many microseconds.
    Fixed(u32),
    /// The controller, which begins at the shortest.
    Controller,
    /// What the kernel has for `adaptive-rx`, in a driver that has it.
    Dim,
}

/// What sets the delay, with its state.
enum Driver {
    Fixed(u32),
    Controller(Box<Controller>),
    Dim(Dim),
}

impl Driver {
    fn new(machine: &Machine, by: By) -> Self {
        match by {
            By::Fixed(us) => Self::Fixed(us),
            By::Controller => Self::Controller(Box::new(controller(machine))),
            By::Dim => Self::Dim(Dim::default()),
        }
    }

    /// Sets the delay of a model for so many seconds; returns the mean length, microseconds.
    fn drive(&mut self, model: &mut Model, seconds: f64) -> f64 {
        match self {
            Self::Fixed(us) => {
                model.set_delay_us(*us);
                model.run(seconds);
                f64::from(*us)
            }
            Self::Controller(controller) => drive(controller, model, periods(seconds)),
            Self::Dim(dim) => drive_dim(dim, model, seconds),
        }
    }
}

/// Resolution with which the end of [`EVENTS`] interrupts is found, seconds.
const SLICE: f64 = 1e-4;

fn drive_dim(dim: &mut Dim, model: &mut Model, seconds: f64) -> f64 {
    let begun = model.counters();
    let (mut before, mut us_ns) = (begun, 0.0);
    model.set_delay_us(dim.us());
    while model.counters().ns - begun.ns < seconds * 1e9 {
        let from = model.counters().ns;
        model.run(SLICE);
        let now = model.counters();
        us_ns += (now.ns - from) * f64::from(dim.us());
        if now.interrupts - before.interrupts >= EVENTS {
            model.set_delay_us(dim.step(&now.since(&before)));
            before = now;
        }
    }
    us_ns / (model.counters().ns - begun.ns)
}

/// Lets a controller set the delay of a model for so many periods; returns the mean length, microseconds.
fn drive(controller: &mut Controller, model: &mut Model, periods: usize) -> f64 {
    let mut us = 0.0;
    for _ in 0..periods {
        let before = model.counters();
        model.run(PERIOD);
        let decision = controller.step(&model.counters().since(&before));
        model.set_delay_us(decision.us);
        us += f64::from(decision.us);
    }
    us / periods.max(1) as f64
}

fn controller(machine: &Machine) -> Controller {
    let [least, step, most] = machine.bounds_us;
    // The bounds of all machines are in order, so that this does not fail.
    Controller::new(Lengths::new(least, step, most).unwrap_or_else(|_| unreachable!()))
}

fn periods(seconds: f64) -> usize {
    (seconds / PERIOD).round() as usize
}

/// Runs a level while something sets the delay: `warm` seconds that do not count, then `seconds` that do.
pub fn adapting(machine: &Machine, number: usize, by: By, seed: u64, warm: f64, seconds: f64) -> Outcome {
    let load = level(machine, number);
    let mut model = Model::new(machine.costs, load, seed);
    let mut driver = Driver::new(machine, by);
    driver.drive(&mut model, warm);
    let before = model.counters();
    let us = driver.drive(&mut model, seconds);
    outcome(machine, &load, &model, &before, us)
}

/// Runs two levels in turn, `turn` seconds each and so many times each. All time counts, that of the first
/// steps of what sets the delay too. Returns one outcome per level.
pub fn alternating(
    machine: &Machine,
    numbers: [usize; 2],
    by: By,
    seed: u64,
    turn: f64,
    times: usize,
) -> [Outcome; 2] {
    let loads = numbers.map(|number| level(machine, number));
    let mut model = Model::new(machine.costs, loads[0], seed);
    let mut driver = Driver::new(machine, by);
    let mut sums = [Outcome::default(); 2];
    for _ in 0..times {
        for (load, sum) in loads.iter().zip(&mut sums) {
            model.set_load(*load);
            let before = model.counters();
            let mean = driver.drive(&mut model, turn);
            let one = outcome(machine, load, &model, &before, mean);
            let add = |sum: &mut f64, one: f64| *sum += one / times as f64;
            add(&mut sum.turns, one.turns);
            add(&mut sum.interrupts, one.interrupts);
            add(&mut sum.busy, one.busy);
            add(&mut sum.us, one.us);
            add(&mut sum.dropped, one.dropped);
        }
    }
    sums
}

/// Mean of some values and the half of its 95 % confidence interval (Student's t), which is infinite with
/// fewer than two values.
pub fn mean_and_half(values: &[f64]) -> (f64, f64) {
    let count = values.len();
    let mean = values.iter().sum::<f64>() / count.max(1) as f64;
    // Two-sided 97.5 % points of Student's t for 1 to 30 degrees of freedom.
    const T: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
        2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048,
        2.045, 2.042,
    ];
    let Some(freedom) = count.checked_sub(2) else { return (mean, f64::INFINITY) };
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1) as f64;
    (mean, T[freedom.min(T.len() - 1)] * (variance / count as f64).sqrt())
}
