//! `tasuki stacks`.

use clap::Args;
use std::path::PathBuf;
use tasuki_stacks::span;

/// Options of `tasuki stacks`.
#[derive(Debug, Args)]
#[command(after_help = "  tasuki stacks       # all that uses Tasuki in the only lab that is up, or here
  tasuki stacks 7     # job 7 of the resident runtime
  tasuki stacks --cluster cluster.toml --program a.out
  tasuki stacks --ranks 0,4-7 --all   # every frame of every thread of these ranks

Ranks that are at one place of their program are one row: the MPI function that they have called, and the \
line that has called it; or, outside MPI, the program's own innermost function. A program built with -g has \
files and lines, one without has functions only.

gdb must be on every host, and must be allowed to look: as root, or as the user of the program where \
kernel.yama.ptrace_scope is 0. A process stands still while gdb looks at it, for one to two seconds; \
others do not.")]
pub struct StacksArgs {
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
    /// Only these ranks: 0,4-7
    #[arg(long, value_parser = span, value_delimiter = ',', value_name = "RANKS")]
    pub ranks: Vec<(u32, u32)>,
    /// Only processes of the program of this name
    #[arg(long)]
    pub program: Option<String>,
    /// Print all threads of each process, with every frame, also those in libraries
    #[arg(long, conflicts_with = "json")]
    pub all: bool,
    /// Print JSON: groups, and all threads of every process
    #[arg(long)]
    pub json: bool,
}
