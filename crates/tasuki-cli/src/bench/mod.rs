//! `tasuki bench ...` and what `tasuki demo` shares with it: arguments, progress and what is printed. What is
//! measured, and how, is in `tasuki-bench`.

mod access;
mod bar;
mod cross;
mod drain;
mod exit;
mod machines;
mod mpi;
mod nas;
mod network;
mod rates;
mod raw;
mod startup;
mod stripe;
mod tune;

pub use self::access::{LabMpis, Labs, Networks};
pub use self::bar::{Bar, interruption};

use std::{
    process::ExitCode,
    sync::{Arc, atomic::AtomicBool},
};
use tasuki_args::BenchCommand;
use tasuki_terminal::Failure;

/// Runs a bench command.
pub fn run(command: BenchCommand) -> Result<ExitCode, Failure> {
    match command {
        BenchCommand::Mpi(arguments) => mpi::run(&arguments),
        BenchCommand::Nas(arguments) => nas::run(&arguments),
        BenchCommand::Startup(arguments) => startup::run(&arguments),
        BenchCommand::Drain(arguments) => drain::run(&arguments),
        BenchCommand::Stripe(arguments) => stripe::run(&arguments),
        BenchCommand::Cross(arguments) => cross::run(&arguments),
        BenchCommand::Tune(arguments) => tune::run(&arguments),
        BenchCommand::Rates(arguments) => rates::run(&arguments),
        BenchCommand::Raw(arguments) => raw::run(&arguments),
    }
}

/// Runs the internal command that is a raw peer inside of a host.
pub fn raw_peer(specification: &str) -> Result<ExitCode, Failure> {
    println!("{}", tasuki_bench::raw::peer(specification)?);
    Ok(ExitCode::SUCCESS)
}

/// Runs the internal command that follows the load of the host that it runs in until SIGTERM, for an emulated
/// NIC.
pub fn load_follow(specification: &str) -> Result<ExitCode, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGTERM, Arc::clone(&stop))?;
    tasuki_bench::lab::tune::follow_load(specification, &stop)?;
    Ok(ExitCode::SUCCESS)
}

/// Runs the internal command that is a program under load, or its partner, inside a host.
pub fn load_peer(specification: &str) -> Result<ExitCode, Failure> {
    println!("{}", tasuki_bench::load::peer(specification)?);
    Ok(ExitCode::SUCCESS)
}

/// Runs the internal command that sets up the NICs of the host that it runs in for `bench stripe`.
pub fn bundle_here(specification: &str) -> Result<ExitCode, Failure> {
    tasuki_bench::lab::stripe::set_up_bundle(specification)?;
    Ok(ExitCode::SUCCESS)
}
