//! `scoreiii.toml`.

use serde::Deserialize;
use std::collections::BTreeMap;

/// Figures of SCore III.
#[derive(Clone, Debug, Deserialize)]
pub struct Score {
    /// Table 1.
    #[serde(rename = "T1_spec")]
    pub table1: Specification,
    /// Section 3.1.
    pub myrinet: Myrinet,
    /// Section 3.2.
    pub ethernet: Ethernet,
    /// Section 3.3.
    pub racks: Racks,
    /// Figures 10 and 11: MPI bandwidth, MByte/s.
    #[serde(rename = "fig10_11_mpi_bandwidth_mbyte_s")]
    pub bandwidth: BTreeMap<String, f64>,
    /// Table 2: half round trip of 4 bytes, us.
    #[serde(rename = "T2_latency_us_rtt_half_4B")]
    pub latency: BTreeMap<String, f64>,
    /// Table 3: start of a program, s.
    #[serde(rename = "T3_startup_s")]
    pub startup: BTreeMap<String, toml::Value>,
    /// Section 6.4.
    pub linpack: Linpack,
}

/// Table 1.
#[derive(Clone, Debug, Deserialize)]
pub struct Specification {
    /// Number of hosts.
    pub hosts: f64,
}

/// Section 3.1.
#[derive(Clone, Debug, Deserialize)]
pub struct Myrinet {
    /// Ports of a crossbar.
    pub crossbar_ports: f64,
    /// Rate of a link in one direction, Gbit/s.
    pub link_gbps_per_direction: f64,
    /// What the halves of the machine can exchange, both directions, Tbit/s.
    pub bisection_tbps: f64,
}

/// Section 3.2, for one plane.
#[derive(Clone, Debug, Deserialize)]
pub struct Ethernet {
    /// Number of planes.
    pub planes: f64,
    /// Hosts of a switch.
    pub hosts_per_leaf: f64,
    /// Switches with hosts.
    pub leaves: f64,
    /// Rate of a host's link, Mbit/s.
    pub leaf_mbps: f64,
    /// Rate of the link between two switches, Gbit/s.
    pub uplink_gbps: f64,
    /// What the halves of the machine can exchange, both directions, Gbit/s.
    pub bisection_gbps: f64,
    /// What all hosts could exchange without a limit between switches, both directions, Gbit/s.
    pub full_bisection_gbps: f64,
}

/// Section 3.3.
#[derive(Clone, Debug, Deserialize)]
pub struct Racks {
    /// Racks with hosts.
    pub module_racks: f64,
    /// Hosts of a rack.
    pub hosts_per_rack: f64,
}

/// Section 6.4.
#[derive(Clone, Debug, Deserialize)]
pub struct Linpack {
    /// Result of August 2001, Gflop/s.
    pub aug_2001_gflops: f64,
    /// Processors of that run.
    pub aug_2001_cpus: f64,
}

impl Score {
    /// Seconds to start a program on so many nodes over Myrinet, one Ethernet and two.
    pub fn startup_s(&self, nodes: u32) -> [f64; 3] {
        let row = self.startup.get(&format!("n{nodes}")).and_then(toml::Value::as_array);
        let at = |column: usize| {
            let value = row.and_then(|row| row.get(column));
            value.and_then(|value| value.as_float().or(value.as_integer().map(|whole| whole as f64)))
        };
        [0, 1, 2].map(|column| at(column).unwrap_or(f64::NAN))
    }
}
