//! How a measurement ends: its failure, its exit code; and what ends it before it begins.

use std::process::ExitCode;
use tasuki_bench::BenchError;
use tasuki_terminal::Failure;

/// The failure of a measurement; if the user ended it, the exit code says so.
pub fn failure(error: BenchError) -> Failure {
    match error {
        BenchError::Interrupted(_) => Failure::new(error).with_code(130),
        _ => Failure::new(error),
    }
}

/// The exit code of a measurement.
pub fn code(is_good: bool) -> ExitCode {
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Refuses a time for one point in which nothing would be measured, or which is hardly meant.
pub fn check_seconds(seconds: f64) -> Result<(), Failure> {
    match seconds > 0.0 && seconds <= 3600.0 {
        true => Ok(()),
        false => {
            Err(Failure::usage(format!("--seconds {seconds}: a time above 0 and at most 3600 s is needed")))
        }
    }
}
