//! `tasuki bench tune`: the interrupt delay's controller against every fixed delay.

use super::{
    access::Labs,
    bar::{Bar, interruption},
    exit::code,
    results::give,
};
use crate::{args::BenchTune, failure::Failure};
use std::process::ExitCode;
use tasuki_bench::lab::{Session, tune};

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
