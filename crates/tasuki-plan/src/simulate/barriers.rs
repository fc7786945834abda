//! Barriers over random orders of the hosts.

use super::Options;
use crate::PlanningError;
use serde::Serialize;
use tasuki_sim::{
    Rng,
    fabric::{
        Fabric,
        loads::{Barrier, BarrierShape, HostTimes},
    },
};
use tasuki_topo::{Network, Tables};

/// Number of rounds per order of the hosts.
const ROUNDS: usize = 6;
/// Number of rounds per order before the time counts.
const WARM_ROUNDS: usize = 2;

/// Times of barriers with messages of one length.
#[derive(Serialize)]
pub struct BarrierTimes {
    /// Length of a message, bytes.
    pub bytes: u32,
    /// Number of orders of the hosts.
    pub lists: u32,
    /// Time of a barrier, mean over the orders.
    pub mean_us: f64,
    /// Time of a barrier in the best order.
    pub least_us: f64,
    /// Time of a barrier in the worst order.
    pub most_us: f64,
    /// Time that hosts took along the chain of messages that determines the time of the barrier.
    pub host_us: f64,
    /// Time that messages took into their first cable, along this chain.
    pub injection_us: f64,
    /// Time in switches and cables, along this chain.
    pub hops_us: f64,
    /// Time of waiting for cables and buffers, along this chain.
    pub waiting_us: f64,
}

/// Simulates barriers of a shape over `lists` random orders of the hosts, with messages of one length.
pub(super) fn barriers(
    options: &Options,
    net: &Network,
    tables: &Tables,
    (shape, lists): (BarrierShape, u32),
    bytes: u32,
) -> Result<BarrierTimes, PlanningError> {
    let host = options.host_ps;
    let (mut all, mut parts, mut rounds) = (Vec::new(), [0u64; 4], 0);
    for list in 0..u64::from(lists) {
        let mut rng = Rng::new(tasuki_sim::mix(options.seed) ^ list);
        let mut order: Vec<u32> = (0..net.hosts().len() as u32).collect();
        (1..order.len()).rev().for_each(|at| order.swap(at, rng.index(at + 1)));
        let mut fabric = Fabric::new(net, tables, options.settings)?;
        let times = HostTimes { send: host, receive: host };
        let mut barrier = Barrier::new(shape, order, bytes, times, ROUNDS);
        fabric.run(&mut barrier, u64::MAX)?;
        if fabric.counts().dropped > 0 {
            return Err(PlanningError::request(
                "a port dropped a message of the barrier; give it a larger --queue",
            ));
        }
        all.push(barrier.mean(WARM_ROUNDS) / 1e6);
        let (share, count) = barrier.shares(WARM_ROUNDS);
        for (sum, part) in parts.iter_mut().zip([share.host, share.inject, share.hops, share.wait]) {
            *sum += part;
        }
        rounds += count;
    }
    let [host_us, injection_us, hops_us, waiting_us] =
        parts.map(|sum| sum as f64 / rounds.max(1) as f64 / 1e6);
    Ok(BarrierTimes {
        bytes,
        lists,
        mean_us: all.iter().sum::<f64>() / all.len().max(1) as f64,
        least_us: all.iter().copied().fold(f64::INFINITY, f64::min),
        most_us: all.iter().copied().fold(0.0, f64::max),
        host_us,
        injection_us,
        hops_us,
        waiting_us,
    })
}
