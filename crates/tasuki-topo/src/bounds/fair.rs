//! Max-min fair rates over given paths, by progressive filling (Bertsekas and Gallager, "Data Networks",
//! 6.5.2): all rates grow together until a channel is full; its flows keep their rates, the others grow on.

use super::Traffic;
use crate::network::{ChannelId, Network};

/// Max-min fair rates.
#[derive(Clone, Debug, PartialEq)]
pub struct Fair {
    /// `[flow]`: rate, bit/s. A flow without channels has an infinite rate.
    pub rates_bps: Vec<f64>,
    /// `[flow]`: the full channel that holds it back.
    pub bottlenecks: Vec<Option<ChannelId>>,
}

impl Fair {
    /// The least rate, bit/s.
    pub fn least_bps(&self) -> f64 {
        self.rates_bps.iter().copied().fold(f64::INFINITY, f64::min)
    }
    /// The mean rate, bit/s; 0 without flows.
    pub fn mean_bps(&self) -> f64 {
        if self.rates_bps.is_empty() { 0.0 } else { self.total_bps() / self.rates_bps.len() as f64 }
    }
    /// The sum of the rates, bit/s.
    pub fn total_bps(&self) -> f64 {
        self.rates_bps.iter().sum()
    }
}

/// Max-min fair rates; a flow of demand `d` counts as `d` flows that share its rate. A flow without demand
/// gets 0.
pub fn max_min_fair(net: &Network, traffic: &Traffic, paths: &[Vec<ChannelId>]) -> Fair {
    let n = paths.len().min(traffic.flows.len());
    let mut fair = Fair { rates_bps: vec![f64::INFINITY; n], bottlenecks: vec![None; n] };
    let mut users: Vec<Vec<u32>> = vec![Vec::new(); net.channels()];
    for (flow, path) in paths.iter().take(n).enumerate() {
        if traffic.flows[flow].demand > 0.0 {
            path.iter().for_each(|c| users[c.ix()].push(flow as u32));
        } else {
            fair.rates_bps[flow] = 0.0;
        }
    }
    let demand = |flow: u32| traffic.flows[flow as usize].demand;
    let channels = (0..net.channels() as u32).map(ChannelId);
    let mut left: Vec<f64> = channels.clone().map(|c| net.rate_bps(c) as f64).collect();
    let mut growing: Vec<f64> = users.iter().map(|u| u.iter().map(|&f| demand(f)).sum()).collect();
    let mut open: Vec<u32> = users.iter().map(|u| u.len() as u32).collect();
    let mut fixed = vec![false; n];
    loop {
        // A channel fills when the common level reaches what is left for its growing flows.
        let fills_at = |c: &ChannelId| left[c.ix()].max(0.0) / growing[c.ix()];
        let candidates = channels.clone().filter(|c| open[c.ix()] > 0);
        let full = candidates.min_by(|a, b| fills_at(a).total_cmp(&fills_at(b)));
        let Some(full) = full else { return fair };
        let level = fills_at(&full);
        for &flow in &users[full.ix()] {
            if std::mem::replace(&mut fixed[flow as usize], true) {
                continue;
            }
            let rate = level * demand(flow);
            fair.rates_bps[flow as usize] = rate;
            fair.bottlenecks[flow as usize] = Some(full);
            for channel in &paths[flow as usize] {
                left[channel.ix()] -= rate;
                growing[channel.ix()] -= demand(flow);
                open[channel.ix()] -= 1;
            }
        }
    }
}

/// The rate per unit of demand that all flows reach at once over given paths, bit/s: the channel with the
/// least rate per demand decides. Infinite if no flow crosses a channel.
pub fn together(net: &Network, traffic: &Traffic, paths: &[Vec<ChannelId>]) -> f64 {
    let mut load = vec![0.0; net.channels()];
    for (flow, path) in traffic.flows.iter().zip(paths) {
        path.iter().for_each(|c| load[c.ix()] += flow.demand);
    }
    let rate = |(c, &load): (usize, &f64)| net.rate_bps(ChannelId(c as u32)) as f64 / load;
    load.iter().enumerate().filter(|&(_, &load)| load > 0.0).map(rate).fold(f64::INFINITY, f64::min)
}
