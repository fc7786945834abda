//! `rhinet2.toml`.

use serde::Deserialize;
use std::collections::BTreeMap;

/// Figures of the evaluation on RHiNET-2.
#[derive(Clone, Debug, Deserialize)]
pub struct Rhinet2 {
    /// Section 3.
    pub hardware: Hardware,
    /// Section 4.1.2.
    pub packets: Packets,
    /// Section 4.2.1.
    pub model_barrier: ModelBarrier,
    /// Table 1: formulas of diameter and degree.
    #[serde(rename = "T1_diameter_degree")]
    pub table1: BTreeMap<String, Formulas>,
    /// Table 3: the barrier of 64 hosts, in the order of the table.
    #[serde(rename = "T3_barrier64")]
    pub table3: Vec<Barrier64>,
    /// Table 4: hosts, injection, hops, waiting, us.
    #[serde(rename = "T4_breakdown64_us")]
    pub table4: BTreeMap<String, [f64; 4]>,
    /// Table 5: the barrier of 32 hosts.
    #[serde(rename = "T5_barrier32")]
    pub table5: BTreeMap<String, Barrier>,
    /// Table 6: as table 4.
    #[serde(rename = "T6_breakdown32_us")]
    pub table6: BTreeMap<String, [f64; 4]>,
    /// Table 7: the barrier of 16 hosts.
    #[serde(rename = "T7_barrier16")]
    pub table7: BTreeMap<String, Barrier>,
    /// Table 8: parts of the time of a packet, us.
    #[serde(rename = "T8_data_packet_1792B_us")]
    pub table8: Table8,
    /// Table 9: complement traffic, MByte/s.
    #[serde(rename = "T9_complement_1792B_mbyte_s")]
    pub table9: BTreeMap<String, Bandwidth>,
    /// Table 10: seconds of NAS programs on networks of 64 hosts.
    #[serde(rename = "T10_npb_64host_topologies_s")]
    pub table10: BTreeMap<String, [f64; 5]>,
    /// Table 11: seconds of NAS programs on networks of 32 hosts.
    #[serde(rename = "T11_npb_32host_topologies_s")]
    pub table11: BTreeMap<String, [f64; 4]>,
    /// Table 12: computing, communicating, waiting, s.
    #[serde(rename = "T12_breakdown_topology_A_s")]
    pub table12: BTreeMap<String, [f64; 3]>,
    /// What the text says.
    pub text_results: BTreeMap<String, toml::Value>,
}

/// Section 3.
#[derive(Clone, Debug, Deserialize)]
pub struct Hardware {
    /// Rate of a link without its ECC, Gbit/s.
    pub payload_gbps: f64,
    /// Buffer of a virtual channel, bytes.
    pub vc_buffer_bytes: f64,
    /// Virtual channels of a port.
    pub vcs_per_port: f64,
    /// Headers and trailer of a packet, bytes.
    pub header_trailer_bytes: f64,
    /// Length of a flit, bytes.
    pub flit_bytes: f64,
}

/// Section 4.1.2.
#[derive(Clone, Debug, Deserialize)]
pub struct Packets {
    /// Length of a packet of a barrier, flits.
    pub barrier_flits: f64,
    /// Most data in a packet, bytes.
    pub max_data_bytes: f64,
    /// Time that one more switch adds to a round trip, us.
    #[serde(rename = "per_switch_ROUND_TRIP_us")]
    pub per_switch_us: f64,
}

/// Section 4.2.1.
#[derive(Clone, Debug, Deserialize)]
pub struct ModelBarrier {
    /// Time in hosts per pair of steps, us.
    pub host_us_per_step_pair: f64,
}

/// A row of table 1.
#[derive(Clone, Debug, Deserialize)]
pub struct Formulas {
    /// Cables on the longest path.
    pub diameter: String,
    /// Most cables between switches at one switch.
    pub degree: String,
}

/// A row of table 3.
#[derive(Clone, Debug, Deserialize)]
pub struct Barrier64 {
    /// Name of the network.
    pub topology: String,
    /// Time of the barrier, us.
    pub time_us: f64,
    /// Mean number of switches between hosts.
    pub avg_dist: f64,
}

/// A row of tables 5 and 7.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Barrier {
    /// Time of the barrier, us.
    pub time_us: f64,
    /// Mean number of switches between hosts.
    pub avg_dist: f64,
}

/// Table 8.
#[derive(Clone, Debug, Deserialize)]
pub struct Table8 {
    /// "8.46+0.7s": us without switches, and per switch.
    pub total: String,
    /// Time in hosts, us.
    pub host: f64,
    /// Injection of the acknowledgement, us.
    pub ack_inj: f64,
    /// Injection of the packet, us.
    pub pkt_inj: f64,
}

/// A row of table 9.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Bandwidth {
    /// Without packets that meet, MByte/s.
    pub ideal: f64,
    /// As measured, MByte/s.
    pub measured: f64,
    /// What is lost by packets that meet, %.
    pub drop_pct: f64,
}

impl Rhinet2 {
    /// A figure of the text; not a number if the file has none of this name.
    pub fn text(&self, key: &str) -> f64 {
        let value = self.text_results.get(key);
        value
            .and_then(|value| value.as_float().or(value.as_integer().map(|whole| whole as f64)))
            .unwrap_or(f64::NAN)
    }

    /// A row of table 3.
    pub fn barrier64(&self, topology: &str) -> Barrier {
        let row = self.table3.iter().find(|row| row.topology == topology);
        row.map_or(Barrier::MISSING, |row| Barrier { time_us: row.time_us, avg_dist: row.avg_dist })
    }
}

impl Barrier {
    /// What stands for a row that a file does not have: nothing agrees with it.
    pub const MISSING: Barrier = Barrier { time_us: f64::NAN, avg_dist: f64::NAN };
}

impl Table8 {
    /// Time without switches, and per switch, us.
    pub fn total(&self) -> [f64; 2] {
        let parse = |text: &str| text.trim().parse().unwrap_or(f64::NAN);
        let (fixed, slope) = self.total.split_once('+').unwrap_or((&self.total, ""));
        [parse(fixed), parse(slope.trim_end_matches('s'))]
    }
}
