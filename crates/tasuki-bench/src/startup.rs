//! The time that an MPI program takes to start: the program (`bench/startup`), its output, and the figures.
//! `docs/reference/bench.md` explains the phases.

mod report;

pub use report::{StartupCase, StartupRecord, StartupReport};

use crate::{
    once::Recipe,
    program::{BuildError, compile},
};
use nix::time::{ClockId, clock_gettime};
use std::path::Path;
use thiserror::Error;

/// Name of the program.
pub const NAME: &str = "tasuki-startup";

const SOURCES: [(&str, &str); 1] = [("startup.c", include_str!("../../../bench/startup/startup.c"))];

/// Builds the program with an `mpicc` into `target`, unless `target` has been built from this source by that
/// compiler.
pub fn build(mpicc: &Path, target: &Path) -> Result<(), BuildError> {
    let recipe = Recipe { sources: &SOURCES, circumstances: "", product: NAME };
    recipe.build(mpicc, target, |folder| compile(mpicc, folder, NAME, &SOURCES))
}

/// Time of CLOCK_MONOTONIC, which is the clock of the program, seconds.
pub fn now() -> f64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC)
        .map_or(f64::NAN, |time| time.tv_sec() as f64 + time.tv_nsec() as f64 * 1e-9)
}

/// The phases of one start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phases {
    /// From the start of the launcher until the last rank had reached `main`, seconds.
    pub launch_s: f64,
    /// From then until the last rank had left `MPI_Init`, seconds.
    pub init_s: f64,
    /// From then until every rank had heard from every other, seconds.
    pub meeting_s: f64,
    /// From then until the launcher had ended, seconds.
    pub end_s: f64,
}

impl Phases {
    /// From the start of the launcher to its end, seconds.
    pub fn total_s(self) -> f64 {
        self.launch_s + self.init_s + self.meeting_s + self.end_s
    }
}

/// Why an output is not that of a finished start.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum StartupError {
    /// The line of results is missing.
    #[error("no line 'startup ...' in the program's output: did it end early?")]
    Missing,
    /// The line does not hold what it should.
    #[error("line '{0}' of the program's output")]
    Malformed(String),
    /// Ranks heard from other ranks than they should; their number.
    #[error("{0} messages came from somebody else than was asked")]
    Wrong(u32),
}

/// Reads the output of a program that was started and had ended at these times of [`now`]. Returns the number
/// of ranks and the phases.
pub fn parse(output: &str, started: f64, ended: f64) -> Result<(u32, Phases), StartupError> {
    let line = output.lines().find(|line| line.starts_with("startup ")).ok_or(StartupError::Missing)?;
    let malformed = || StartupError::Malformed(line.into());
    let field = |name: &str| {
        let word = line.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        word.ok_or_else(malformed)
    };
    let time = |name: &str| field(name)?.parse::<f64>().map_err(|_| malformed());
    let count = |name: &str| field(name)?.parse::<u32>().map_err(|_| malformed());
    let times = [started, time("main")?, time("initialised")?, time("met")?, ended];
    if !times.iter().all(|time| time.is_finite()) || !times.is_sorted() {
        return Err(malformed());
    }
    match count("wrong")? {
        0 => {}
        wrong => return Err(StartupError::Wrong(wrong)),
    }
    let [launch_s, init_s, meeting_s, end_s] = std::array::from_fn(|at| times[at + 1] - times[at]);
    Ok((count("ranks")?, Phases { launch_s, init_s, meeting_s, end_s }))
}

/// Numbers of nodes, each with the milliseconds to start an application on them over Ethernet with one and
/// with two networks (SCore III paper, table 3, mode with one user).
const SCORE_III: [(u32, [u32; 2]); 3] = [(16, [2380, 5480]), (32, [2720, 5720]), (64, [3410, 6280])];

/// The time that the SCore III paper publishes for this number of nodes and of rails, seconds.
pub fn published(nodes: u32, rails: usize) -> Option<f64> {
    let (_, all) = SCORE_III.iter().find(|(known, _)| *known == nodes)?;
    all.get(rails.checked_sub(1)?).map(|milliseconds| f64::from(*milliseconds) / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "a remark\nstartup ranks=4 wrong=0 first=10.2 main=10.5 initialised=11.5 met=11.75\n";

    #[test]
    fn phases_are_the_differences_of_the_times() {
        let phases = Phases { launch_s: 0.5, init_s: 1.0, meeting_s: 0.25, end_s: 0.25 };
        assert_eq!(parse(LINE, 10.0, 12.0), Ok((4, phases)));
        assert_eq!(phases.total_s(), 2.0);
    }

    #[test]
    fn what_is_not_a_start_is_refused() {
        assert_eq!(parse("", 10.0, 12.0), Err(StartupError::Missing));
        assert_eq!(parse(&LINE.replace("wrong=0", "wrong=2"), 10.0, 12.0), Err(StartupError::Wrong(2)));
        for (old, new) in [("main=10.5", ""), ("met=11.75", "met=NaN"), ("main=10.5", "main=11.6")] {
            let result = parse(&LINE.replace(old, new), 10.0, 12.0);
            assert!(matches!(result, Err(StartupError::Malformed(_))), "{new}: {result:?}");
        }
    }

    // SCore III paper, table 3.
    #[test]
    fn published_values() {
        assert_eq!((published(16, 1), published(32, 2)), (Some(2.38), Some(5.72)));
        assert_eq!((published(8, 1), published(16, 0), published(16, 3)), (None, None, None));
    }
}
