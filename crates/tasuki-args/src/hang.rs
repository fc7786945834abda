//! `tasuki hang`.

use clap::Args;
use std::path::PathBuf;

/// Options of `tasuki hang`.
#[derive(Debug, Args)]
#[command(after_help = "  tasuki hang         # all that uses Tasuki in the only lab that is up, or here
  tasuki hang 7 --cluster cluster.toml   # job 7 of the resident runtime

Counters of all ranks are read twice, at least two seconds apart, and where each rank is in between:

  goes on    messages move
  late       none moves: ranks wait in MPI for others that compute, read or sleep
  under way  none moves, though some have been sent and have not arrived: look at cables and hosts
  suspected  none moves and none is under way, but something keeps it from being certain; it says what
  stuck      every rank waits in MPI for a message, and nobody can send one

It needs gdb on every host, as `tasuki stacks` does, whose --help says who may look. The exit code is 0 if \
messages move, 3 if no message moves in a job.")]
pub struct HangArgs {
    /// Only this job of the resident runtime, by its number; none: all processes that use Tasuki
    #[arg(value_parser = super::terms::job)]
    pub job: Option<String>,
    /// Only processes of this user; to root, jobs of two users may have one number
    #[arg(long)]
    pub user: Option<String>,
    /// Processes in all hosts of this lab; none: the only one that is up, or this machine
    #[arg(long, conflicts_with = "cluster")]
    pub lab: Option<String>,
    /// Processes on the machines of this cluster file, over ssh
    #[arg(long)]
    pub cluster: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
