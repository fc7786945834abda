//! The command line.

mod lab;

pub use lab::{FaultArgs, LabCommand, LabUp};

use clap::{Parser, Subcommand};

/// Turns a handful of PCs, their Ethernet ports and some cables into one fast parallel machine.
#[derive(Debug, Parser)]
#[command(name = "tasuki", version, arg_required_else_help = true, max_term_width = 110)]
pub struct Tasuki {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// A cluster on this one machine: hosts as namespaces, cables and switches of a given rate
    #[command(subcommand)]
    Lab(LabCommand),
}
