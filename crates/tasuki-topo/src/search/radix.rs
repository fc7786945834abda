//! The order/radix problem: hosts on switches of a given number of ports.

use super::{Found, least_average, order_degree};
use crate::error::NetworkError;
use crate::network::{Network, NodeId};
use crate::{NetworkBuilder, shapes::DEFAULT_BPS};

/// Hosts and switches with short routes between the hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct HostSwitch {
    /// The switches and the cables between them.
    pub switches: Found,
    /// `[switch]`: number of its hosts; these differ by at most 1.
    pub hosts: Vec<usize>,
    /// Number of ports of every switch.
    pub radix: usize,
}

impl HostSwitch {
    /// The network of these switches and hosts, all cables at 1 Gbit/s. Switches come first.
    pub fn network(&self) -> Result<Network, NetworkError> {
        let mut builder =
            NetworkBuilder::new(format!("{} switches of {} ports", self.hosts.len(), self.radix));
        let ports = Some(self.radix as u32);
        let ids: Vec<NodeId> =
            (0..self.hosts.len()).map(|i| builder.switch(format!("switch{i}"), ports)).collect();
        for &(a, b) in &self.switches.edges {
            builder.cable(ids[a], ids[b], DEFAULT_BPS);
        }
        let mut next = 0;
        for (&id, &hosts) in ids.iter().zip(&self.hosts) {
            for _ in 0..hosts {
                let host = builder.host(format!("host{next}"));
                builder.cable(id, host, DEFAULT_BPS);
                next += 1;
            }
        }
        builder.build()
    }
}

/// Connects `hosts` hosts by at most `most` switches of `radix` ports. The number of switches is the one for
/// which the Moore bound of the average distance between hosts is least (Yasudo and others, ICPP 2017, find
/// the best graphs there); hosts are spread evenly, and the ports that the fullest switch has left go to
/// other switches.
pub fn order_radix(
    hosts: usize,
    radix: usize,
    most: usize,
    seed: u64,
    effort: u64,
) -> Result<HostSwitch, NetworkError> {
    let fail = |problem: String| {
        let shape = format!("{hosts} hosts on switches of {radix} ports");
        Err(NetworkError::Shape { shape, problem })
    };
    if hosts < 2 || most == 0 {
        return fail("takes 2 hosts or more and 1 switch or more".into());
    }
    let candidates = (1..=most.min(hosts)).filter_map(|count| Some((bound(hosts, radix, count)?, count)));
    let Some((_, count)) = candidates.min_by(|a, b| a.0.total_cmp(&b.0)) else {
        return fail(format!("{most} switches have too few ports for the hosts and the cables between them"));
    };
    let share = |i: usize| hosts / count + usize::from(i < hosts % count);
    let counts: Vec<usize> = (0..count).map(share).collect();
    let switches = match count {
        1 => Found { vertices: 1, edges: Vec::new(), diameter: 0, average: 0.0 },
        _ => order_degree(count, radix - hosts.div_ceil(count), seed, effort)?,
    };
    Ok(HostSwitch { switches, hosts: counts, radix })
}

/// A lower bound of the average distance between hosts, in switches passed, with `count` switches; `None` if
/// these have too few ports to be connected.
fn bound(hosts: usize, radix: usize, count: usize) -> Option<f64> {
    let degree = radix.checked_sub(hosts.div_ceil(count))?;
    let connects = count == 1 || degree >= 2 || (degree == 1 && count == 2);
    // Two hosts at one switch pass 1 switch; two hosts at different switches pass 1 more than the distance of
    // these.
    let apart = 1.0 - (hosts as f64 / count as f64 - 1.0) / (hosts as f64 - 1.0);
    connects.then(|| 1.0 + apart * least_average(count, degree.max(1)))
}
