//! How a measurement ends: its failure, its exit code.

use crate::failure::Failure;
use std::process::ExitCode;
use tasuki_bench::BenchError;

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
