//! `tasuki submit`, `jobs`, `attach`, `cancel`, `hold`, `resume`, `hosts` and `daemon`.

use super::{
    run::ProgramArgs,
    sharing::{SharingArgs, slice},
    terms::{JobName, TermsArgs},
};
use clap::Args;
use std::{path::PathBuf, time::Duration};

/// Options of `tasuki submit`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tasuki submit -n 8 ./my_mpi_program input.dat    # prints the job's number
  tasuki submit -n 4 hostname                      # programs without MPI, too
  tasuki jobs                                      # which jobs wait and run, and why they wait
  tasuki attach 7                                  # the output of job 7, and its exit code
  tasuki submit -n 2 --timeout 10m ./short         # may begin before longer jobs that wait
  tasuki submit -n 1 --array 0-99%4 ./one          # 100 times, by TASUKI_ARRAY_INDEX, 4 at a time
  tasuki submit -n 4 --after 7,8 ./collect         # when jobs 7 and 8 have ended well
  tasuki submit -n 8 --begin 18:30 --name night ./a.out
  tasuki submit -n 8 --share ./a.out               # in turn with other such jobs on the same slots

The job begins as soon as it is its turn and its slots are free, with this shell's environment, working
directory, limits and umask. It outlives this terminal. See docs/guide/jobs.md.")]
pub struct SubmitArgs {
    /// The program, and with what it runs.
    #[command(flatten)]
    pub program: ProgramArgs,
    /// How the job gets on with others.
    #[command(flatten)]
    pub sharing: SharingArgs,
    /// When the job is to begin, how long it may run, and how often it is run.
    #[command(flatten)]
    pub terms: TermsArgs,
}

/// Options of commands about jobs.
#[derive(Debug, Args)]
pub struct JobsArgs {
    /// The jobs of this lab; none: of this host's cluster, or of the only lab that is up
    #[arg(long)]
    pub lab: Option<String>,
    /// Also jobs that are over, with start, end, time taken and exit code
    #[arg(long)]
    pub history: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Change how long jobs that share slots run in turn, from 1ms to 60s; at first it is 100ms. For root
    #[arg(long, value_parser = slice, conflicts_with_all = ["history", "json"])]
    pub slice: Option<Duration>,
    /// Print CSV, a line for each job
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

/// Options of `tasuki attach`.
#[derive(Debug, Args)]
#[command(
    after_help = "Prints the job's output from its beginning, goes on until the job is over, and returns \
the job's exit code. Ctrl-C leaves the job alone."
)]
pub struct AttachArgs {
    /// The job's number; 7_3 for task 3 of array 7
    pub job: JobName,
    /// The job of this lab; none: of this host's cluster, or of the only lab that is up
    #[arg(long)]
    pub lab: Option<String>,
    /// Begin every line with the rank that wrote it
    #[arg(long)]
    pub label: bool,
}

/// Options of commands that change jobs.
#[derive(Debug, Args)]
pub struct ChangeArgs {
    /// Numbers of the jobs. That of an array means all its tasks; 7_3 is task 3 of array 7
    #[arg(required = true)]
    pub jobs: Vec<JobName>,
    /// Jobs of this lab; none: of this host's cluster, or of the only lab that is up
    #[arg(long)]
    pub lab: Option<String>,
    /// Print JSON: what came of it, job by job
    #[arg(long)]
    pub json: bool,
}

/// Text below the options of `tasuki checkpoint`.
pub(crate) const CHECKPOINT_HELP: &str = "\
The job must run, and must have been submitted with --checkpoint: its messages are sent in a way that CRIU \
can save from its beginning on. That is possible for MPICH, for Intel MPI and without an MPI, not for Open \
MPI and not with --share or --array. Every host of the job needs CRIU: `apt install criu`, or TASUKI_CRIU. \
Its processes stand still meanwhile.

The images are kept in /var/lib/tasuki/runtime/images on each host's own disk, and with --checkpoint-copy in \
/var/lib/tasuki/runtime/copies of another host: the last two checkpoints of a job, until it ends well or is \
forgotten. `sudo tasuki restart JOB` goes on from them after the job's end. \
See docs/guide/checkpoint.md.";

/// Options of `tasuki restart`.
#[derive(Debug, Args)]
#[command(
    after_help = "For root alone: CRIU opens the job's files with root's rights. The job must be over, and \
must have a checkpoint: those of jobs that ended well are removed.

The job keeps its number, and runs on the hosts on which it was saved. Files that it had \
open are cut to the length that they had then, and its output goes on from there. Returns when its processes \
go on; `tasuki attach` shows its output."
)]
pub struct RestartArgs {
    /// Which jobs.
    #[command(flatten)]
    pub jobs: ChangeArgs,
    /// Another checkpoint than the last one, by its number: the one before is kept too
    #[arg(long, value_name = "NUMBER")]
    pub epoch: Option<u64>,
}

/// Options of `tasuki hosts`.
#[derive(Debug, Args)]
pub struct HostsListArgs {
    /// The hosts of this lab; none: of this host's cluster, or of the only lab that is up
    #[arg(long)]
    pub lab: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `tasuki daemon`.
#[derive(Debug, Args)]
#[command(
    after_help = "`tasuki apply --runtime FILE` gives the hosts of a cluster their keys and starts this on
each, `tasuki undo` ends it and takes the keys away; in a lab, `tasuki lab up --runtime`."
)]
pub struct DaemonArgs {
    /// Where keys, jobs and their output are kept [default: /var/lib/tasuki/runtime;
    /// /run/tasuki-state/runtime in a lab]
    #[arg(long, value_name = "FOLDER")]
    pub state_dir: Option<PathBuf>,
    /// Say whether it runs on this machine, and for which cluster
    #[arg(long)]
    pub status: bool,
    /// Print JSON
    #[arg(long, requires = "status", conflicts_with_all = ["start", "install"])]
    pub json: bool,
    /// Start it in the background, anew if it runs, with the keys that this host has: after a start of the
    /// machine
    #[arg(long, conflicts_with = "status")]
    pub start: bool,
    /// Take the bundle of keys from standard input, and start the daemon anew
    #[arg(long, hide = true, conflicts_with = "status")]
    pub install: bool,
    /// Leave the terminal, and say when it runs
    #[arg(long, hide = true)]
    pub background: bool,
}
