//! `tasuki top`.

use crate::stats::seconds_up_to;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// The tables of `tasuki top`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TopTable {
    /// Processors, memory, temperature, traffic of each host
    #[default]
    Hosts,
    /// Rates, errors and losses of each NIC
    Nics,
    /// Each process that uses Tasuki
    Ranks,
    /// Processes of each job together
    Jobs,
}

/// Options of `tasuki top`.
#[derive(Debug, Args)]
#[command(
    after_help = "On a terminal it shows one table at a time, until `q`; `?` there lists the keys: tables, \
                  order, filter, and Enter to look into a host, a cable with both of its ends, or a job. \
                  Where standard output is no terminal it prints all tables once.

  tasuki top                          # hosts of the only lab that is up, or this machine
  tasuki top --cluster cluster.toml --table nics
  tasuki top --once                   # print all tables and end
  tasuki top --json | head -n 1       # for scripts: a line for every look

Hosts need nothing but tasuki itself: an agent runs on each over ssh for as long as this command does, and \
reads what the kernel and the statistics pages of programs say. Hosts of a lab share this machine's \
processors and memory. Ranks that wait for messages may poll, which counts as busy."
)]
pub struct TopArgs {
    /// Hosts of this lab; none: the only one that is up, or this machine
    #[arg(long, conflicts_with = "cluster")]
    pub lab: Option<String>,
    /// The machines of this cluster file, over ssh
    #[arg(long)]
    pub cluster: Option<PathBuf>,
    /// The table that is shown first
    #[arg(long, value_enum, default_value_t)]
    pub table: TopTable,
    /// Seconds between two looks, 0.1 to 60
    #[arg(long, default_value_t = 0.5, value_parser = |text: &str| seconds_up_to(60.0, text))]
    pub interval: f64,
    /// Print all tables once, with the rates of one interval, and end
    #[arg(long, conflicts_with = "json")]
    pub once: bool,
    /// Print JSON, a line for every look
    #[arg(long)]
    pub json: bool,
}
