//! Whether two cluster files describe the same machines and cables.

use std::collections::BTreeSet;
use tasuki_cluster::{Cluster, End};

/// Whether two clusters have the same hosts and NICs, cabled alike: what a person has set besides, as rates
/// and MTUs, and the names and ports of switches may differ.
pub fn same_cabling(a: &Cluster, b: &Cluster) -> bool {
    nics(a) == nics(b) && joined(a) == joined(b)
}

fn nics(cluster: &Cluster) -> BTreeSet<(&str, &str)> {
    let hosts = cluster.hosts.iter();
    hosts.flat_map(|host| host.nics.iter().map(|nic| (host.name.as_str(), nic.name.as_str()))).collect()
}

/// The names of the NICs that each cable between hosts joins, and of those that each switch joins.
fn joined(cluster: &Cluster) -> BTreeSet<BTreeSet<String>> {
    let mut switches = vec![BTreeSet::new(); cluster.switches.len()];
    let mut all = BTreeSet::new();
    for cable in &cluster.cables {
        match &cable.ends {
            [End::Nic(a), End::Nic(b)] => {
                all.insert([cluster.nic_name(*a), cluster.nic_name(*b)].into());
            }
            [End::Nic(nic), End::Port { switch, .. }] | [End::Port { switch, .. }, End::Nic(nic)] => {
                switches[switch.0].insert(cluster.nic_name(*nic));
            }
            // Cables between switches join no NICs that a switch's own set does not have.
            [End::Port { .. }, End::Port { .. }] => {}
        }
    }
    all.extend(switches);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_cluster::generate::{Options, generate};

    fn cluster(shape: &str) -> Cluster {
        generate(&shape.parse().unwrap(), &Options::default()).unwrap()
    }

    #[test]
    fn rates_and_the_order_of_cables_do_not_matter_and_a_moved_cable_does() {
        let built = cluster("full:4");
        let mut other = built.clone();
        other.name = "another".into();
        other.hosts[0].nics[0].mtu = 9000;
        other.cables.reverse();
        other.cables[0].ends.reverse();
        assert!(same_cabling(&built, &other));
        let far = other.cables[1].ends[1];
        other.cables[1].ends[1] = other.cables[0].ends[1];
        other.cables[0].ends[1] = far;
        assert!(!same_cabling(&built, &other));
        assert!(!same_cabling(&built, &cluster("full:3")));
        assert!(!same_cabling(&cluster("star:4"), &cluster("ring:4")));
    }
}
