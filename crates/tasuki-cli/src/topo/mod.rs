//! `tasuki topo ...` and `tasuki plan`

mod compare;
mod draft;
mod folder;
mod grow;
mod measure;
mod network;
mod plan;
mod propose;
mod racks;
mod range;
mod receivers;
mod replay;
mod rhinet2;
mod route;
mod show;
mod simulate;
mod speed;
mod tables;
mod traffic;
mod verify;

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
        TopoCommand::Receivers(arguments) => receivers::run(&arguments),
        TopoCommand::Show(arguments) => show::run(&arguments),
        TopoCommand::Verify(arguments) => verify::run(&arguments),
        TopoCommand::Compare(arguments) => compare::run(&arguments),
    }
}
