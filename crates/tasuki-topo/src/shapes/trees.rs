//! Indirect networks of the RHiNET-2 paper: the fat tree (p, q, r) and the Myrinet-Clos network.

use super::{Fit, Site, problem, product};
use crate::builder::NetworkBuilder;
use crate::error::NetworkError;
use crate::network::{Network, NodeId};

/// A full fat tree (p, q, r): `q` cables of a switch lead down, `p` up, over `r` levels above the leaves;
/// hosts at the leaves only, as many as `fit` says. It has `q^r` leaves and `p^r` switches at the top.
pub fn fat_tree(p: u32, q: u32, r: u32, fit: &Fit) -> Result<Network, NetworkError> {
    fat_tree_part(p, q, r, q, fit)
}

/// A fat tree (p, q, r) of which only `subtrees` of the `q` subtrees below the top exist, and as many
/// switches at the top as fill all their `q` cables down. The 14 switches of the paper are (2, 4, 2) with 2
/// subtrees.
pub fn fat_tree_part(p: u32, q: u32, r: u32, subtrees: u32, fit: &Fit) -> Result<Network, NetworkError> {
    let name = format!("fat tree ({p},{q},{r}) of {subtrees} subtrees");
    let Site::Switch { .. } = fit.site else {
        return Err(problem(name, "inner vertices are switches; hosts that relay cannot stand in for them"));
    };
    if p == 0 || q == 0 || r == 0 || r > 20 || subtrees == 0 || subtrees > q {
        return Err(problem(name, "needs p, q, r >= 1, r <= 20 and 1 <= subtrees <= q"));
    }
    let mut sizes = vec![q; r as usize - 1];
    sizes.push(subtrees);
    product(&name, &sizes)?;
    let mut top = vec![p; r as usize];
    top.push(subtrees);
    let top = product(&name, &top)?;
    if !top.is_multiple_of(q as usize) {
        let why =
            format!("p^r * subtrees = {top} must be a multiple of q = {q} to fill the switches at the top");
        return Err(problem(name, why));
    }
    let mut builder = NetworkBuilder::new(name);
    let levels = add_levels(&mut builder, [p, q, r, subtrees].map(|n| n as usize), top / q as usize);
    let mut next = 0;
    for &leaf in &levels[0] {
        fit.hosts(&mut builder, leaf, &mut next)?;
    }
    for level in 0..r as usize {
        cable_level(&mut builder, &levels, level, [p, q, r].map(|n| n as usize), fit.fabric_bps);
    }
    builder.build()
}

/// Adds the switches of all levels, leaves first.
fn add_levels(builder: &mut NetworkBuilder, [p, q, r, subtrees]: [usize; 4], top: usize) -> Vec<Vec<NodeId>> {
    let mut levels = Vec::new();
    for level in 0..=r {
        let count =
            if level == r { top } else { subtrees * q.pow((r - 1 - level) as u32) * p.pow(level as u32) };
        let name = |i: usize| format!("level{level}-{i}");
        levels.push((0..count).map(|i| builder.switch(name(i), None)).collect());
    }
    levels
}

/// Cables between a level and the next. A level consists of groups (one per subtree of that height) of
/// `p^level` switches; member `j`'s cable up number `u` leads to member `j * p + u` of the group above.
fn cable_level(
    builder: &mut NetworkBuilder,
    levels: &[Vec<NodeId>],
    level: usize,
    [p, q, r]: [usize; 3],
    rate_bps: u64,
) {
    let group_size = p.pow(level as u32);
    let above = &levels[level + 1];
    for (i, &switch) in levels[level].iter().enumerate() {
        let (group, member) = (i / group_size, i % group_size);
        for u in 0..p {
            let up = member * p + u;
            // The top is one group, which a partial tree fills with fewer switches: several cables meet
            // there.
            let at = if level + 1 == r { up % above.len() } else { group / q * (group_size * p) + up };
            builder.cable(switch, above[at], rate_bps);
        }
    }
}

/// Where the hosts of a Myrinet-Clos network are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClosHosts {
    /// At the lower tier only.
    Lower,
    /// At both tiers.
    Both,
}

/// Myrinet-Clos (n x n): `n` lower and `n` upper switches, each lower one cabled to each upper one.
pub fn myrinet_clos(n: u32, hosts: ClosHosts, fit: &Fit) -> Result<Network, NetworkError> {
    let name = format!("Myrinet-Clos {n}x{n}");
    product(&name, &[n, n])?;
    if fit.site == Site::Relay && hosts == ClosHosts::Lower {
        return Err(problem(name, "hosts that relay stand at both tiers; ask for hosts at both"));
    }
    let mut builder = NetworkBuilder::new(name);
    let all: Vec<NodeId> = (0..2 * n as usize).map(|v| fit.vertex(&mut builder, v)).collect();
    let (lower, upper) = all.split_at(n as usize);
    for &low in lower {
        for &high in upper {
            builder.cable(low, high, fit.fabric_bps);
        }
    }
    let mut next = 0;
    for &vertex in if hosts == ClosHosts::Lower { lower } else { &all } {
        fit.hosts(&mut builder, vertex, &mut next)?;
    }
    builder.build()
}
