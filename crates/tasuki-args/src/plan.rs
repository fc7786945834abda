//! `tasuki plan`

use super::{overwrite::Overwrite, prices::Prices, rate::rate};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use tasuki_cluster::{DEFAULT_MTU, MTU_MAX, MTU_MIN, Rate};
use tasuki_plan::{Inventory, OwnSwitch, PcieSlot};

/// What makes one proposal better than another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Best {
    /// Most bandwidth between every pair when all send to all; then the fewest hops
    #[default]
    Bandwidth,
    /// Fewest switches and relays on the way: barriers, small messages; then bandwidth
    Hops,
    /// Most bandwidth left after the worst single cable or switch fails; then bandwidth
    Failure,
    /// Least cost (or, without prices, fewest cables and switches); then bandwidth
    Cost,
    /// Fewest cables moved, where a cluster grows (--grow); then bandwidth
    Moved,
}

impl From<Best> for tasuki_plan::Best {
    fn from(best: Best) -> Self {
        match best {
            Best::Bandwidth => Self::Bandwidth,
            Best::Hops => Self::Hops,
            Best::Failure => Self::Failure,
            Best::Cost => Self::Cost,
            Best::Moved => Self::Moved,
        }
    }
}

/// Options of `tasuki plan`.
#[derive(Debug, Args)]
#[command(after_help = "\
What is proposed, as far as hosts, ports and switches allow: every host cabled to every other, rings, tori, \
graphs found by search for short paths (hosts relay for each other), switches (joined to a tree where one is \
too small; as many trees as there are NICs and switches for), and one switch with cables beside it.

Every proposal keeps to the rules of cluster files: `tasuki lab up` stands it up on this machine, and \
`tasuki cluster rails` shows what each pair of hosts gets.

Examples:
  tasuki plan --hosts 8 --nics 3
  tasuki plan --hosts 8 --nics 2 --switch 8 --switch 16 --rate 2.5G --price-cable 5 --best cost
  tasuki plan --hosts 16 --nics 4 --choose 2 -o cluster.toml && tasuki lab up cluster.toml
  tasuki plan --hosts 32 --nics 4 --rack-hosts 16 --folder plan     # cluster file, cabling list, labels, \
  picture, page
  tasuki plan --hosts 9 --nics 3 --grow cluster.toml --best moved   # hosts more, as few cables moved as \
  possible
  tasuki plan --hosts 4 --nics 2 --for my.trace --compare cluster.toml    # what suits this one program
  tasuki plan --hosts 8 --nics 4 --rate 10G --pcie 3x4              # a four-port card in a slot of four \
  lanes")]
pub struct PlanArgs {
    /// Number of hosts
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..=256))]
    pub hosts: u32,
    /// Ethernet ports of every host
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub nics: u32,
    /// A switch with so many ports, and their rate if it is another: 8 or 16@10G; once per switch
    #[arg(long = "switch", value_name = "PORTS[@RATE]", value_parser = own_switch)]
    pub switches: Vec<OwnSwitch>,
    /// Rate of every port
    #[arg(long, default_value = "1G", value_parser = rate)]
    pub rate: Rate,
    /// MTU of every port, bytes
    #[arg(
        long,
        default_value_t = DEFAULT_MTU,
        value_parser = clap::value_parser!(u32).range(i64::from(MTU_MIN)..=i64::from(MTU_MAX))
    )]
    pub mtu: u32,
    /// What NICs, cables and switches cost.
    #[command(flatten)]
    pub prices: Prices,
    /// What the best proposal has most of, or least
    #[arg(long, value_enum, default_value_t)]
    pub best: Best,
    /// Order the proposals by the time that this program takes on each: its messages, as recorded by `tasuki
    /// run --trace FILE`, replayed over their cables; proposals made for the program are added
    #[arg(long = "for", value_name = "TRACE")]
    pub program: Option<PathBuf>,
    /// With --for: put the cabling of this cluster file beside the proposals
    #[arg(long, value_name = "FILE", requires = "program")]
    pub compare: Option<PathBuf>,
    /// Cluster file of what is there already: every proposal says which of its cables stay and which are
    /// moved; --hosts and --nics are what there will be, --switch what is added
    #[arg(long, value_name = "FILE")]
    pub grow: Option<PathBuf>,
    /// PCI Express slot of every host's card or cards, generation and lanes: holds back what a host sends and
    /// relays
    #[arg(long, value_name = "GENxLANES")]
    pub pcie: Option<PcieSlot>,
    /// Hosts of a rack: gives racks and cable lengths (hosts 4.45 cm apart, racks 60 cm; cables run over the
    /// top)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub rack_hosts: Option<u32>,
    /// Seed of the search for graphs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Write everything about the chosen proposal here: cluster file, tables, cabling list by rack, labels,
    /// picture, page
    #[arg(long, value_name = "DIRECTORY")]
    pub folder: Option<PathBuf>,
    /// Print the cabling list of this proposal [default: 1 with --output or --folder]
    #[arg(long, value_name = "N")]
    pub choose: Option<usize>,
    /// Write the chosen proposal as a cluster file
    #[arg(long, short)]
    pub output: Option<PathBuf>,
    /// Whether files that are there already are replaced.
    #[command(flatten)]
    pub overwrite: Overwrite,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl PlanArgs {
    /// What there is to be cabled.
    pub fn inventory(&self) -> Inventory {
        Inventory {
            hosts: self.hosts as usize,
            nics: self.nics as usize,
            switches: self.switches.clone(),
            rate: self.rate,
            mtu: self.mtu,
            pcie: self.pcie,
            hosts_per_rack: self.rack_hosts.map(|hosts| hosts as usize),
            prices: self.prices.into(),
            seed: self.seed,
        }
    }
}

/// The largest number of ports of a switch that `plan` takes.
const PORTS_MAX: u32 = 4096;

/// Reads a switch: its number of ports, and their rate if this is not that of the hosts' ports.
fn own_switch(text: &str) -> Result<OwnSwitch, String> {
    let (ports, speed) = text.split_once('@').map_or((text, None), |(ports, speed)| (ports, Some(speed)));
    let ports = ports.parse().ok().filter(|ports| (2..=PORTS_MAX).contains(ports));
    let wrong = || format!("write the number of ports, from 2 to {PORTS_MAX}, as 8 or 16@10G");
    Ok(OwnSwitch { ports: ports.ok_or_else(wrong)?, rate: speed.map(rate).transpose()? })
}
