//! The parts to be cabled.

use std::str::FromStr;
use tasuki_cluster::{DEFAULT_MTU, DEFAULT_RATE, Rate, generate::Options};

/// Hosts of one kind, switches, and the racks where they stand.
#[derive(Clone, Debug, PartialEq)]
pub struct Inventory {
    /// Number of hosts, at least 2.
    pub hosts: usize,
    /// Ethernet ports of every host, at least 1.
    pub nics: usize,
    /// Switches, in any order.
    pub switches: Vec<OwnSwitch>,
    /// Rate of every port of a host.
    pub rate: Rate,
    /// MTU of every port, bytes.
    pub mtu: u32,
    /// PCI Express slot that all NICs of a host share; `None` if it is no bottleneck.
    pub pcie: Option<PcieSlot>,
    /// Number of hosts per rack; `None`: no racks, and no cable lengths.
    pub hosts_per_rack: Option<usize>,
    /// Prices of parts.
    pub prices: Prices,
    /// Seed of all searches.
    pub seed: u64,
}

impl Inventory {
    /// Hosts with so many ports of the default rate and MTU each, without switches, racks and prices.
    pub fn new(hosts: usize, nics: usize) -> Inventory {
        Inventory {
            hosts,
            nics,
            switches: Vec::new(),
            rate: DEFAULT_RATE,
            mtu: DEFAULT_MTU,
            pcie: None,
            hosts_per_rack: None,
            prices: Prices::default(),
            seed: 1,
        }
    }

    /// Options for the builder of clusters: rate and MTU of all NICs, one cable at a time.
    pub(crate) fn options(&self) -> Options {
        Options { rate: self.rate, mtu: self.mtu, ..Options::default() }
    }
}

/// A switch of the inventory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnSwitch {
    /// Number of ports.
    pub ports: u32,
    /// Rate of a port; `None`: that of the hosts' ports.
    pub rate: Option<Rate>,
}

/// Prices of parts, in any currency; a part without a price costs nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prices {
    /// Price of a cable.
    pub cable: Option<f64>,
    /// Price of a port of a NIC.
    pub nic: Option<f64>,
    /// Price of a switch.
    pub switch: Option<f64>,
    /// Price of a metre of cable, in addition to the price of the cable; counts only if lengths are known.
    pub metre: Option<f64>,
}

/// A PCI Express slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PcieSlot {
    /// Generation, 1 to 5.
    pub generation: u8,
    /// Number of lanes, 1 to 16.
    pub lanes: u8,
}

impl PcieSlot {
    /// Rate of payload in each direction, bit/s: the transfers per second of all lanes, less the line code
    /// (8b/10b, or 128b/130b from generation 3 on), less 24 bytes of framing, header and checks for every 256
    /// bytes of payload.
    pub fn bits_per_second(self) -> f64 {
        let lane = match self.generation {
            1 => 2.5e9 * 0.8,
            2 => 5.0e9 * 0.8,
            generation => 8.0e9 * f64::from(1u32 << (generation - 3)) * 128.0 / 130.0,
        };
        lane * f64::from(self.lanes) * 256.0 / 280.0
    }
}

impl FromStr for PcieSlot {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('x').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        let known = |&(generation, lanes): &(u8, u8)| {
            (1..=5).contains(&generation) && [1, 2, 4, 8, 16].contains(&lanes)
        };
        let slot = numbers.filter(known).map(|(generation, lanes)| Self { generation, lanes });
        slot.ok_or_else(|| "write generation (1 to 5) and lanes (1, 2, 4, 8, 16), as 3x4".into())
    }
}
