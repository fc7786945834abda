//! `tasuki topo ...` and `tasuki plan`

mod draft;
mod measure;
mod network;
mod plan;
mod propose;
mod range;
mod rhinet2;
mod route;
mod simulate;
mod speed;
mod traffic;

pub use network::source_help;
pub use plan::plan;

use crate::{args::TopoCommand, failure::Failure};
use std::process::ExitCode;

/// Runs a topology command.
pub fn run(command: TopoCommand) -> Result<ExitCode, Failure> {
    match command {
        TopoCommand::Measure(arguments) => measure::run(&arguments),
        TopoCommand::Route(arguments) => route::run(&arguments),
        TopoCommand::Simulate(arguments) => simulate::run(&arguments),
        TopoCommand::Rhinet2(arguments) => rhinet2::run(&arguments),
    }
}
