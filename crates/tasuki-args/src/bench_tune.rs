//! `tasuki bench tune`

use super::testbed::{LabsOnly, Results};
use clap::{Args, ValueEnum};
use std::{fmt, str::FromStr};
use tasuki_bench::{lab::tune::TuneOptions, load::Timer};
use tasuki_host::Delay;
use tasuki_terminal::Failure;
use tasuki_tune::LEVELS;

/// Explains `tasuki bench tune`.
pub const TUNE_HELP: &str = "\
Two hosts and a cable of their own. On the first runs a program that computes, asks the second and waits for \
its answer, while a stream of packets arrives; the levels are those of `tasuki tune simulate`, 0 (only \
waits) to 7 (only computes). For each level and repetition: turns of the program per second under every \
fixed delay, then under `tasuki tune run`, with interrupts per second and processor time. Then two levels in \
turn. docs/results/interrupt-delay.md explains the figures. It makes its own lab (root; two \
processors; Linux 6.8 or newer), and ends it.

Examples:
  tasuki bench tune                                       # all of it, about three quarters of an hour
  tasuki bench tune --level 3,4 --repetitions 12          # two levels
  tasuki bench tune --pair 0:7 --json                     # two levels in turn
  tasuki bench tune --timer nic                           # with a timer that costs nothing, as a NIC has it";

/// Two levels that take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelPair(pub [usize; 2]);

impl fmt::Display for LevelPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.0[0], self.0[1])
    }
}

impl FromStr for LevelPair {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let level = |text: &str| text.parse().ok().filter(|level| *level < LEVELS);
        let pair = text.split_once(':').and_then(|(a, b)| Some([level(a)?, level(b)?]));
        pair.map(LevelPair).ok_or_else(|| format!("two levels of 0 to {}, as 0:7", LEVELS - 1))
    }
}

/// The timer that keeps interrupts apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TimerArg {
    /// The kernel's
    #[default]
    Kernel,
    /// A NIC's, emulated
    Nic,
}

/// Options of `tasuki bench tune`.
#[derive(Debug, Args)]
pub struct BenchTune {
    /// Levels; with neither levels nor pairs: all of them, and the pairs 0:7 and 1:6
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u64).range(..LEVELS as u64))]
    pub level: Vec<u64>,
    /// Levels that take turns
    #[arg(long, value_delimiter = ',')]
    pub pair: Vec<LevelPair>,
    /// The timer that keeps interrupts apart: the kernel's, or one that costs the host nothing, as that of a
    /// NIC, emulated by its partner
    #[arg(long, value_enum, default_value_t)]
    pub timer: TimerArg,
    /// The longest delay, fixed and of the controller
    #[arg(long, default_value = "1ms")]
    pub most: Delay,
    /// How often everything is repeated; six or more give ratios with 95 % confidence
    #[arg(long, default_value_t = 6)]
    pub repetitions: usize,
    /// Time that counts under a fixed delay, in seconds; four times as long under the controller
    #[arg(long, default_value_t = 1.2)]
    pub seconds: f64,
    /// Time that the controller has to settle before it counts, in seconds; each turn of two levels is as
    /// long
    #[arg(long, default_value_t = 10.0)]
    pub settle: f64,
    /// The option that names real machines, which is refused.
    #[command(flatten)]
    pub machines: LabsOnly,
    /// Where results are written.
    #[command(flatten)]
    pub results: Results,
}

impl BenchTune {
    /// What is measured.
    pub fn options(&self) -> Result<TuneOptions, Failure> {
        let Delay::Fixed(most_us) = self.most else { return Err(Failure::new("--most is a time")) };
        Ok(TuneOptions {
            levels: self.level.iter().map(|level| *level as usize).collect(),
            pairs: self.pair.iter().map(|pair| pair.0).collect(),
            timer: match self.timer {
                TimerArg::Kernel => Timer::Kernel,
                TimerArg::Nic => Timer::Nic,
            },
            most_us,
            repetitions: self.repetitions,
            seconds: self.seconds,
            settle: self.settle,
        })
    }
}
