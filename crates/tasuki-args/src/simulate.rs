//! `tasuki topo simulate` and `tasuki topo rhinet2`

use super::overwrite::Overwrite;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use tasuki_plan::engine_named;
use tasuki_sim::fabric::loads::{BarrierShape, Pattern};
use tasuki_terminal::Failure;
use tasuki_topo::{Engine, bounds};

/// Share of the packets of a hot spot, unless said otherwise.
const HOT_PERCENT: u8 = 10;

/// Options of `tasuki topo simulate`.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// Cluster file, or a shape as torus:4x4+4 (see below)
    pub network: String,
    /// Traffic: which host sends to which
    #[arg(long, short, value_enum, default_value_t)]
    pub pattern: Simulated,
    /// Percent of the packets that go to the first host with --pattern hot-spot
    /// [default: 10]
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=100))]
    pub hot: Option<u8>,
    /// What each sending host offers, percent of its cable's rate
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "10,20,30,40,50,60,70,80,90,100",
        conflicts_with_all = ["window", "barrier"],
        value_parser = clap::value_parser!(u16).range(1..=1000)
    )]
    pub load: Vec<u16>,
    /// Closed loop: each host has so many packets that are not acknowledged (remote writes)
    #[arg(long, conflicts_with = "barrier", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub window: Option<u32>,
    /// Barriers of all hosts instead of a pattern, over random orders of the hosts
    #[arg(long, value_enum, conflicts_with = "pattern")]
    pub barrier: Option<Barriers>,
    /// Replays the messages of a program (format: docs/reference/trace-format.md); rank 0 is on the first
    /// host
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["pattern", "load", "window", "barrier", "speed", "plot"]
    )]
    pub trace: Option<PathBuf>,
    /// Random orders for --barrier
    #[arg(
        long,
        default_value_t = 20,
        requires = "barrier",
        conflicts_with_all = ["pattern", "load", "window", "trace", "speed"],
        value_parser = clap::value_parser!(u32).range(1..=100_000)
    )]
    pub lists: u32,
    /// Length of a packet, headers included
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "1024",
        value_parser = clap::value_parser!(u32).range(16..=1_000_000)
    )]
    pub bytes: Vec<u32>,
    /// Length of an acknowledgement, for --window
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(16..=1_000_000))]
    pub ack_bytes: u32,
    /// Routes (see `tasuki topo route --help`)
    #[arg(long, short, value_parser = engine_named, default_value = "minimal")]
    pub engine: Engine,
    /// Virtual channels that every cable has
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=254))]
    pub channels: u8,
    /// Ethernet: switches store packets, forward them, and drop what their queues have no room for
    #[arg(long, conflicts_with_all = ["channels", "buffer", "go", "ignore_deadlock"])]
    pub ethernet: bool,
    /// Buffer per virtual channel, bytes
    #[arg(long, default_value_t = 4096, value_parser = clap::value_parser!(u32).range(16..))]
    pub buffer: u32,
    /// Go & Stop instead of credits: Go when a buffer holds no more than so many bytes
    #[arg(long, value_name = "BYTES")]
    pub go: Option<u32>,
    /// Queue per port with --ethernet, bytes
    #[arg(
        long,
        default_value_t = 128 << 10,
        requires = "ethernet",
        conflicts_with_all = ["channels", "buffer", "go", "ignore_deadlock"]
    )]
    pub queue: u32,
    /// From a packet's arrival at a switch until it can leave [default: 100, with --ethernet 2000]
    #[arg(long, value_name = "NS", value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    pub switch_ns: Option<u64>,
    /// Along a cable, 5 ns per metre
    #[arg(
        long,
        value_name = "NS",
        default_value_t = 25,
        value_parser = clap::value_parser!(u64).range(..=1_000_000)
    )]
    pub cable_ns: u64,
    /// A host for a packet or message that it sends, and the same for one that it receives
    /// (--window, --barrier)
    #[arg(
        long,
        value_name = "NS",
        default_value_t = 1000,
        value_parser = clap::value_parser!(u64).range(..=1_000_000_000)
    )]
    pub host_ns: u64,
    /// Use the engine's paths with one virtual channel, even if packets can wait for each other in a circle
    #[arg(long)]
    pub ignore_deadlock: bool,
    /// How long: as many packets as a host's cable could carry one after the other
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u64).range(10..=10_000_000))]
    pub packets: u64,
    /// Seed of everything random
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Draw latency and rate over the load as SVG
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Whether files that are there already are replaced.
    #[command(flatten)]
    pub overwrite: Overwrite,
    /// How fast the simulator itself is on this machine: packets and packet-hops per second
    #[arg(long, conflicts_with_all = ["window", "barrier", "plot"])]
    pub speed: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl SimulateArgs {
    /// Refuses an option that would have no effect.
    pub fn check(&self) -> Result<(), Failure> {
        match self.hot.is_some() && !matches!(self.pattern, Simulated::HotSpot) {
            true => Err(Failure::usage("--hot is for --pattern hot-spot")),
            false => Ok(()),
        }
    }

    /// The traffic that the arguments ask for.
    pub fn pattern(&self) -> Pattern {
        match self.pattern {
            Simulated::Uniform => Pattern::Uniform,
            Simulated::HotSpot => Pattern::HotSpot(self.hot.unwrap_or(HOT_PERCENT)),
            Simulated::AllToAll => Pattern::AllToAll,
            Simulated::Neighbour => Pattern::Neighbour,
            Simulated::BitReversal => Pattern::Switches(bounds::Pattern::BitReversal),
            Simulated::MatrixTranspose => Pattern::Switches(bounds::Pattern::MatrixTranspose),
            Simulated::Butterfly => Pattern::Switches(bounds::Pattern::Butterfly),
            Simulated::Complement => Pattern::Switches(bounds::Pattern::Complement),
        }
    }
}

/// Traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Simulated {
    /// Every packet to a host drawn at random
    #[default]
    Uniform,
    /// Like `uniform`, but a share of the packets goes to the first host (--hot)
    HotSpot,
    /// Every host to all others in turn
    AllToAll,
    /// Every host to the next one
    Neighbour,
    /// Between switches, one host of each sending and another receiving: number of the switch in binary, bits
    /// reversed
    BitReversal,
    /// Like `bit-reversal`, with halves of the bits exchanged
    MatrixTranspose,
    /// Like `bit-reversal`, with first and last bit exchanged
    Butterfly,
    /// Like `bit-reversal`, with all bits inverted
    Complement,
}

/// Kinds of barriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Barriers {
    /// Multicast by single packets, log2 n steps, and its reverse
    Multicast,
    /// Every host tells the one 1, 2, 4, ... further on
    Dissemination,
    /// Up a binary tree and down again
    Tree,
}

impl From<Barriers> for BarrierShape {
    fn from(kind: Barriers) -> Self {
        match kind {
            Barriers::Multicast => Self::Multicast,
            Barriers::Dissemination => Self::Dissemination,
            Barriers::Tree => Self::Tree(2),
        }
    }
}

/// Options of `tasuki topo rhinet2`.
#[derive(Debug, Args)]
pub struct Rhinet2Args {
    /// Random visit lists per barrier; the paper had 10
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub lists: u32,
    /// Graphs that could be A, and graphs that could be B, at most [default: all]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub graphs: Option<u32>,
    /// Seed of the visit lists
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Say which choice of the model moves which cell, instead
    #[arg(long)]
    pub sensitivity: bool,
    /// Say what went into the model, and why, instead; the table ends with it too
    #[arg(long, conflicts_with = "sensitivity")]
    pub constants: bool,
    /// Write the curves of figures 4, 6, 7 and 8 to a folder as SVG
    #[arg(long, value_name = "FOLDER")]
    pub plots: Option<PathBuf>,
    /// Whether files that are there already are replaced.
    #[command(flatten)]
    pub overwrite: Overwrite,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
