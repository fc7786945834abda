//! Linpack as part of the HPC Challenge: its size in each class, the figures of its output, and the peak of a
//! processor, of which it reaches a share.

use super::{Class, Kernel, Outcome, ParseError};
use crate::hpcc::{self, HpccError, Input};
use std::{io, path::Path, process::Command, time::Duration};
use tasuki_process::run_limited;
use thiserror::Error;

/// The program that contains Linpack.
pub const PROGRAM: &str = "hpcc";

const PEAK_SOURCE: &str = include_str!("../../../../bench/peak/peak.c");
/// Limit of the time for the compiler, and for the program, which takes a second.
const PEAK_LIMIT: Duration = Duration::from_secs(120);

/// Order of the matrix of a class; they take from a fraction of a second to minutes on a core.
pub fn order(class: Class) -> u64 {
    match class {
        Class::Xs | Class::S => 960,
        Class::W => 2000,
        Class::M | Class::A => 4000,
        Class::L | Class::B => 8000,
    }
}

/// The input of hpcc for a class.
pub fn input(class: Class, ranks: u32) -> Result<Input, HpccError> {
    Input::new(ranks, order(class) * order(class) * 8)
}

/// The figures of a judged run. It counts as verified if all checks of hpcc hold, not only those of Linpack.
pub fn outcome(class: Class, ranks: u32, judged: &hpcc::Outcome) -> Result<Outcome, ParseError> {
    let figure = |key: &str| {
        let value = judged.figures.get(key).copied().ok_or_else(|| ParseError::Missing(key.into()))?;
        if value.is_finite() && value >= 0.0 {
            return Ok(value);
        }
        Err(ParseError::Malformed { name: key.into(), value: value.to_string() })
    };
    let size = figure("HPL_N")?;
    if size != order(class) as f64 {
        return Err(ParseError::Malformed { name: "HPL_N".into(), value: size.to_string() });
    }
    let version = ["VersionMajor", "VersionMinor", "VersionMicro"].map(figure);
    let version = version.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(Outcome {
        kernel: Kernel::Linpack,
        class,
        size: size.to_string(),
        iterations: 1,
        seconds: figure("HPL_time")?,
        cpu_s: None,
        ranks: figure("CommWorldProcs")? as u32,
        mops: figure("HPL_Tflops")? * 1e6,
        operation: "floating point".into(),
        verified: judged.verified(),
        version: format!("HPCC {}", version.iter().map(f64::to_string).collect::<Vec<_>>().join(".")),
        breakdown: Vec::new(),
        // The figure is the mean of the ranks, which all multiply at the same time.
        dgemm_mops: Some(figure("StarDGEMM_Gflops")? * 1e3 * f64::from(ranks)),
        challenge: judged.figures.clone(),
    })
}

/// Why the peak is unknown.
#[derive(Debug, Error)]
pub enum PeakError {
    /// A folder or a file could not be made, or a program not be started.
    #[error(transparent)]
    System(#[from] io::Error),
    /// The compiler or the program ended badly.
    #[error("{0}")]
    Failed(String),
    /// The program did not print a number.
    #[error(transparent)]
    Output(#[from] ParseError),
}

/// The peak of one processor of this machine, million floating-point operations per second. It is measured by
/// a program of fused multiplications and additions in the widest vector registers, built by this C compiler.
/// The nominal clock would not tell, as it says nothing of the number of vector units, and processors run
/// faster and slower than it.
pub fn peak_mops(compiler: &Path) -> Result<f64, PeakError> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("peak.c"), PEAK_SOURCE)?;
    let mut build = Command::new(compiler);
    build.current_dir(folder.path()).args(["-std=gnu11", "-O3", "-march=native", "-o", "peak", "peak.c"]);
    succeed(&mut build)?;
    let said = succeed(&mut Command::new(folder.path().join("peak")))?;
    Ok(super::outcome::number(&said, "Mflop/s")?)
}

/// Standard output of a command, which must end well.
fn succeed(command: &mut Command) -> Result<String, PeakError> {
    let output = run_limited(command, PEAK_LIMIT)?;
    if output.is_success() {
        return Ok(output.stdout);
    }
    let program = command.get_program().to_string_lossy();
    Err(PeakError::Failed(format!("{program}: {}: {}", output.reason(), output.stderr_tail(3))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The judged output of a real run on four ranks, where the order of the matrix (300) is replaced by that
    /// of class S.
    fn judged() -> hpcc::Outcome {
        let sample = include_str!("../../tests/data/hpccoutf.txt");
        let mut judged = hpcc::Outcome::of(sample, 4);
        judged.figures.insert("HPL_N".into(), 960.0);
        judged
    }

    #[test]
    fn figures_are_those_of_the_summary() {
        let outcome = outcome(Class::S, 4, &judged()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((outcome.kernel, outcome.ranks, outcome.verified), (Kernel::Linpack, 4, true));
        assert!((outcome.mops - 2117.47).abs() < 1e-6, "{outcome:?}");
        assert_eq!(outcome.seconds, 0.00856447);
        assert_eq!((outcome.version.as_str(), outcome.size.as_str()), ("HPCC 1.5.0", "960"));
        // This is four ranks of 4.67692 Gflop/s each.
        assert!(outcome.dgemm_mops.is_some_and(|mops| (mops - 18707.68).abs() < 1e-6), "{outcome:?}");
    }

    #[test]
    fn another_matrix_and_missing_figures_are_errors_and_a_failed_check_is_not() {
        assert!(matches!(outcome(Class::W, 4, &judged()), Err(ParseError::Malformed { .. })));
        let mut without = judged();
        without.figures.remove("HPL_time");
        assert_eq!(outcome(Class::S, 4, &without), Err(ParseError::Missing("HPL_time".into())));
        let mut wrong = judged();
        wrong.checks[0].passed = false;
        assert_eq!(outcome(Class::S, 4, &wrong).map(|outcome| outcome.verified), Ok(false));
    }

    #[test]
    fn hpcc_is_told_the_order_of_the_class_on_every_number_of_ranks() {
        for class in Kernel::Linpack.classes() {
            for ranks in [1, 2, 4, 8, 16, 32, 64] {
                let input = input(class, ranks).unwrap_or_else(|error| panic!("{error}"));
                assert_eq!((input.order(), input.ranks()), (order(class), ranks));
            }
        }
    }

    // Every processor on which this runs has a clock of 100 MHz to 10 GHz, and makes 1 to 64 operations in
    // each of its cycles.
    #[test]
    fn the_peak_is_that_of_a_processor() {
        let peak = match peak_mops(Path::new("cc")) {
            Err(PeakError::System(error)) if error.kind() == io::ErrorKind::NotFound => {
                return eprintln!("skipped: no cc");
            }
            peak => peak.unwrap_or_else(|error| panic!("{error}")),
        };
        assert!((100.0..640_000.0).contains(&peak), "{peak} Mflop/s");
        let missing = peak_mops(Path::new("no-such-cc"));
        assert!(matches!(missing, Err(PeakError::System(_))), "{missing:?}");
        let refused = peak_mops(Path::new("false"));
        assert!(matches!(refused, Err(PeakError::Failed(_))), "{refused:?}");
    }
}
