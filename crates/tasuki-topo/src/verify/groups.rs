//! Groups of sources whose packets are treated alike, so that one of each group is enough to examine.

use crate::network::{ChannelId, HostId, Network, NodeId, Port};
use crate::tables::Tables;

/// Sources that hang on the same forwarding node by one cable each and whose turns there are alike.
pub(super) struct Group {
    /// The only cable of the group's first host, which stands for all; `None` for a host that is alone in its
    /// group.
    pub first: Option<u32>,
    pub hosts: Vec<HostId>,
}

/// Groups the hosts; hosts with a row, and those that do not hang on a forwarding node, are alone.
pub(super) fn group_sources(net: &Network, tables: &Tables) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut at_node: Vec<Vec<usize>> = vec![Vec::new(); net.nodes().len()];
    for (i, &node) in net.hosts().iter().enumerate() {
        let host = HostId(i as u32);
        let mut cables = net.out(node);
        let only = cables.next().filter(|_| cables.next().is_none() && tables.row(node).is_none());
        let first = only.filter(|&c| net.forwards(net.to(c)) && !net.forwards(node));
        let Some(first) = first else {
            groups.push(Group { first: None, hosts: vec![host] });
            continue;
        };
        let near = net.to(first);
        let alike = |g: &&usize| {
            groups[**g].first.is_some_and(|c| same_turns(net, tables, near, ChannelId(c), first))
        };
        match at_node[near.ix()].iter().find(alike) {
            Some(&group) => groups[group].hosts.push(host),
            None => {
                at_node[near.ix()].push(groups.len());
                groups.push(Group { first: Some(first.0), hosts: vec![host] });
            }
        }
    }
    groups
}

/// Whether packets from two channels into a node turn alike.
fn same_turns(net: &Network, tables: &Tables, node: NodeId, a: ChannelId, b: ChannelId) -> bool {
    let Some(row) = tables.row(node) else { return true };
    let rule = |channel: ChannelId, port: usize| tables.turn(row, net.in_port(channel), Port(port as u16));
    (0..net.ports(node)).all(|port| rule(a, port) == rule(b, port))
}
