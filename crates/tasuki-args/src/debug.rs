//! `tasuki debug`, and what `tasuki run --debug` has in common with it.

use clap::Args;
use std::{path::PathBuf, time::Duration};
use tasuki_stacks::span;

/// Options of `tasuki debug`.
#[derive(Debug, Args)]
#[command(after_help = "  tasuki debug --ranks 3             # gdb on the terminal, where rank 3 runs
  tasuki debug 7                     # all ranks of job 7 of the resident runtime: one prompt
  tasuki debug --waiting --tmux      # those that are inside MPI: a window of tmux for each
  tasuki debug --command bt --command 'info locals'   # for scripts: answers, and on they go

At the prompt of several ranks, a line is for all of them, and equal answers are one. `0-3: bt` is for these \
ranks, `2:` chooses rank 2 for what follows, `all:` all again. `ranks` says what each does, `2: detach` lets \
rank 2 go on without a debugger, `quit` all. After `continue` and the like the prompt comes back when all \
have stopped; Ctrl-C stops them.

gdb must be on every host, and must be allowed to look: as root, or as the user of the program where \
kernel.yama.ptrace_scope is 0. Processes stand still from the start to the end of it, and go on however it \
ends. A job over Tasuki bears that: ranks that are silent are not taken for dead, unless others greet them \
for the first time meanwhile (TASUKI_GREETING; `tasuki run --debug` sees to it).")]
pub struct DebugArgs {
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
    #[arg(long, visible_alias = "rank", value_parser = span, value_delimiter = ',', value_name = "RANKS")]
    pub ranks: Vec<(u32, u32)>,
    /// Only processes of the program of this name
    #[arg(long)]
    pub program: Option<String>,
    /// Only ranks that are in a function of MPI
    #[arg(long)]
    pub waiting: bool,
    /// Only ranks that a signal has stopped
    #[arg(long, conflicts_with = "waiting")]
    pub stopped: bool,
    /// Open a window of tmux for each rank, with gdb in it
    #[arg(long, conflicts_with_all = ["command", "json", "limit"])]
    pub tmux: bool,
    /// What is done without a prompt.
    #[command(flatten)]
    pub commands: DebugCommands,
}

/// Commands for debuggers, in the place of a prompt.
#[derive(Debug, Args)]
pub struct DebugCommands {
    /// Run this command of gdb on all ranks and print what they answer, without a prompt; may be repeated
    #[arg(long, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// With --command: stop ranks that a command lets run for longer than this: 90s, 10m
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "30s",
        requires = "command",
        value_parser = super::time::duration
    )]
    pub limit: Duration,
    /// With --command: print JSON: what each rank has answered, and which have answered alike
    #[arg(long, requires = "command")]
    pub json: bool,
}
