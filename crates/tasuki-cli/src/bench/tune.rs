//! `tasuki bench tune`: the interrupt delay's controller against every fixed delay.

use super::{
    access::Labs,
    bar::{Bar, interruption},
    exit::code,
};
use std::process::ExitCode;
use tasuki_args::{BenchTune, give};
use tasuki_bench::lab::{Session, tune};
use tasuki_terminal::Failure;

/// Runs the command.
pub fn run(arguments: &BenchTune) -> Result<ExitCode, Failure> {
    arguments.machines.check()?;
    let options = arguments.options()?;
    arguments.results.check("tune")?;
    let (bar, interrupted) = (Bar::default(), interruption()?);
    let session = Session { progress: &bar, interrupted: &interrupted };
    let report = tune::measure(&options, &Labs, session)?;
    give(&arguments.results, "tune", &report.text(), &report.json()?, || Ok(Vec::new()))?;
    Ok(code(report.failures.is_empty()))
}
