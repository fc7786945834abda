//! `tasuki bench ...` and what `tasuki demo` shares with it.

mod drain;
mod kernels;
mod launch;
mod linpack;
mod mpi;
mod nas;
mod network;
mod ordinary;
mod rates;
mod raw;
mod results;
mod stacks;
mod startup;
mod stripe;
mod tune;
mod turns;
mod variants;

pub use kernels::{Kernels, programs};
pub use launch::Spread;
pub use mpi::{Measurement, over_tcp};
pub use network::LabNetwork;
pub use raw::core;
pub use results::write_all;
pub use stacks::{BuiltStack, Program, build as build_stacks, over};
pub use stripe::bundle_here;
pub use variants::Setting;

use crate::{args::BenchCommand, failure::Failure};
use std::process::ExitCode;

/// Runs a bench command.
pub fn run(command: BenchCommand) -> Result<ExitCode, Failure> {
    match command {
        BenchCommand::Mpi(arguments) => mpi::run(&arguments),
        BenchCommand::Nas(arguments) => nas::run(&arguments),
        BenchCommand::Startup(arguments) => startup::run(&arguments),
        BenchCommand::Drain(arguments) => drain::run(&arguments),
        BenchCommand::Stripe(arguments) => stripe::run(&arguments),
        BenchCommand::Cross(arguments) => stripe::run_cross(&arguments),
        BenchCommand::Tune(arguments) => tune::run(&arguments),
        BenchCommand::Rates(arguments) => rates::run(&arguments),
        BenchCommand::Raw(arguments) => raw::run(&arguments),
    }
}

/// The internal command that is a raw peer inside a host.
pub fn raw_peer(specification: &str) -> Result<ExitCode, Failure> {
    println!("{}", tasuki_bench::raw::peer(specification)?);
    Ok(ExitCode::SUCCESS)
}

/// The internal command that follows the load of a host inside of which it runs, for an emulated NIC.
pub fn load_follow(specification: &str) -> Result<ExitCode, Failure> {
    tune::follow::run(&serde_json::from_str(specification)?)?;
    Ok(ExitCode::SUCCESS)
}

/// The internal command that is a program under load, or its partner, inside a host.
pub fn load_peer(specification: &str) -> Result<ExitCode, Failure> {
    println!("{}", tasuki_bench::load::peer(specification)?);
    Ok(ExitCode::SUCCESS)
}
