//! `tasuki bench drain`: how fast a host takes bursts, how much its buffer holds, and how much it loses.

use super::{access::Networks, bar::Bar, exit::code};
use std::{process::ExitCode, sync::atomic::AtomicBool};
use tasuki_args::{BenchDrain, Packets, give};
use tasuki_bench::{
    lab::{
        Session,
        drain::{DrainOptions, DrainReport, drain},
        peers::Pair,
    },
    plot::lines,
    raw::Protocol,
};
use tasuki_job::Readiness;
use tasuki_terminal::Failure;

/// Runs the command.
pub fn run(arguments: &BenchDrain) -> Result<ExitCode, Failure> {
    arguments.source.check_rights()?;
    arguments.results.check("drain")?;
    let options = DrainOptions {
        protocol: match arguments.protocol {
            Packets::Udp => Protocol::Udp,
            Packets::PacketRing => Protocol::PacketRing,
        },
        bursts: arguments.bursts,
        bytes: arguments.bytes,
        send_bps: arguments.send_rate.map(|rate| rate.bits_per_second),
        slow: arguments.slow,
        buffer_bytes: arguments.buffer,
    };
    // Ctrl-C ends the command at once, because half of the bursts would say little.
    let (bar, interrupted) = (Bar::default(), AtomicBool::new(false));
    let session = Session { progress: &bar, interrupted: &interrupted };
    let mut reports = Vec::new();
    for network in &Networks::of(&arguments.source, Readiness::SetUp)?.testbeds {
        let pair = Pair::choose(network, arguments.from.as_deref(), arguments.to.as_deref())?;
        reports.push(drain(network, pair, &options, session)?);
    }
    let text: String = reports.iter().map(DrainReport::text).collect();
    let plots = || {
        let panels: Vec<_> = reports.iter().map(DrainReport::histogram).collect();
        Ok(vec![("drain.svg".to_owned(), lines(&panels)?)])
    };
    give(&arguments.results, "drain", &text, &serde_json::to_string_pretty(&reports)?, plots)?;
    Ok(code(reports.iter().all(|report| report.failures.is_empty())))
}
