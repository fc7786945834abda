//! `tasuki run` and `tasuki env`.

use super::{checkpoints::Checkpoints, debug::DebugCommands, overwrite::Overwrite, sharing::SharingArgs};
use crate::transport::Wanted;
use clap::{ArgGroup, Args, ValueEnum};
use std::{ffi::OsString, path::PathBuf, time::Duration};
use tasuki_control::Sharing;
use tasuki_launch::Placement;
use tasuki_terminal::Failure;

/// Options with which `--resident` cannot be given, and those that need them.
const NOT_RESIDENT: [&str; 8] = ["dry_run", "copy", "files", "trace", "report", "cores", "debug", "stop_at"];
/// Options with which `--launcher` cannot be given: of MPIs, of their launchers, and of the daemons.
const NOT_LAUNCHER: [&str; 13] = [
    "resident",
    "checkpoint",
    "checkpoint_copy",
    "dry_run",
    "copy",
    "files",
    "trace",
    "report",
    "watch_hangs",
    "cores",
    "debug",
    "stop_at",
    "mpi",
];
/// More ranks than this are a mistake in the number: how a job is started is worked out for each of them.
const RANKS_MAX: i64 = 1 << 16;

/// Which hosts are filled first.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum By {
    /// One rank per host in turn
    Node,
    /// A host's cores before the next host
    Slot,
}

/// What starts ranks in the place of an MPI's launcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Launcher {
    /// Tasuki itself: for programs without an MPI
    None,
}

/// Options of `tasuki run`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tasuki run -n 4 ./my_mpi_program input.dat # on this machine alone, if no lab is up
  tasuki run -n 8 --lab four --mpi mpich-4.3 ./a.out
  tasuki run -n 4 --transport tcp ./a.out    # the MPI's own TCP, to compare with
  tasuki run -n 4 --dry-run ./a.out          # prints the launcher's command line
  tasuki run -n 4 --trace a.trace ./a.out    # and then: tasuki topo simulate ring:4 --trace a.trace
  tasuki run -n 4 --cluster cluster.toml --copy --files input.dat ./a.out input.dat
                                             # hosts need not have program and files; they go with the job
  tasuki run -n 4 --cores ./a.out            # core files of ranks that crash, from all hosts, for gdb
  tasuki run -n 4 --debug ./a.out            # ranks stop in MPI_Init: one prompt for their debuggers
  tasuki run -n 4 --resident ./a.out         # ranks started by the hosts' daemons, without ssh
  tasuki run -n 4 --checkpoint auto ./a.out  # so, and saved: `tasuki restart` goes on after a power cut
  tasuki run -n 4 --launcher none --cluster cluster.toml python3 train.py
                                             # torch.distributed, or any sockets, without a launcher

Variables TASUKI_*, FI_LOG_* and LD_PRELOAD of this shell reach all ranks, others with --export. While it
runs, `tasuki stats --watch` shows what each rail carries; `tasuki doctor ./a.out` says beforehand what would
be used, and why.")]
pub struct RunArgs {
    /// The program, and with what it runs.
    #[command(flatten)]
    pub program: ProgramArgs,
    /// Run on the real machines of this cluster file, this one among them, over ssh. With --resident, whose
    /// daemons know them: the machines that --watch-hangs asks
    #[arg(long, conflicts_with = "lab")]
    pub cluster: Option<PathBuf>,
    /// Have the daemons of the hosts start the ranks (of any MPI, or without one), in turn with other jobs
    #[arg(long, conflicts_with_all = ["dry_run", "copy", "trace"])]
    pub resident: bool,
    /// With `none`: ranks of a program without an MPI, as of torch.distributed, or of sockets of its own, are
    /// started by this command. They find each other by RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and
    /// MASTER_PORT
    #[arg(long, value_enum, conflicts_with_all = NOT_LAUNCHER)]
    pub launcher: Option<Launcher>,
    /// With --launcher: the port at which rank 0 is met; without it one that is free on its host
    #[arg(
        long,
        value_parser = clap::value_parser!(u16).range(1..),
        requires = "launcher",
        conflicts_with_all = NOT_LAUNCHER
    )]
    pub port: Option<u16>,
    /// With --resident or --launcher: begin every line with the rank that wrote it
    #[arg(long, conflicts_with_all = NOT_RESIDENT)]
    pub label: bool,
    /// With --resident or --launcher: end the job when it has run so long: 90s, 10m, 24h
    #[arg(
        long,
        value_name = "DURATION",
        value_parser = super::time::duration,
        conflicts_with_all = NOT_RESIDENT
    )]
    pub timeout: Option<Duration>,
    /// As --resident, and save the job's processes again and again, as `tasuki submit --checkpoint` does:
    /// 10m, 1h, auto. After its end, `tasuki restart` has the job go on from there, without this command
    #[arg(
        long,
        value_name = "DURATION",
        value_parser = str::parse::<Checkpoints>,
        conflicts_with_all = NOT_RESIDENT
    )]
    pub checkpoint: Option<Checkpoints>,
    /// With --checkpoint: send a copy of what each host has of a checkpoint to another host, as does `tasuki
    /// submit --checkpoint-copy`
    #[arg(long, requires = "checkpoint", conflicts_with_all = NOT_RESIDENT)]
    pub checkpoint_copy: bool,
    /// Send the program, and libraries of it that hosts lack, to all hosts over the rails. Ranks run in a
    /// folder made for the job, which is removed when it ends
    #[arg(long, conflicts_with = "dry_run")]
    pub copy: bool,
    /// With --copy: files and folders that are sent too. They lie in the working folder of the ranks, by the
    /// names that they have here
    #[arg(
        long,
        value_name = "PATH",
        value_delimiter = ',',
        requires = "copy",
        conflicts_with_all = ["dry_run", "resident"]
    )]
    pub files: Vec<PathBuf>,
    /// Print the launcher's command line instead of running it
    #[arg(long)]
    pub dry_run: bool,
    /// Write down the messages of the program, and how long ranks compute between them, as a trace that
    /// `tasuki topo simulate --trace` replays on any network
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    pub trace: Option<PathBuf>,
    /// Write the record of the job as a page, or as JSON if FILE ends in .json: what ranks spent their time
    /// with, whom they waited for, messages by size, what NICs carried, and what is worth a look. It records
    /// every message, as --trace does
    #[arg(long, value_name = "FILE", conflicts_with_all = ["resident", "dry_run"])]
    pub report: Option<PathBuf>,
    /// Say why nothing goes on when no message of the job has moved for so long (without a time: 10s): who
    /// waits for whom, and whether that can end, as `tasuki hang` does; for a rank that computes,
    /// after twenty times so long. It needs gdb on the hosts
    #[arg(
        long,
        value_name = "DURATION",
        value_parser = super::time::duration,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "10s",
        conflicts_with = "dry_run"
    )]
    pub watch_hangs: Option<Duration>,
    /// Let ranks that a signal ends leave core files, and bring those of all hosts to FOLDER (without one:
    /// here), as core.HOST.RANK.PROCESS
    #[arg(
        long,
        value_name = "FOLDER",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = ".",
        conflicts_with_all = ["resident", "dry_run"]
    )]
    pub cores: Option<PathBuf>,
    /// Stop all ranks where they enter MPI, and give one prompt for their debuggers, as `tasuki debug` does
    #[arg(long, conflicts_with_all = ["resident", "dry_run"])]
    pub debug: bool,
    /// With --debug: stop in this function instead, as `main`; may be repeated
    #[arg(
        long,
        value_name = "FUNCTION",
        requires = "debug",
        conflicts_with_all = ["resident", "dry_run"]
    )]
    pub stop_at: Vec<String>,
    /// The name by which ranks are found that stand before their program until they have a debugger
    #[arg(long, hide = true)]
    pub stand: Option<String>,
    /// What is done without a prompt.
    #[command(flatten)]
    pub debugger: DebugCommands,
    /// How the job gets on with others.
    #[command(flatten)]
    pub sharing: SharingArgs,
    /// Whether files that are there already are replaced.
    #[command(flatten)]
    pub overwrite: Overwrite,
}

impl RunArgs {
    /// Refuses options that would have no effect.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn check(&self) -> Result<(), Failure> {
        if !self.debug && !self.debugger.command.is_empty() {
            return Err(Failure::usage("--command is for --debug"));
        }
        let is_resident = self.resident || self.checkpoint.is_some();
        if !is_resident && self.sharing.sharing() != Sharing::default() {
            let what = "--share, --urgent and --memory are for --resident, or `tasuki submit`";
            return Err(Failure::usage(what));
        }
        let is_ours = is_resident || self.launcher.is_some();
        if !is_ours && (self.label || self.timeout.is_some()) {
            return Err(Failure::usage("--label and --timeout are for --resident, or --launcher none"));
        }
        Ok(())
    }
}

/// A program, and how its ranks are to run.
#[derive(Debug, Args)]
pub struct ProgramArgs {
    /// Number of ranks, 65536 at most
    #[arg(short = 'n', long, value_parser = clap::value_parser!(u32).range(1..=RANKS_MAX))]
    pub ranks: u32,
    /// Run in this lab; none: the only one that is up
    #[arg(long)]
    pub lab: Option<String>,
    /// Use this MPI instead of the one that the program is linked with: openmpi-5.0, mpich-4.3, intel, or a
    /// prefix
    #[arg(long)]
    pub mpi: Option<String>,
    /// What carries the messages; none: Tasuki if it is built and the MPI can load it, else TCP
    #[arg(long, value_enum)]
    pub transport: Option<Wanted>,
    /// Which hosts are filled first
    #[arg(long, value_enum, default_value = "node")]
    pub by: By,
    /// Pass a variable to all ranks: NAME, or NAME=VALUE
    #[arg(short = 'x', long)]
    pub export: Vec<String>,
    /// Program and arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    pub program: Vec<OsString>,
}

impl ProgramArgs {
    /// The order in which hosts are filled.
    pub fn placement(&self) -> Placement {
        match self.by {
            By::Node => Placement::ByNode,
            By::Slot => Placement::BySlot,
        }
    }
}

/// A library that is no MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Library {
    /// NCCL, or RCCL: collectives of GPUs
    Nccl,
    /// PyTorch's backend "tasuki": collectives of tensors in host memory
    Torch,
}

/// Options of `tasuki env`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  eval \"$(tasuki env --mpi openmpi-5.0 --cluster cluster.toml)\"; mpirun -n 4 ./a.out
  eval \"$(tasuki env --for nccl)\"; torchrun ... # on every host

Open MPI passes nothing but OMPI_* on to other hosts by itself: the last line says which variables to name
with mpirun -x.")]
#[command(group = ArgGroup::new("what").required(true).args(["mpi", "library"]))]
pub struct EnvArgs {
    /// The MPI: openmpi-4.1, openmpi-5.0, mpich-4.3, intel, or a prefix
    #[arg(long)]
    pub mpi: Option<String>,
    /// The variables of another library: nccl, for NCCL and RCCL, as in PyTorch; torch, for PyTorch's backend
    /// "tasuki". They are the same on every host
    #[arg(long = "for", value_enum, conflicts_with_all = ["lab", "cluster", "transport"])]
    pub library: Option<Library>,
    /// For this lab; none: the only one that is up
    #[arg(long, conflicts_with = "cluster")]
    pub lab: Option<String>,
    /// For the real machines of this cluster file
    #[arg(long)]
    pub cluster: Option<PathBuf>,
    /// What carries the messages; none: Tasuki if it is built and the MPI can load it, else TCP
    #[arg(long, value_enum)]
    pub transport: Option<Wanted>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
