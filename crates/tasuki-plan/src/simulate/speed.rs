//! How fast the simulator itself is.

use super::{Options, Traffic, loads::open};
use crate::PlanningError;
use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeValLike,
};
use serde::Serialize;
use tasuki_topo::{Network, Tables};

/// Runs per load; the fastest counts, as others use the machine too.
const RUNS: usize = 3;

/// One load.
#[derive(Serialize)]
pub struct Speed {
    /// What each sender offers, percent of its cable's rate.
    pub load_percent: u16,
    /// Packets that arrived.
    pub packets: u64,
    /// Packets per second of processor time.
    pub packets_per_second: f64,
    /// Cables that packets passed, per second of processor time.
    pub packet_hops_per_second: f64,
    /// What arrived, over what was offered.
    pub accepted_share: f64,
}

/// Processor time of this thread so far, seconds: it shows less of what others do on the machine than a clock does.
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
