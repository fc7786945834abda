//! What the plainest routing gives all hosts at once.

use crate::measure::all_to_all_load;
use crate::network::{ChannelId, Network};

/// Rate of every ordered pair when all hosts send to all others at once over all their shortest paths, split evenly at
/// every node as equal-cost multipath routing does, bit/s. `None` if some pair is unconnected; infinite for fewer than
/// two hosts.
pub fn all_to_all_split(net: &Network) -> Option<f64> {
    let load = all_to_all_load(net)?;
    let rate = |(channel, &load): (usize, &f64)| net.rate_bps(ChannelId(channel as u32)) as f64 / load;
    Some(load.iter().enumerate().filter(|&(_, &load)| load > 0.0).map(rate).fold(f64::INFINITY, f64::min))
}
