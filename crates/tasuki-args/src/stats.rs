//! `tasuki stats` and `tasuki doctor`.

use clap::{
    Args,
    builder::{OsStringValueParser, TypedValueParser},
};
use std::{ffi::OsString, path::PathBuf};

/// Options of `tasuki stats`.
#[derive(Debug, Args)]
#[command(
    after_help = "Every process that uses Tasuki keeps its counters in a page of shared memory, which this \
                  command reads without disturbing it.

  tasuki stats                        # totals of what runs in the only lab that is up, or on this machine
  tasuki stats --watch                # what each rail carries per second, until Ctrl-C
  tasuki stats --lab four --json      # everything, for scripts
  tasuki stats --striping             # what striping sends over each NIC

RTT is smoothed; `resent` are bytes that went again, `lost` packets given up for lost; `credit` is what
may go to a peer unasked. TASUKI_STATS=0 keeps a program from writing a page."
)]
pub struct StatsArgs {
    /// Processes in all hosts of this lab; none: the only one that is up, or this machine
    #[arg(long, conflicts_with = "cluster")]
    pub lab: Option<String>,
    /// Processes on the machines of this cluster file, over ssh
    #[arg(long)]
    pub cluster: Option<PathBuf>,
    /// Show what plain TCP and UDP send over each NIC of hosts that stripe, instead (needs root there)
    #[arg(long, conflicts_with = "watch")]
    pub striping: bool,
    /// Refresh, with rates per second
    #[arg(long)]
    pub watch: bool,
    /// With --watch: all columns, in several parts where the terminal is too narrow for them
    #[arg(long, requires = "watch", conflicts_with = "striping")]
    pub all: bool,
    /// Seconds between two looks
    #[arg(long, default_value_t = 1.0, value_parser = seconds)]
    pub interval: f64,
    /// Print JSON; with --watch one line per look
    #[arg(long)]
    pub json: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    seconds_up_to(3600.0, text)
}

/// A number of seconds between two looks, `most` at most.
pub(crate) fn seconds_up_to(most: f64, text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("{text:?} is no number of seconds"))?;
    if (0.1..=most).contains(&seconds) { Ok(seconds) } else { Err(format!("from 0.1 to {most} seconds")) }
}

/// A program, which no cluster file is.
fn program(name: OsString) -> Result<OsString, String> {
    match name.as_encoded_bytes().ends_with(b".toml") {
        true => Err(format!(
            "this is no program; the hosts of a cluster file are named by --cluster {}",
            name.display()
        )),
        false => Ok(name),
    }
}

/// Options of `tasuki doctor`.
#[derive(Debug, Args)]
#[command(
    after_help = "  tasuki doctor                       # hosts of the only lab that is up, or this machine
  tasuki doctor ./a.out               # and whether that program's MPI can use Tasuki
  tasuki doctor --lab four --mpi mpich-4.3

Each finding comes with what improves it. The exit code is 0 if nothing is amiss or merely slower than it
could be, 1 if something keeps Tasuki from being used."
)]
pub struct DoctorArgs {
    /// Hosts of this lab; none: the only one that is up, or this machine
    #[arg(long, conflicts_with = "cluster")]
    pub lab: Option<String>,
    /// The machines of this cluster file, over ssh
    #[arg(long)]
    pub cluster: Option<PathBuf>,
    /// Look at this MPI: openmpi-5.0, mpich-4.3, intel, or a prefix; none: all that are installed
    #[arg(long)]
    pub mpi: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// A program, whose MPI is to be looked at
    #[arg(value_parser = OsStringValueParser::new().try_map(program))]
    pub program: Option<OsString>,
}
