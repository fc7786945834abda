//! The rates that all hosts get at once if traffic splits evenly over all shortest paths, or as the routes of
//! a cluster's hosts divide it.

use crate::measure::all_to_all_load;
use crate::network::{ChannelId, Network, NodeId};
use tasuki_cluster::{Failed, RouteLoads};

/// Rate of every ordered pair when all hosts send to all others at once over all their shortest paths, split
/// evenly at every node as equal-cost multipath routing does, bit/s. `None` if some pair is unconnected;
/// infinite for fewer than two hosts.
pub fn all_to_all_split(net: &Network) -> Option<f64> {
    Some(rate_under(net, &all_to_all_load(net)?, f64::INFINITY))
}

/// Rate of every ordered pair when all hosts of a cluster send to all others at once over the routes that
/// they have, bit/s, with a part that has failed if there is one. `net` is the network of the cluster. Every
/// host carries at most `host_bps` in each direction over all its cables together, traffic that it relays
/// included, as if its NICs share a bus. `None` if some pair is unconnected; infinite for fewer than two
/// hosts.
pub fn all_to_all_routed(
    net: &Network,
    routes: &RouteLoads<'_>,
    failed: Option<Failed>,
    host_bps: f64,
) -> Option<f64> {
    // A cable has the same number in both, and so do its two directions.
    Some(rate_under(net, &routes.all_to_all(failed)?.concat(), host_bps))
}

/// The rate at which the first channel or host is full, where `load` is what each channel carries at a rate
/// of 1.
fn rate_under(net: &Network, load: &[f64], host_bps: f64) -> f64 {
    let through = |&host: &NodeId| {
        let sum = |back: bool| -> f64 {
            net.out(host).map(|c| load[if back { c.reverse() } else { c }.ix()]).sum()
        };
        f64::max(sum(false), sum(true))
    };
    let hosts = net.hosts().iter().map(through).filter(|&load| load > 0.0).map(|load| host_bps / load);
    let hosts = hosts.fold(f64::INFINITY, f64::min);
    let rate = |(channel, &load): (usize, &f64)| net.rate_bps(ChannelId(channel as u32)) as f64 / load;
    load.iter().enumerate().filter(|&(_, &load)| load > 0.0).map(rate).fold(hosts, f64::min)
}
