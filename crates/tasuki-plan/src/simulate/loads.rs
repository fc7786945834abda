//! Runs in which hosts send by a pattern, at a load or within a window.

use super::Options;
use crate::PlanningError;
use serde::Serialize;
use tasuki_sim::{
    Rng,
    fabric::{
        Counts, Fabric, US,
        loads::{Open, Push, PushTimes, Targets},
    },
};
use tasuki_topo::{Network, Tables};

/// One run of a pattern.
#[derive(Serialize)]
pub struct Point {
    /// Length of a packet, headers included, bytes.
    pub bytes: u32,
    /// Load that each sender offered, per cent of its cable's rate; `None` in a closed loop.
    pub load_percent: Option<u16>,
    /// Number of hosts that sent.
    pub senders: usize,
    /// Rate that each sender offered; `None` in a closed loop.
    pub offered_bits_per_second: Option<f64>,
    /// Rate per sender that arrived, or in a closed loop was acknowledged.
    pub got_bits_per_second: f64,
    /// Time from when a packet was due until its tail arrived, mean.
    pub latency_mean_us: Option<f64>,
    /// Time from when a packet was due until its tail arrived, 99th percentile.
    pub latency_p99_us: Option<f64>,
    /// Time from when a packet's head left its host until its tail arrived, mean.
    pub inside_mean_us: Option<f64>,
    /// Number of packets that arrived.
    pub delivered: u64,
    /// Number of packets that a queue had no room for.
    pub dropped: u64,
    /// Number of times that a packet found its next cable busy or the buffer behind it full.
    pub waits: u64,
}

impl Point {
    /// Share of the offered load that arrived.
    pub fn accepted(&self) -> f64 {
        self.offered_bits_per_second.map_or(1.0, |offered| self.got_bits_per_second / offered)
    }
}

/// Time of a packet on the first cable of the first host that sends, ps.
fn packet_ps(fabric: &Fabric, targets: &[Targets], bytes: u32) -> u64 {
    let sender = targets.iter().position(|targets| *targets != Targets::None).unwrap_or(0) as u32;
    let to = targets.get(sender as usize).copied().and_then(|mut targets| targets.next(&mut Rng::new(0)));
    fabric.injection(sender, to.unwrap_or(0), bytes).max(1)
}

/// Simulates an open loop at one load; also returns the fabric's counts.
pub(super) fn open(
    options: &Options,
    net: &Network,
    tables: &Tables,
    load: u16,
    bytes: u32,
) -> Result<(Point, Counts), PlanningError> {
    let mut fabric = Fabric::new(net, tables, options.settings)?;
    let targets = options.pattern.targets(net)?;
    let packet = packet_ps(&fabric, &targets, bytes);
    let (from, until) = (packet * options.packets / 10, packet * options.packets);
    let mean = packet * 100 / u64::from(load.max(1));
    let mut open = Open::new(targets, bytes, mean, from, options.seed);
    fabric.run(&mut open, until)?;
    let seconds = (until - from) as f64 * 1e-12;
    let senders = open.senders();
    let counts = fabric.counts();
    let us = |ps: f64| Some(ps / 1e6);
    let point = Point {
        bytes,
        load_percent: Some(load),
        senders,
        offered_bits_per_second: Some(f64::from(bytes) * 8e12 / mean as f64),
        got_bits_per_second: open.arrived_bytes as f64 * 8.0 / seconds / senders.max(1) as f64,
        latency_mean_us: us(open.latencies.mean()),
        latency_p99_us: us(open.latencies.quantile(0.99) as f64),
        inside_mean_us: us(open.transit.mean()),
        delivered: counts.delivered,
        dropped: counts.dropped,
        waits: counts.waits,
    };
    Ok((point, counts))
}

/// Simulates a closed loop with a window of packets; `lengths` are those of a packet and of an
/// acknowledgement.
pub(super) fn closed(
    options: &Options,
    net: &Network,
    tables: &Tables,
    window: u32,
    lengths: (u32, u32),
) -> Result<Point, PlanningError> {
    let mut fabric = Fabric::new(net, tables, options.settings)?;
    let targets = options.pattern.targets(net)?;
    let bytes = lengths.0;
    let packet = packet_ps(&fabric, &targets, bytes).max(US);
    let (from, until) = (packet * options.packets / 10, packet * options.packets);
    let host = options.host_ps;
    let times = PushTimes { send: host, turn: host, done: 0, jitter_percent: 0 };
    let mut push = Push::new(targets, lengths, window, times, (from, until), options.seed);
    fabric.run(&mut push, until)?;
    let rates = push.rates();
    let counts = fabric.counts();
    Ok(Point {
        bytes,
        load_percent: None,
        senders: rates.len(),
        offered_bits_per_second: None,
        got_bits_per_second: rates.iter().sum::<f64>() / rates.len().max(1) as f64 * f64::from(bytes) * 8.0,
        latency_mean_us: None,
        latency_p99_us: None,
        inside_mean_us: None,
        delivered: counts.delivered,
        dropped: counts.dropped,
        waits: counts.waits,
    })
}
