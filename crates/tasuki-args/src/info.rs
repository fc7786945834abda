//! `tasuki info`.

use clap::Args;

/// Options of `tasuki info`.
#[derive(Debug, Args)]
#[command(after_help = "\
A NAME is a constant (coalesce.FIRST), a group of them (coalesce), or a variable (TASUKI_RATE).

A constant has one value in a build. To try another one, measured against this build in paired repetitions:
  make measure C=coalesce.FIRST                       # the value and the rows that the table names
  make measure C=coalesce.FIRST V=8 ARGS=\"--shape full:2 --unshaped --mpi intel --pair stream:8\"")]
pub struct InfoArgs {
    /// Only these
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Only constants
    #[arg(long, conflicts_with = "variables")]
    pub constants: bool,
    /// Only environment variables
    #[arg(long)]
    pub variables: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
