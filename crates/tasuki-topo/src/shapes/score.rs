//! The two networks of SCore III (Ishikawa, Sumimoto, Harada, 2001): 512 hosts with one Myrinet and two
//! Ethernet ports.

use super::{Fit, fat_tree, problem};
use crate::builder::NetworkBuilder;
use crate::error::NetworkError;
use crate::network::Network;

/// Rate of Myrinet-2000, bit/s.
const MYRINET_BPS: u64 = 2_000_000_000;
/// Rate of the Ethernet between hosts and switches, bit/s.
const HOST_BPS: u64 = 100_000_000;
/// Rate of the Ethernet between switches, bit/s.
const UPLINK_BPS: u64 = 1_000_000_000;

/// Myrinet with full bisection: 256 hosts times 2 Gbit/s in each direction, 1 Tbit/s in both. Three tiers of
/// 16-port crossbars, as in the Clos enclosures that it was built from: eight modules of 64 hosts, each with
/// eight crossbars that hold eight hosts and eight that lead up, and crossbars above. Which cables join the
/// modules is not published.
pub fn score_iii_myrinet() -> Result<Network, NetworkError> {
    let mut net = fat_tree(8, 8, 2, &Fit::switches(8).rates(MYRINET_BPS, MYRINET_BPS))?;
    net.name = "SCore III Myrinet".into();
    Ok(net)
}

/// Two planes of Ethernet, in SCore III with 16 `groups` of 32 `hosts`: in either plane 100 Mbit/s from every
/// host to its group's switch, and 1 Gbit/s from there to the plane's core.
pub fn score_iii_ethernet(groups: u32, hosts: u32) -> Result<Network, NetworkError> {
    let name = "SCore III Ethernet";
    if groups == 0 || hosts == 0 || u64::from(groups) * u64::from(hosts) > super::MAX_VERTICES {
        return Err(problem(
            name,
            "needs at least one group and one host, and not more than a million hosts",
        ));
    }
    let mut builder = NetworkBuilder::new(name);
    let planes = [0, 1].map(|plane| {
        let core = builder.switch(format!("core{plane}"), None);
        let edges: Vec<_> = (0..groups).map(|g| builder.switch(format!("edge{plane}-{g}"), None)).collect();
        edges.iter().for_each(|&edge| builder.cable(edge, core, UPLINK_BPS));
        edges
    });
    for group in 0..groups as usize {
        for host in 0..hosts {
            let host = builder.host(format!("host{group}-{host}"));
            planes.iter().for_each(|edges| builder.cable(host, edges[group], HOST_BPS));
        }
    }
    builder.build()
}
