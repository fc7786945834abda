//! `tasuki bench ...` and what `tasuki demo` shares with it.

mod network;
mod raw;

pub use network::LabNetwork;

use crate::{args::BenchCommand, failure::Failure};
use std::process::ExitCode;

/// Runs a bench command.
pub fn run(command: BenchCommand) -> Result<ExitCode, Failure> {
    match command {
        BenchCommand::Raw(arguments) => raw::run(&arguments),
    }
}

/// The internal command that is a raw peer inside a host.
pub fn raw_peer(specification: &str) -> Result<ExitCode, Failure> {
    println!("{}", tasuki_bench::raw::peer(specification)?);
    Ok(ExitCode::SUCCESS)
}
