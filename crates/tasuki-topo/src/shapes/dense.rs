//! Full cross-connection, leaf and spine, dragonfly.

use super::{Fit, Site, from_edges, problem, product};
use crate::builder::NetworkBuilder;
use crate::error::NetworkError;
use crate::network::{Network, NodeId};

/// Every vertex cabled to every other.
pub fn full(n: u32, fit: &Fit) -> Result<Network, NetworkError> {
    let name = format!("full cross-connection {n}");
    product(&name, &[n, n])?;
    let n = n as usize;
    let edges: Vec<_> = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b))).collect();
    from_edges(&name, n, &edges, fit)
}

/// `leaves` switches with hosts, each with `cables` parallel cables to each of `spines` switches without.
pub fn leaf_spine(leaves: u32, spines: u32, cables: u32, fit: &Fit) -> Result<Network, NetworkError> {
    let name = format!("leaf/spine {leaves}/{spines}");
    product(&name, &[leaves, spines, cables])?;
    if fit.site == Site::Relay {
        return Err(problem(name, "spines are switches; hosts that relay cannot stand in for them"));
    }
    let mut builder = NetworkBuilder::new(name);
    let leaves: Vec<NodeId> = (0..leaves).map(|i| builder.switch(format!("leaf{i}"), None)).collect();
    let spines: Vec<NodeId> = (0..spines).map(|i| builder.switch(format!("spine{i}"), None)).collect();
    let mut next = 0;
    for &leaf in &leaves {
        for &spine in &spines {
            for _ in 0..cables {
                builder.cable(leaf, spine, fit.fabric_bps);
            }
        }
        fit.hosts(&mut builder, leaf, &mut next)?;
    }
    builder.build()
}

/// A dragonfly (Kim, Dally, Scott, Abts 2008): `groups` groups of `routers` fully connected vertices with
/// `global` cables each to other groups. Cable `k` of a group leads to the group `1 + k mod (groups - 1)`
/// further on, so that every pair of groups shares `routers * global / (groups - 1)` cables, which must be
/// whole.
pub fn dragonfly(groups: u32, routers: u32, global: u32, fit: &Fit) -> Result<Network, NetworkError> {
    let name = format!("dragonfly of {groups} groups of {routers} with {global} global cables each");
    product(&name, &[groups, routers, global])?;
    let per_group = u64::from(routers) * u64::from(global);
    if groups < 2 || !per_group.is_multiple_of(u64::from(groups) - 1) {
        let why =
            format!("the {per_group} global cables of a group must be a multiple of groups - 1, groups >= 2");
        return Err(problem(name, why));
    }
    let [groups, routers, global] = [groups, routers, global].map(|n| n as usize);
    let mut edges = Vec::new();
    for group in 0..groups {
        let first = group * routers;
        for a in 0..routers {
            edges.extend((a + 1..routers).map(|b| (first + a, first + b)));
        }
    }
    for group in 0..groups {
        for k in 0..routers * global {
            let (round, offset) = (k / (groups - 1), k % (groups - 1));
            let peer = (group + offset + 1) % groups;
            // The peer counts the same cable from its own side: its offset leads back to this group.
            let k_peer = round * (groups - 1) + (groups - 2 - offset);
            if group < peer {
                edges.push((group * routers + k / global, peer * routers + k_peer / global));
            }
        }
    }
    from_edges(&name, groups * routers, &edges, fit)
}
