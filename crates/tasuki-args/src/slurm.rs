//! `tasuki slurm ...`

use super::{overwrite::Overwrite, source::Source};
use crate::transport::Wanted;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// What to do for Slurm.
#[derive(Debug, Subcommand)]
pub enum SlurmCommand {
    /// What Slurm must know of the cluster: nodes, which of them are near each other, rails
    Conf(SlurmConf),
    /// What a task's MPI needs to use the cables, as Slurm takes it from a TaskProlog
    TaskProlog(SlurmProlog),
}

/// Options of `tasuki slurm conf`.
#[derive(Debug, Args)]
#[command(after_help = conf_help())]
pub struct SlurmConf {
    /// The cluster: a file, or a shape.
    #[command(flatten)]
    pub source: Source,
    /// The folder for the files, which is made if it is not there; none: they are printed
    #[arg(long, short, value_name = "FOLDER", conflicts_with = "json")]
    pub output: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Whether files that are there already are replaced.
    #[command(flatten)]
    pub overwrite: Overwrite,
}

const CONF_HELP: &str = "Example:
  sudo tasuki slurm conf cluster.toml -o /etc/slurm
writes tasuki-nodes.conf, which slurm.conf includes, topology.conf and gres.conf. All nodes need the same.";

/// The example, and the list of shapes.
fn conf_help() -> String {
    format!("{CONF_HELP}\n\n{}", crate::shape::help())
}

/// Options of `tasuki slurm task-prolog`.
#[derive(Debug, Args)]
#[command(after_help = "Example: an executable file that slurm.conf names as TaskProlog=, on every node:
  #!/bin/sh
  exec tasuki slurm task-prolog --mpi openmpi-4.1 --cluster /etc/tasuki/cluster.toml
It is run for each task, before its program, and prints the variables of `tasuki env`. What a user has set
already stays.")]
pub struct SlurmProlog {
    /// The MPI: openmpi-4.1, openmpi-5.0, mpich-4.3, intel, or a prefix
    #[arg(long)]
    pub mpi: String,
    /// The cluster file
    #[arg(long)]
    pub cluster: PathBuf,
    /// What carries the messages; none: Tasuki if it is built and the MPI can load it, else TCP
    #[arg(long, value_enum)]
    pub transport: Option<Wanted>,
}
