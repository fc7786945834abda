//! `tasuki topo simulate --speed`: how fast the simulator is.

use super::{range::digits, simulate::open};
use crate::{
    args::SimulateArgs,
    failure::Failure,
    terminal::{print_json, table},
};
use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeValLike,
};
use serde::Serialize;
use std::process::ExitCode;
use tasuki_topo::{Network, Tables};

/// Runs per load; the fastest counts, as others use the machine too.
const RUNS: usize = 3;

/// One load.
#[derive(Serialize)]
struct Speed {
    load_percent: u16,
    packets: u64,
    packets_per_second: f64,
    packet_hops_per_second: f64,
    /// What arrived, over what was offered.
    accepted_share: f64,
}

/// Processor time of this thread so far: what others do on the machine counts less than by the clock.
fn processor_seconds() -> Result<f64, Failure> {
    let usage = getrusage(UsageWho::RUSAGE_THREAD)?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(micros as f64 * 1e-6)
}

/// Measures and prints.
pub fn run(arguments: &SimulateArgs, net: &Network, tables: &Tables) -> Result<ExitCode, Failure> {
    let bytes = arguments.bytes.first().copied().unwrap_or(0);
    let mut speeds = Vec::new();
    for &load in &arguments.load {
        let mut best: Option<Speed> = None;
        for _ in 0..RUNS {
            let begin = processor_seconds()?;
            let (point, counts) = open(arguments, net, tables, load, bytes)?;
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
    if arguments.json {
        print_json(&speeds)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = table(["load", "accepted", "packets", "million packets/s", "million packet-hops/s"]);
    for speed in &speeds {
        rows.add_row([
            format!("{} %", speed.load_percent),
            format!("{:.0} %", speed.accepted_share * 100.0),
            speed.packets.to_string(),
            digits(speed.packets_per_second / 1e6),
            digits(speed.packet_hops_per_second / 1e6),
        ]);
    }
    println!(
        "{}: the simulator on one core of this machine, per second of processor time\n\n{rows}",
        net.name()
    );
    Ok(ExitCode::SUCCESS)
}
