//! `tasuki topo ...`

use super::{
    overwrite::Overwrite,
    prices::Prices,
    simulate::{Rhinet2Args, SimulateArgs},
};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use tasuki_plan::{TrafficPattern, engine_named};
use tasuki_topo::{Engine, bounds::Pattern};

/// What to do with a topology.
#[derive(Debug, Subcommand)]
pub enum TopoCommand {
    /// What a cabling gives: diameter, distances, bisection, parts and cost, single points of failure
    #[command(after_help = tasuki_plan::source_help(
        "Definitions (docs/reference/topologies.md has them in full):\n  distance             switches and \
         relaying hosts that a packet passes: 1 through one switch, 0 over a \
         direct\n                       cable. \
         Mean over ordered pairs of different hosts; papers also count each host's pair \
         with\n                       itself, so that figure is given too\n  diameter             cables \
         between the two nodes that forward and are farthest apart\n  bisection            what the worst \
         cut into two halves of the hosts leaves, one direction; a range holds the truth\n  effective \
         bisection  what random halves exchange at once over single shortest paths, one direction; the range \
         is\n                       over choices of paths\n  all to all           what every pair gets when \
         all send to all, over the routes that Tasuki sets; of graphs over \
         all\n                       shortest paths, split evenly\n\n\
         Examples:\n  tasuki topo measure torus:4x4\n  tasuki topo measure torus:4x4+4         # switches \
         with 4 hosts each\n  tasuki topo measure cluster.toml --price-cable 8 --price-switch 120"))]
    Measure(MeasureArgs),
    /// Routing tables by each engine, checked by a verifier that shares no code with them
    #[command(after_help = tasuki_plan::source_help(
        "Packets of a network that never drops (credits, pause frames) can wait for each other in a circle. \
         Engines avoid\n\
         that with virtual channels, or with longer paths. One that needs more channels than there are fails \
         and says how\n\
         many it takes. `one channel` says what the same paths would do with a single one: the circle is a \
         smallest one.\n\
         Plain Ethernet and relaying hosts drop packets instead: --lossy, one channel, no deadlock.\n\n\
         Engines:\n  minimal            shortest paths, spread over hosts; layers of channels where one is \
         not free of deadlock\n  minimal-low-port   shortest paths, always the lowest \
         port\n  dimension-order    dimension by dimension; meshes, tori, rings, hypercubes \
         only\n  up-down            up a tree, then down: one channel, longer \
         paths\n  structured         shortest paths, one more channel at every hop; \
         structured-low-port\n  descending-layers  shortest paths, one more channel at every turn from down \
         to up; descending-layers-low-port\n  lash               shortest paths laid into \
         layers\n  dfsssp             shortest paths balanced by load, laid into \
         layers\n  any-channels       works with any number of channels, one included; longer paths where it \
         must\n\n\
         Examples:\n  tasuki topo route ring:5\n  tasuki topo route torus:4x4+4 --channels 2\n  \
         tasuki topo route torus:4x4 --engine up-down --tables\n  \
         tasuki topo route torus:4x4+4 --channels 16 --pattern complement"))]
    Route(RouteArgs),
    /// Packets in switches and cables: rate and latency over load, barriers, deadlock, what Ethernet drops
    #[command(after_help = tasuki_plan::source_help(
        "Switches pass packets on as their heads come (virtual cut-through), through virtual channels that \
         stop their senders when they are full; with --ethernet they store, forward and drop. Hosts offer \
         packets at random times (--load), or wait for acknowledgements (--window), or hold barriers \
         (--barrier), or do what the ranks of a program did (--trace). The\n\
         model and the format of traces: docs/internals/simulator.md.\n\n\
         Columns:\n  offered, got  Mbit/s per sending host; `got` counts what arrived\n  mean, p99     us \
         from when a packet was due until its tail arrived; beyond saturation it grows with the length of \
         the run\n  inside        us from its head's departure: switches, cables, and waiting between \
         them\n\n\
         Examples:\n  tasuki topo simulate torus:4x4+4 --engine structured\n  tasuki topo simulate \
         torus:4x4+4 --pattern complement --window 1 --bytes 256,1024,4096 --buffer 8192\n  tasuki topo \
         simulate clos:4+4 --barrier multicast --bytes 136\n  tasuki topo simulate torus:4x4 --trace \
         cg.trace --ethernet          # how long a program's messages take here\n  tasuki topo simulate \
         ring:6+2 --ignore-deadlock --load 80      # what virtual channels are for\n  tasuki topo simulate \
         cluster.toml --ethernet --pattern hot-spot --hot 50"))]
    Simulate(Box<SimulateArgs>),
    /// The published evaluation of topologies on RHiNET-2, run again: every cell published, simulated,
    /// difference
    #[command(after_help = "\
The tables and stated figures of Koibuchi, Watanabe, Otsuka, Amano (IPSJ Transactions 2004): 16 switches \
with 8 ports, 64 hosts, barriers and bandwidths on mesh, torus, ring, fat tree and Clos networks. The model \
is fitted to figure 4 and table 8; waiting comes from the simulation. Of the irregular networks A and B only \
statistics are known: a range over the graphs that have them. Tables 10 to 12: tasuki paper \
rhinet2 --traces. All that went in is listed at the end, and in docs/internals/simulator.md.

`agrees`: within 2 % or two of the paper's standard errors; within 5 points for what complement traffic \
loses (T9), within 3 for torus over mesh (F6); a range must hold the published figure.

Examples:
  tasuki topo rhinet2
  tasuki topo rhinet2 --graphs 50 --plots figures
  tasuki topo rhinet2 --sensitivity          # which choice of the model moves which cell
  tasuki topo rhinet2 --json | jq -r '.[] | [.table, .cell, .published, .simulated] | @tsv'")]
    Rhinet2(Rhinet2Args),
    /// Slow receivers (figures 5 to 7 of the ATM paper), and many senders at once, over this transport,
    /// simulated
    #[command(after_help = super::receivers::RECEIVERS_HELP)]
    Receivers(super::ReceiversArgs),
    /// A network part by part, and its picture
    #[command(after_help = tasuki_plan::source_help(super::topo_tables::SHOW_HELP))]
    Show(super::ShowArgs),
    /// Check routing tables from a file, wherever they come from
    #[command(after_help = tasuki_plan::source_help(super::topo_tables::VERIFY_HELP))]
    Verify(super::VerifyArgs),
    /// Measure several networks, side by side
    #[command(after_help = tasuki_plan::source_help(super::topo_tables::COMPARE_HELP))]
    Compare(super::CompareArgs),
}

/// Options of `tasuki topo measure`.
#[derive(Debug, Args)]
pub struct MeasureArgs {
    /// Cluster file, or a shape as torus:4x4 (see below)
    pub network: String,
    /// What NICs, cables and switches cost.
    #[command(flatten)]
    pub prices: Prices,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `tasuki topo route`.
#[derive(Debug, Args)]
pub struct RouteArgs {
    /// Cluster file, or a shape as torus:4x4 (see below)
    pub network: String,
    /// Only this engine (see below) [default: all]
    #[arg(long, short, value_parser = engine_named)]
    pub engine: Option<Engine>,
    /// Virtual channels that every cable has
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..))]
    pub channels: u8,
    /// The network drops packets instead of waiting
    #[arg(long, conflicts_with = "channels")]
    pub lossy: bool,
    /// Also say what this traffic gets over each engine's tables, and how much more any routes could give
    #[arg(long, value_enum)]
    pub pattern: Option<Traffics>,
    /// Print the tables too
    #[arg(long)]
    pub tables: bool,
    /// Write the engine's tables here, for `topo verify` and other programs
    #[arg(long, short, value_name = "FILE", requires = "engine")]
    pub output: Option<PathBuf>,
    /// Whether files that are there already are replaced.
    #[command(flatten)]
    pub overwrite: Overwrite,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Traffic: which host sends to which, all at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Traffics {
    /// Every host to every other
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

impl From<Traffics> for TrafficPattern {
    fn from(traffics: Traffics) -> Self {
        match traffics {
            Traffics::AllToAll => Self::AllToAll,
            Traffics::Neighbour => Self::Neighbour,
            Traffics::BitReversal => Self::Switches(Pattern::BitReversal),
            Traffics::MatrixTranspose => Self::Switches(Pattern::MatrixTranspose),
            Traffics::Butterfly => Self::Switches(Pattern::Butterfly),
            Traffics::Complement => Self::Switches(Pattern::Complement),
        }
    }
}
