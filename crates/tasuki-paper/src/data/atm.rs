//! `atm.toml`.

use serde::Deserialize;

/// The file.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct File {
    /// Its only table.
    pub atm: Atm,
}

/// Figures of the ATM paper.
#[derive(Clone, Debug, Deserialize)]
pub struct Atm {
    /// Rate of a connection, Mbit/s.
    pub link_mbps: f64,
    /// R of both kinds of hosts, Mbit/s.
    #[serde(rename = "R_mbps")]
    pub r_mbps: Pair,
    /// B of both kinds of hosts, bytes.
    #[serde(rename = "B_bytes")]
    pub b_bytes: Pair,
    /// Lengths of the messages of table 1, bytes.
    pub table1_bytes: Vec<f64>,
    /// Table 1 for the slower hosts, Mbit/s.
    #[serde(rename = "table1_SS5_mbps")]
    pub table1_ss5_mbps: Vec<f64>,
    /// Table 1 for the faster hosts, Mbit/s.
    #[serde(rename = "table1_SS20_mbps")]
    pub table1_ss20_mbps: Vec<f64>,
    /// Figure 5, equal hosts.
    #[serde(rename = "fig5_SS20_SS20")]
    pub figure5: Figure5,
    /// Figure 6, from fast to slow.
    #[serde(rename = "fig6_SS20_SS5")]
    pub figure6: Figure6,
    /// Figure 7, from slow to fast.
    #[serde(rename = "fig7_SS5_SS20")]
    pub figure7: Figure7,
}

/// A figure of each kind of hosts.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Pair {
    /// The slower hosts.
    #[serde(rename = "SS5")]
    pub ss5: f64,
    /// The faster hosts.
    #[serde(rename = "SS20")]
    pub ss20: f64,
}

/// What the text says of figure 5.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Figure5 {
    /// Packets lost without and with pace, %.
    pub loss_pct: [f64; 2],
    /// Length of the message of which that is said, MByte.
    pub at_mbyte: f64,
    /// By how much pace raises the throughput, mean, %.
    pub throughput_gain_pct: f64,
    /// Messages below which no pace is faster, MByte.
    pub slower_below_mbyte: f64,
    /// The highest throughput, Mbit/s.
    pub max_mbps: f64,
    /// Mean throughput with pace, Mbit/s.
    pub mean_mbps: f64,
}

/// What the text says of figure 6.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Figure6 {
    /// Packets lost without and with pace, %.
    pub loss_pct: [f64; 2],
    /// How many times pace raises the throughput.
    pub gain: f64,
    /// Throughput with pace, Mbit/s.
    pub mbps: f64,
}

/// What the text says of figure 7.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Figure7 {
    /// How many times pace raises the throughput.
    pub gain: f64,
    /// Throughput, Mbit/s.
    pub mbps: f64,
}
