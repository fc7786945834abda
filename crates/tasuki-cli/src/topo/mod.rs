//! `tasuki topo ...` and `tasuki plan`

mod compare;
mod measure;
mod plan;
mod receivers;
mod rhinet2;
mod route;
mod show;
mod simulate;
mod steps;
mod verify;

pub use self::plan::plan;

use std::process::ExitCode;
use tasuki_args::TopoCommand;
use tasuki_terminal::Failure;

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
