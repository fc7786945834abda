//! The rates that all hosts get at once if traffic splits evenly over all shortest paths.

use crate::measure::all_to_all_load;
use crate::network::{ChannelId, Network, NodeId};

/// Rate of every ordered pair when all hosts send to all others at once over all their shortest paths, split
/// evenly at every node as equal-cost multipath routing does, bit/s. `None` if some pair is unconnected;
/// infinite for fewer than two hosts.
pub fn all_to_all_split(net: &Network) -> Option<f64> {
    all_to_all_within(net, f64::INFINITY)
}

/// Like [`all_to_all_split`], where every host carries at most `host_bps` in each direction over all its
/// cables together, traffic that it relays included, as if its NICs share a bus.
pub fn all_to_all_within(net: &Network, host_bps: f64) -> Option<f64> {
    let load = all_to_all_load(net)?;
    let through = |&host: &NodeId| {
        let sum = |back: bool| -> f64 {
            net.out(host).map(|c| load[if back { c.reverse() } else { c }.ix()]).sum()
        };
        f64::max(sum(false), sum(true))
    };
    let hosts = net.hosts().iter().map(through).filter(|&load| load > 0.0).map(|load| host_bps / load);
    let hosts = hosts.fold(f64::INFINITY, f64::min);
    let rate = |(channel, &load): (usize, &f64)| net.rate_bps(ChannelId(channel as u32)) as f64 / load;
    Some(load.iter().enumerate().filter(|&(_, &load)| load > 0.0).map(rate).fold(hosts, f64::min))
}
