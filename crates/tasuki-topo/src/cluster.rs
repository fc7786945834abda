//! From a cluster file to a graph.

use crate::builder::NetworkBuilder;
use crate::error::NetworkError;
use crate::network::{Kind, Network, NodeId, Port};
use tasuki_cluster::{Cluster, End};

impl Network {
    /// The network of a cluster: hosts first, then switches, both in file order. NIC `i` of a host is port
    /// `i`, port `p` of a switch (from 1) is port `p - 1`; a cable runs at the lower rate of its two ends.
    pub fn from_cluster(cluster: &Cluster) -> Result<Network, NetworkError> {
        let mut builder = NetworkBuilder::new(cluster.name.clone());
        for host in &cluster.hosts {
            let kind = if host.relay { Kind::Relay } else { Kind::Host };
            builder.node(host.name.clone(), kind, Some(host.nics.len() as u32));
        }
        for switch in &cluster.switches {
            builder.switch(switch.name.clone(), Some(switch.ports));
        }
        for cable in &cluster.cables {
            let [a, b] = cable.ends.map(|end| place(cluster, end));
            builder.cable_at(a.0, b.0, a.1.min(b.1));
        }
        builder.build()
    }
}

/// Node, port and rate of a cable end.
fn place(cluster: &Cluster, end: End) -> ((NodeId, Port), u64) {
    match end {
        End::Nic(nic) => {
            let rate = cluster
                .hosts
                .get(nic.host.0)
                .and_then(|h| h.nics.get(nic.index))
                .map_or(0, |n| n.rate.bits_per_second);
            ((NodeId(nic.host.0 as u32), Port(nic.index.min(usize::from(u16::MAX)) as u16)), rate)
        }
        End::Port { switch, port } => {
            let rate = cluster.switches.get(switch.0).map_or(0, |s| s.rate.bits_per_second);
            let node = NodeId((cluster.hosts.len() + switch.0) as u32);
            ((node, Port(port.saturating_sub(1).min(u32::from(u16::MAX)) as u16)), rate)
        }
    }
}
