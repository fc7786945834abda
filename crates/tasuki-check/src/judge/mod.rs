//! Judgements: pure functions from what was seen to what is at fault.

pub mod counters;
pub mod host;
pub mod network;
pub mod pairs;
pub mod short_frames;
pub mod wiring;
pub mod witness;

use std::collections::BTreeMap;
use tasuki_cluster::{Cluster, End, HostId, NicId};

/// Which NICs should receive the frames of which.
pub struct Segments {
    /// For each sending NIC, the NICs that should hear it.
    pub hearers: BTreeMap<NicId, Vec<NicId>>,
}

impl Segments {
    /// The segments of a cluster.
    pub fn of(cluster: &Cluster) -> Self {
        let mut hearers: BTreeMap<NicId, Vec<NicId>> = BTreeMap::new();
        let ends = |nics: Vec<NicId>, hearers: &mut BTreeMap<NicId, Vec<NicId>>| {
            for &nic in &nics {
                let others = nics.iter().copied().filter(|&other| other != nic);
                hearers.entry(nic).or_default().extend(others);
            }
        };
        // Switches that are joined by cables form one broadcast domain.
        let mut domain: Vec<usize> = (0..cluster.switches.len()).collect();
        for cable in &cluster.cables {
            if let [End::Port { switch: a, .. }, End::Port { switch: b, .. }] = cable.ends {
                let (from, to) = (domain[a.0], domain[b.0]);
                domain.iter_mut().filter(|of| **of == from).for_each(|of| *of = to);
            }
        }
        let mut domains: BTreeMap<usize, Vec<NicId>> = BTreeMap::new();
        for cable in &cluster.cables {
            match cable.ends {
                [End::Nic(a), End::Nic(b)] => ends(vec![a, b], &mut hearers),
                [End::Nic(nic), End::Port { switch, .. }] | [End::Port { switch, .. }, End::Nic(nic)] => {
                    domains.entry(domain[switch.0]).or_default().push(nic);
                }
                _ => {}
            }
        }
        domains.into_values().for_each(|nics| ends(nics, &mut hearers));
        Self { hearers }
    }

    /// All directions: a NIC, and a NIC that should hear it.
    pub fn directions(&self) -> Vec<[NicId; 2]> {
        let all = self.hearers.iter();
        all.flat_map(|(&from, hearers)| hearers.iter().map(move |&to| [from, to])).collect()
    }

    /// Whether a NIC's cable leads to a switch.
    pub fn is_switched(&self, cluster: &Cluster, nic: NicId) -> bool {
        port_of(cluster, nic).is_some()
    }
}

/// A NIC's cable, by the names of its ends.
pub fn cable_name(cluster: &Cluster, nic: NicId) -> String {
    match cluster.cable_at(End::Nic(nic)) {
        Some(cable) => {
            let [a, b] = cluster.cable_of(cable).ends.map(|end| cluster.end_name(end));
            format!("{a} - {b}")
        }
        None => cluster.nic_name(nic),
    }
}

/// The switch port at the other end of a NIC's cable.
pub fn port_of(cluster: &Cluster, nic: NicId) -> Option<String> {
    let cable = cluster.cable_of(cluster.cable_at(End::Nic(nic))?);
    let port = cable.ends.iter().find(|end| matches!(end, End::Port { .. }))?;
    Some(cluster.end_name(*port))
}

/// The NIC with these numbers of host and NIC, which count from 1.
pub fn nic_of(cluster: &Cluster, (host, nic): (u16, u16)) -> Option<NicId> {
    let id =
        NicId { host: HostId(usize::from(host).checked_sub(1)?), index: usize::from(nic).checked_sub(1)? };
    (id.index < cluster.hosts.get(id.host.0)?.nics.len()).then_some(id)
}

/// Finds cables, and directions of them, that explain why these directions are bad: a NIC's cable is to blame
/// outwards if most of what the NIC sends is bad, and inwards if most of what it should hear is. Returns the
/// NIC, whether outwards, and the directions that this explains.
pub fn blame(segments: &Segments, bad: &[[NicId; 2]]) -> Vec<(NicId, bool, Vec<[NicId; 2]>)> {
    let mut left = bad.to_vec();
    let mut blamed = Vec::new();
    let all = segments.directions();
    while !left.is_empty() {
        let mut best: Option<(usize, f64, NicId, bool)> = None;
        for &nic in segments.hearers.keys() {
            for outwards in [true, false] {
                let side = usize::from(!outwards);
                let count = left.iter().filter(|direction| direction[side] == nic).count();
                let of = all.iter().filter(|direction| direction[side] == nic).count();
                let share = count as f64 / of.max(1) as f64;
                let is_better = best.is_none_or(|(most, part, ..)| (share, count) > (part, most));
                if count > 0 && is_better {
                    best = Some((count, share, nic, outwards));
                }
            }
        }
        let Some((_, _, nic, outwards)) = best else { break };
        let side = usize::from(!outwards);
        let (explained, rest) = left.into_iter().partition(|direction: &[NicId; 2]| direction[side] == nic);
        left = rest;
        blamed.push((nic, outwards, explained));
    }
    blamed
}
