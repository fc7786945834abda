//! The interrupt delay's controller against every fixed delay, at eight levels of load and at two in turn,
//! with real parts.

mod field;
mod follow;
mod polling;
mod report;

pub use follow::follow_load;
pub use report::TuneReport;

use super::{LabBuilder, Session, turns::in_turn};
use crate::{
    BenchError, Machine,
    load::{Done, Load, Phase, Timer},
};
use field::Field;
use report::{Row, Run};
use tasuki_tune::{Costs, LEVELS, Lengths, level};

/// Pairs that take turns if neither levels nor pairs are asked for.
const PAIRS: [[usize; 2]; 2] = [[0, LEVELS - 1], [1, LEVELS - 2]];
/// Time before a fixed delay counts, seconds.
const WARM: f64 = 0.15;
/// How often two levels take turns under the controller.
const TURNS: usize = 4;
/// The controller counts for so many times the time of a fixed delay.
const LONGER: f64 = 4.0;
/// The first delay above none that is tried, microseconds.
const STEP_US: u32 = 10;

/// What is measured.
#[derive(Clone, Debug)]
pub struct TuneOptions {
    /// Levels of load; with neither levels nor pairs all of them are measured, and the pairs 0:7 and 1:6.
    pub levels: Vec<usize>,
    /// Levels that take turns.
    pub pairs: Vec<[usize; 2]>,
    /// The timer that keeps interrupts apart: the NIC's or the kernel's.
    pub timer: Timer,
    /// The longest delay, fixed and of the controller, microseconds.
    pub most_us: u32,
    /// How often.
    pub repetitions: usize,
    /// Time that counts under a fixed delay, seconds.
    pub seconds: f64,
    /// Time that the controller has to settle before it counts, and the length of each turn of two levels,
    /// seconds.
    pub settle: f64,
}

impl TuneOptions {
    /// The delays that are tried, microseconds: those that the controller chooses from. Refuses what would
    /// fail later.
    pub fn delays(&self) -> Result<Vec<u32>, BenchError> {
        let bad = |text: &str| Err(BenchError::refused(text));
        let is_time = |seconds: f64| (0.1..=600.0).contains(&seconds);
        match self {
            Self { repetitions: 0, .. } => bad("--repetitions 0: nothing would be measured"),
            _ if !is_time(self.seconds) => bad("--seconds: 0.1 to 600"),
            _ if !is_time(self.settle) => bad("--settle: 0.1 to 600"),
            _ => {
                let lengths = Lengths::new(0, STEP_US, self.most_us)?;
                Ok((0..lengths.len()).map(|number| lengths.at(number)).collect())
            }
        }
    }

    /// The levels of each row, one or two.
    fn rows(&self) -> Vec<Vec<usize>> {
        let (levels, pairs) = match self.levels.is_empty() && self.pairs.is_empty() {
            true => ((0..LEVELS).collect(), PAIRS.to_vec()),
            false => (self.levels.clone(), self.pairs.clone()),
        };
        levels
            .into_iter()
            .map(|level| vec![level])
            .chain(pairs.into_iter().map(|pair| pair.to_vec()))
            .collect()
    }
}

/// Measures every row in turn, repetition by repetition, on a lab of its own.
pub fn measure(
    options: &TuneOptions,
    builder: &dyn LabBuilder,
    session: Session<'_>,
) -> Result<TuneReport, BenchError> {
    let delays = options.delays()?;
    let field = Field::new(options.timer, builder, session.interrupted)?;
    let mut rows: Vec<Row> = options.rows().into_iter().map(|levels| Row::new(levels, &delays)).collect();
    let mut failures = Vec::new();
    let step = |row: &mut Row, repetition: usize| {
        let measured = measure_row(options, &field, row, repetition as u64);
        // A repetition that the user has ended is no failure.
        if let (Err(error), false) = (measured, session.is_interrupted()) {
            failures.push(format!("{}, repetition {repetition}: {error}", row.name()));
        }
    };
    in_turn(session, "tune", options.repetitions, &mut rows, Row::name, step);
    let (machine, interrupted) = (Machine::here(), session.is_interrupted());
    Ok(TuneReport { machine, timer: options.timer, rows, failures, interrupted })
}

/// The emulated NIC as a machine of the model, as a first measurement has it: a program that only waits has
/// 17,302 answers a second, and a stream of 83,052 packets a second takes 59 % of a processor without a delay
/// (measured once, on the machine of `PRESENT`). Of the costs only the sum counts here.
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

/// One repetition: every fixed delay, then the controller. Fixed delays have nothing to adapt to, so that
/// their turns can be short.
fn measure_row(
    options: &TuneOptions,
    field: &Field<'_>,
    row: &mut Row,
    repetition: u64,
) -> Result<(), BenchError> {
    let loads: Vec<Load> = row.levels.iter().map(|level| load(*level, options.timer)).collect();
    let fixed = |us: &u32| {
        let phase =
            |load: &Load| Phase { load: *load, delay_us: Some(*us), warm_s: WARM, seconds: options.seconds };
        loads.iter().map(phase).collect::<Vec<_>>()
    };
    // Each repetition begins with another delay, so that what drifts meets every delay.
    let mut delays: Vec<u32> = row.delays().collect();
    let first = repetition as usize % delays.len().max(1);
    delays.rotate_left(first);
    let done = field.run(delays.iter().flat_map(fixed).collect(), repetition)?;
    let tuned = |load: &Load, warm_s, seconds| Phase { load: *load, delay_us: None, warm_s, seconds };
    let phases = match loads[..] {
        [load] => vec![tuned(&load, options.settle, LONGER * options.seconds)],
        // Of two levels in turn all time counts, that of the controller's first steps too.
        _ => (0..TURNS).flat_map(|_| loads.iter().map(|load| tuned(load, 0.0, options.settle))).collect(),
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
