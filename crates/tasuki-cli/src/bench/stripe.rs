//! `tasuki bench stripe`: one TCP stream over several NICs, by Tasuki's striping and by other means.

use super::{
    access::Labs,
    bar::{Bar, interruption},
    exit::{code, failure},
};
use std::process::ExitCode;
use tasuki_args::{BenchStripe, give};
use tasuki_bench::lab::{Session, stripe};
use tasuki_terminal::Failure;

/// Runs the command.
pub fn run(arguments: &BenchStripe) -> Result<ExitCode, Failure> {
    arguments.machines.check()?;
    arguments.results.check("stripe")?;
    let options = arguments.options();
    let (bar, interrupted) = (Bar::default(), interruption()?);
    let session = Session { progress: &bar, interrupted: &interrupted };
    let report = stripe::measure(&options, &Labs, session).map_err(failure)?;
    give(&arguments.results, "stripe", &report.table(), &report.json()?, || Ok(report.charts()?))?;
    Ok(code(report.failures.is_empty()))
}
