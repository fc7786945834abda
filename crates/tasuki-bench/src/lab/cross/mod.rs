//! The cross-connection paper's (a) to (d): switch, cable, cable without interrupt delay, two cables; between
//! two hosts, or with parallel programs on several.

mod kernels;
mod networks;
mod pair;

pub use kernels::{CrossKernels, CrossKernelsReport, CrossLabs};
pub use pair::{CrossReport, measure_pair};

use crate::{BenchError, nas::cross};
use tasuki_cluster::Rate;

/// What both kinds of measurement are told.
#[derive(Clone, Debug)]
pub struct CrossOptions {
    /// Rate of every NIC but those of controls.
    pub rate: Rate,
    /// Interrupt delay of (a) and (b), us.
    pub delay_us: u32,
    /// MTU of the NICs, bytes.
    pub mtu: u32,
    /// Length of messages between two hosts, bytes.
    pub bytes: u32,
    /// How often.
    pub repetitions: usize,
    /// Time for bandwidth at each point, seconds.
    pub seconds: f64,
}

impl CrossOptions {
    /// Refuses at once what would fail later.
    pub fn check(&self) -> Result<(), BenchError> {
        let bad = |text: &str| Err(BenchError::refused(text));
        match self {
            Self { repetitions: 0, .. } => bad("--repetitions 0: nothing would be measured"),
            Self { bytes: 0, .. } => bad("--bytes 0: a message has at least one byte"),
            Self { delay_us: 100_001.., .. } => bad("--delay: at most 100000 microseconds"),
            _ if !(self.seconds > 0.0 && self.seconds <= 600.0) => {
                bad("--seconds: more than 0, and at most 600")
            }
            _ => Ok(()),
        }
    }
}

/// Short names of the networks for programs, as commands take them, and their names.
pub const NETWORKS: [(&str, &str); 7] = [
    ("a", cross::SWITCH),
    ("b", cross::CABLES),
    ("b-control", cross::CABLES_CONTROL),
    ("c", cross::DELAY_OFF),
    ("d", cross::BONDED),
    ("d-striped", cross::STRIPED),
    ("d-control", cross::BONDED_CONTROL),
];

/// What carries the frames of a switch.
const BRIDGE: &str = "bridge with a port per NIC, tbf";
/// What carries the frames of a cable.
const WIRE: &str = "wire of two ports, tbf";
/// What carries the frames of two cables that are bonded.
const BONDED: &str = "two wires, balance-rr in eBPF (one MAC address)";
/// What carries the frames of two cables that are striped.
const STRIPED: &str = "two wires, striping shortest-delay";

/// NIC, path and delay, exactly.
fn driver(path: &str, delay_us: u32) -> String {
    match delay_us {
        0 => format!("veth, {path}; no delay"),
        _ => format!("veth, {path}; gro_flush_timeout {delay_us} us"),
    }
}
