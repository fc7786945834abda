//! MAC addresses for NICs that have none in the file.

use crate::{Cluster, MacAddr};
use std::collections::BTreeSet;

/// The cluster with a MAC address for every NIC: those of the file, and locally administered ones for the
/// rest, as [`Cluster::with_lab_macs`] describes them.
pub(crate) fn with_lab_macs(cluster: &Cluster) -> Cluster {
    let given = cluster.hosts.iter().flat_map(|host| &host.nics).filter_map(|nic| nic.mac);
    let mut used: BTreeSet<MacAddr> = given.collect();
    let mut cluster = cluster.clone();
    for (host, number) in cluster.hosts.iter_mut().zip(1_u32..) {
        for (nic, index) in host.nics.iter_mut().zip(1_u32..) {
            if nic.mac.is_none() {
                let mut low = (number << 16).wrapping_add(index);
                while !used.insert(lab_mac(low)) {
                    low = low.wrapping_add(1);
                }
                nic.mac = Some(lab_mac(low));
            }
        }
    }
    cluster
}

fn lab_mac(low: u32) -> MacAddr {
    let [a, b, c, d] = low.to_be_bytes();
    MacAddr([0x02, 0x54, a, b, c, d])
}
