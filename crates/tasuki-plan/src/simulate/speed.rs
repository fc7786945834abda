//! The speed of the simulator itself.

use super::{Options, Traffic, loads::open};
use crate::PlanningError;
use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeValLike,
};
use serde::Serialize;
use tasuki_topo::{Network, Tables};

/// Number of runs per load. The fastest counts, because other programs use the machine too.
const RUNS: usize = 3;

/// The speed under one load.
#[derive(Serialize)]
pub struct Speed {
    /// Load that each sender offers, per cent of its cable's rate.
    pub load_percent: u16,
    /// Number of packets that arrived.
    pub packets: u64,
    /// Packets per second of processor time.
    pub packets_per_second: f64,
    /// Cables that packets passed, per second of processor time.
    pub packet_hops_per_second: f64,
    /// Share of the offered load that arrived.
    pub accepted_share: f64,
}

/// Processor time of this thread so far, seconds. Other programs on the machine disturb it less than they
/// would a clock.
fn processor_seconds() -> Result<f64, PlanningError> {
    let usage = getrusage(UsageWho::RUSAGE_THREAD)?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(micros as f64 * 1e-6)
}

/// Measures the simulator under each load of an open loop, with packets of the first length.
pub fn speed(options: &Options, net: &Network, tables: &Tables) -> Result<Vec<Speed>, PlanningError> {
    let bytes = options.bytes.first().copied().unwrap_or(0);
    let Traffic::Open(loads) = &options.traffic else { return Ok(Vec::new()) };
    let mut speeds = Vec::new();
    for &load in loads {
        let mut best: Option<Speed> = None;
        for _ in 0..RUNS {
            let begin = processor_seconds()?;
            let (point, counts) = open(options, net, tables, load, bytes)?;
            let seconds = (processor_seconds()? - begin).max(1e-6);
            let speed = Speed {
                load_percent: load,
                packets: counts.delivered,
                packets_per_second: counts.delivered as f64 / seconds,
                packet_hops_per_second: counts.hops as f64 / seconds,
                accepted_share: point.accepted(),
            };
            if best.as_ref().is_none_or(|best| speed.packets_per_second > best.packets_per_second) {
                best = Some(speed);
            }
        }
        speeds.extend(best);
    }
    Ok(speeds)
}
