//! Simulates the messages of a program in a network.

use super::Options;
use crate::{PlanningError, files::read_file};
use serde::Serialize;
use std::path::Path;
use tasuki_sim::fabric::{
    Fabric,
    trace::{Replay, Trace, TraceError, TraceTimes},
};
use tasuki_topo::{Network, Tables};

/// The result of a replay.
#[derive(Serialize)]
pub struct Replayed {
    /// Name of the network.
    pub network: String,
    /// Number of hosts.
    pub hosts: usize,
    /// Name of the engine that made the routes.
    pub engine: &'static str,
    /// Number of ranks of the program.
    pub ranks: usize,
    /// Number of events of the trace.
    pub events: usize,
    /// Time until the last rank was done.
    pub time_us: f64,
    /// Time that ranks computed, mean.
    pub computing_mean_us: f64,
    /// Time that the rank computed which computed longest.
    pub computing_most_us: f64,
    /// Time that ranks waited for messages, mean.
    pub waiting_mean_us: f64,
    /// Time that the rank waited for messages which waited longest.
    pub waiting_most_us: f64,
    /// Number of messages, those of collective operations included.
    pub messages: u64,
    /// Bytes of all messages.
    pub message_bytes: u64,
    /// Number of messages between ranks of one host.
    pub local_messages: u64,
    /// Number of packets of the messages between hosts.
    pub packets: u64,
    /// Number of times that a packet found its next cable busy or the buffer behind it full.
    pub packet_waits: u64,
}

/// Replays the trace of a file. The options must have exactly one length of packets.
pub fn replay(
    options: &Options,
    file: &Path,
    net: &Network,
    tables: &Tables,
) -> Result<Replayed, PlanningError> {
    let &[packet_bytes] = options.bytes.as_slice() else {
        return Err(PlanningError::request("--trace takes one length of packets; give --bytes one number"));
    };
    let wrong = |source: TraceError| PlanningError::Trace { path: file.into(), source };
    let trace = Trace::parse(&read_file(file)?).map_err(wrong)?;
    let times = TraceTimes::plain(options.host_ps, packet_bytes);
    let mut fabric = Fabric::new(net, tables, options.settings)?;
    let mut replay = Replay::new(&trace, fabric.hosts(), times);
    fabric.run(&mut replay, u64::MAX)?;
    let counts = fabric.counts();
    let result = replay.finish().map_err(wrong)?;
    let us = |ps: u64| ps as f64 / 1e6;
    let mean = |list: &[u64]| us(list.iter().sum()) / list.len().max(1) as f64;
    let most = |list: &[u64]| us(list.iter().copied().max().unwrap_or(0));
    Ok(Replayed {
        network: net.name().to_owned(),
        hosts: net.hosts().len(),
        engine: options.engine.name(),
        ranks: trace.ranks(),
        events: trace.events(),
        time_us: us(result.end),
        computing_mean_us: mean(&result.computing),
        computing_most_us: most(&result.computing),
        waiting_mean_us: mean(&result.waiting),
        waiting_most_us: most(&result.waiting),
        messages: result.messages,
        message_bytes: result.bytes,
        local_messages: result.local,
        packets: counts.delivered,
        packet_waits: counts.waits,
    })
}
