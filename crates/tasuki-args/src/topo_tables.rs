//! `tasuki topo show|verify|compare`

use super::{overwrite::Overwrite, prices::Prices};
use clap::Args;
use std::path::PathBuf;

/// Examples of `tasuki topo show`.
pub const SHOW_HELP: &str = "\
Prints every part with its ports and where their cables lead, in the order of the ports. Pictures need \
nothing else: the SVG goes into any document; the page opens in any browser, also without a network, and \
shows a part's cables when you point at it.

Examples:
  tasuki topo show cluster.toml
  tasuki topo show torus:4x4+4 --svg torus.svg
  tasuki topo show score-iii-myrinet --html network.html";

/// Options of `tasuki topo show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Cluster file, or a shape as torus:4x4 (see below)
    pub network: String,
    /// Write the picture here
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write a page with the picture, the figures and all cables here
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Whether files that are there already are replaced.
    #[command(flatten)]
    pub overwrite: Overwrite,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What `tasuki topo verify` does.
pub const VERIFY_HELP: &str = "\
Follows every pair of hosts through the tables as switches would: does the packet arrive, on which virtual \
channels, over how many cables more than necessary? All that packets can wait for makes a graph; a circle in \
it is a possible deadlock, and the smallest one is printed. The verifier shares no code with what makes \
tables, and does not care where they come from.

The file is JSON, as `tasuki topo route NETWORK --engine E --output FILE` writes it:
  {\"format\": 1, \"engine\": \"by hand\", \"channels\": 1,
   \"nodes\": [{\"node\": \"sw1\", \"to\": [{\"host\": \"n1\", \"port\": 1}, ...],
              \"turns\": [{\"in\": 1, \"out\": 2, \"rule\": \"raise\"}]}, ...]}
Nodes with several cables have tables, ports count from 1 as `topo show` prints them. `channel` beside a \
host is the virtual channel of packets that enter at this node. `turns` say what becomes of it from port to \
port: raise it, or {\"set\": N}; all others keep it.

Exit code 0 if everything is proven, 1 if not.

Examples:
  tasuki topo route torus:4x4+4 --engine lash --output tables.json
  tasuki topo verify torus:4x4+4 tables.json --minimal
  tasuki topo verify cluster.toml tables.json --without n1,n2 --lossy";

/// Options of `tasuki topo verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Cluster file, or a shape as torus:4x4 (see below)
    pub network: String,
    /// Routing tables (see below)
    pub tables: PathBuf,
    /// Virtual channels that every cable has [default: as many as the tables claim]
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..))]
    pub channels: Option<u8>,
    /// The network drops packets instead of waiting: a circle is no fault
    #[arg(long)]
    pub lossy: bool,
    /// Paths that are longer than necessary are a fault
    #[arg(long)]
    pub minimal: bool,
    /// As if this cable (or all of several) between two nodes, or this node, had failed; may be repeated
    #[arg(long, value_name = "NODE[,NODE]")]
    pub without: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Examples of `tasuki topo compare`.
pub const COMPARE_HELP: &str = "\
Measures several networks and prints them side by side. Rows are explained by `tasuki topo measure --help`; \
channels are the virtual channels that an engine needs on the network, if packets wait instead of being \
dropped.

Examples:
  tasuki topo compare ring:8 torus:4x2 optimal:8/3 full:8
  tasuki topo compare old.toml new.toml --price-cable 5 --price-switch 100
  tasuki topo compare torus:4x4+4 mesh:4x4+4 clos-both:8+4 --json";

/// Options of `tasuki topo compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Cluster files, or shapes as torus:4x4 (see below)
    #[arg(required = true, num_args = 2..)]
    pub networks: Vec<String>,
    /// What NICs, cables and switches cost.
    #[command(flatten)]
    pub prices: Prices,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
