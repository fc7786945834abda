//! `tasuki topo receivers`

use super::overwrite::Overwrite;
use clap::Args;
use std::path::PathBuf;

/// Explains `tasuki topo receivers`.
pub const RECEIVERS_HELP: &str = "\
Simulates, always with the same result:
  - figures 5 to 7 of the ATM paper (equal hosts, fast to slow, slow to fast), and receivers with a quota or \
a load that comes and goes. Unpaced and static are the paper's protocol on the paper's model; window and \
adaptive are this transport's own layers, which are told neither R nor B. Mean of ten messages, as in the \
paper; throughput counts everything from request to completion; loss is packets lost of packets in the \
message.
  - with --crowd: 16 senders to one receiver, and everybody to everybody, through a switch with ports of 16 \
  x 64 KiB, with one queue and with two.
docs/results/grants.md says what went in.

Examples:
  tasuki topo receivers
  tasuki topo receivers --sizes 500000,5000000 --json
  tasuki topo receivers --plots results
  tasuki topo receivers --crowd";

/// Options of `tasuki topo receivers`.
#[derive(Debug, Args)]
pub struct ReceiversArgs {
    /// Lengths of messages, in bytes
    #[arg(long, value_delimiter = ',', default_values_t = tasuki_rate::paper::TABLE1_BYTES)]
    pub sizes: Vec<u64>,
    /// Many senders at once instead
    #[arg(long, conflicts_with = "plots")]
    pub crowd: bool,
    /// Write the figures into this folder
    #[arg(long)]
    pub plots: Option<PathBuf>,
    /// Whether files that are there already are replaced.
    #[command(flatten)]
    pub overwrite: Overwrite,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
