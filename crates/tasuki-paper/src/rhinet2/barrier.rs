//! Barriers over random visit lists.

use super::model::SMALL;
use super::{Model, Rhinet2Error};
use tasuki_random::{Random as Rng, mix};
use tasuki_sim::fabric::Fabric;
use tasuki_sim::fabric::loads::{Barrier, BarrierShape, Share};
use tasuki_topo::{Network, Tables};

/// Barriers per list, and how many of them come before the measurement. Nothing in the model is random but
/// the list, so a few barriers stand for the paper's 100,000.
const ROUNDS: usize = 5;
const WARM: usize = 2;
/// Number of visit lists of the paper.
const PAPERS_LISTS: f64 = 10.0;

/// Times of a barrier over all lists, us.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Times {
    pub mean: f64,
    /// Standard error of the mean of ten lists, as the paper has it.
    pub error: f64,
    /// The parts of the mean: time in hosts, injection, hops, waiting.
    pub parts: [f64; 4],
}

/// Times of the barrier of all hosts.
pub(super) fn times(
    model: &Model,
    net: &Network,
    tables: &Tables,
    lists: u32,
    seed: u64,
) -> Result<Times, Rhinet2Error> {
    let (mut sum, mut squares, mut parts, mut rounds) = (0.0, 0.0, [0u64; 4], 0);
    let mut fabric = Fabric::new(net, tables, model.settings)?;
    for list in 0..u64::from(lists.max(1)) {
        let order = visit_list(net.hosts().len(), seed, list);
        let mut barrier = Barrier::new(BarrierShape::Multicast, order, SMALL, model.barrier, ROUNDS);
        fabric.run(&mut barrier, u64::MAX)?;
        let mean = barrier.mean(WARM) / 1e6;
        (sum, squares) = (sum + mean, squares + mean * mean);
        let (share, count) = barrier.shares(WARM);
        for (part, of) in parts.iter_mut().zip(shares(share)) {
            *part += of;
        }
        rounds += count;
    }
    let n = f64::from(lists.max(1));
    let mean = sum / n;
    let variance = (squares / n - mean * mean).max(0.0) * n / (n - 1.0).max(1.0);
    let parts = parts.map(|part| part as f64 / rounds.max(1) as f64 / 1e6);
    Ok(Times { mean, error: (variance / PAPERS_LISTS).sqrt(), parts })
}

fn shares(share: Share) -> [u64; 4] {
    [share.host, share.inject, share.hops, share.wait]
}

/// The hosts in random order; the order is equal for all networks of this number of hosts.
fn visit_list(hosts: usize, seed: u64, list: u64) -> Vec<u32> {
    let mut rng = Rng::new(mix(seed) ^ list);
    let mut order: Vec<u32> = (0..hosts as u32).collect();
    for at in (1..order.len()).rev() {
        order.swap(at, rng.index(at + 1));
    }
    order
}

/// Time of the barrier of two hosts at the ends of a line of switches, us (figure 4).
pub(super) fn of_two(model: &Model, switches: u32) -> Result<f64, Rhinet2Error> {
    let net = super::networks::line(switches)?;
    let tables = model.route(&net, super::networks::Routing::Minimal)?;
    Ok(times(model, &net, &tables, 1, 0)?.mean)
}
