//! Segments: what a frame reaches without passing through a host. A segment is one cable between two NICs, or
//! a switch domain: all switches that are joined by cables, with the NICs on them.

use crate::{CableId, Cluster, End, HostId, NicId, Rate, SwitchId};
use std::collections::{BTreeMap, BTreeSet};

/// The segments of a cluster.
pub(crate) struct Fabric<'a> {
    pub(crate) cluster: &'a Cluster,
    /// NICs of each segment that carry IP, in the order of the file. Segments are numbered by their first
    /// cable.
    pub(crate) segments: Vec<Vec<NicId>>,
    /// Of each host: its NICs in each segment, in the order of the file.
    pub(crate) by_host: Vec<BTreeMap<usize, Vec<NicId>>>,
    /// What is at the other end of each NIC's cable.
    attachments: BTreeMap<NicId, Attachment>,
    /// Of each switch: the cable and switch that lead towards the root of its domain.
    uplinks: Vec<Option<(CableId, SwitchId)>>,
    depths: Vec<usize>,
    /// Pairs of NICs between which no frame passes at present, the lower NIC first.
    dead: BTreeSet<[NicId; 2]>,
}

#[derive(Clone, Copy)]
struct Attachment {
    cable: CableId,
    switch: Option<SwitchId>,
}

/// What is between two NICs of one segment.
pub(crate) struct SegmentPath {
    pub(crate) cables: Vec<CableId>,
    pub(crate) switches: Vec<SwitchId>,
    pub(crate) rate: Rate,
}

impl<'a> Fabric<'a> {
    pub(crate) fn new(cluster: &'a Cluster) -> Self {
        let mut fabric = Self {
            cluster,
            segments: Vec::new(),
            by_host: vec![BTreeMap::new(); cluster.hosts.len()],
            attachments: BTreeMap::new(),
            uplinks: vec![None; cluster.switches.len()],
            depths: vec![0; cluster.switches.len()],
            dead: BTreeSet::new(),
        };
        let mut cables_of = vec![Vec::new(); cluster.switches.len()];
        for (index, cable) in cluster.cables.iter().enumerate() {
            for end in cable.ends {
                if let End::Port { switch, .. } = end {
                    cables_of[switch.0].push(CableId(index));
                }
            }
        }
        let mut seen = vec![false; cluster.switches.len()];
        for (index, cable) in cluster.cables.iter().enumerate() {
            match cable.ends {
                [End::Nic(a), End::Nic(b)] => {
                    for nic in [a, b] {
                        fabric.attachments.insert(nic, Attachment { cable: CableId(index), switch: None });
                    }
                    fabric.add_segment(vec![a, b]);
                }
                [End::Port { switch, .. }, _] | [_, End::Port { switch, .. }] => {
                    if !seen[switch.0] {
                        let nics = fabric.walk_domain(switch, &cables_of, &mut seen);
                        fabric.add_segment(nics);
                    }
                }
            }
        }
        fabric
    }

    /// Whether a cable is in the NIC.
    pub(crate) fn is_cabled(&self, nic: NicId) -> bool {
        self.attachments.contains_key(&nic)
    }

    /// Like this fabric, but without these pairs of NICs, between which no frame passes.
    pub(crate) fn without(mut self, dead: impl IntoIterator<Item = [NicId; 2]>) -> Self {
        self.dead = dead.into_iter().map(|[a, b]| [a.min(b), a.max(b)]).collect();
        self
    }

    fn lives(&self, [a, b]: &[NicId; 2]) -> bool {
        self.dead.is_empty() || !self.dead.contains(&[*a.min(b), *a.max(b)])
    }

    /// Visits the switches that cables join to `root`, notes the path of each to the root, and returns the
    /// NICs.
    fn walk_domain(&mut self, root: SwitchId, cables_of: &[Vec<CableId>], seen: &mut [bool]) -> Vec<NicId> {
        let mut nics = Vec::new();
        let mut queue = vec![root];
        seen[root.0] = true;
        while let Some(switch) = queue.pop() {
            for &cable in &cables_of[switch.0] {
                for end in self.cluster.cable_of(cable).ends {
                    match end {
                        End::Nic(nic) => {
                            self.attachments.insert(nic, Attachment { cable, switch: Some(switch) });
                            nics.push(nic);
                        }
                        End::Port { switch: next, .. } if !seen[next.0] => {
                            seen[next.0] = true;
                            self.uplinks[next.0] = Some((cable, switch));
                            self.depths[next.0] = self.depths[switch.0] + 1;
                            queue.push(next);
                        }
                        End::Port { .. } => {}
                    }
                }
            }
        }
        nics
    }

    fn add_segment(&mut self, mut nics: Vec<NicId>) {
        nics.sort_unstable();
        nics.retain(|nic| self.cluster.nic_of(*nic).ip);
        for &nic in &nics {
            self.by_host[nic.host.0].entry(self.segments.len()).or_default().push(nic);
        }
        self.segments.push(nics);
    }

    /// Pairs of NICs of two hosts that reach each other. In each common segment the k-th NIC of one is paired
    /// with the k-th of the other; the shorter list starts again, so that every NIC is in at least one pair.
    /// The pairs are the same from both sides.
    pub(crate) fn pairs(&self, a: HostId, b: HostId) -> Vec<[NicId; 2]> {
        let mut pairs = Vec::new();
        if a == b {
            return pairs;
        }
        for (segment, of_a) in &self.by_host[a.0] {
            let Some(of_b) = self.by_host[b.0].get(segment) else { continue };
            let count = of_a.len().max(of_b.len());
            let all = (0..count).map(|k| [of_a[k % of_a.len()], of_b[k % of_b.len()]]);
            pairs.extend(all.filter(|pair| self.lives(pair)));
        }
        pairs
    }

    /// The path between two NICs of one segment.
    pub(crate) fn path(&self, [a, b]: [NicId; 2]) -> SegmentPath {
        let (from, to) = (self.attachments[&a], self.attachments[&b]);
        let (mut cables, mut switches) = (vec![from.cable], Vec::new());
        if let (Some(up), Some(down)) = (from.switch, to.switch) {
            self.climb(up, down, &mut cables, &mut switches);
            cables.push(to.cable);
        }
        let nics = [a, b].map(|nic| self.cluster.nic_of(nic).rate);
        let rate = switches.iter().map(|&switch| self.cluster.switch_of(switch).rate);
        let rate = rate.fold(nics[0].min(nics[1]), Rate::min);
        SegmentPath { cables, switches, rate }
    }

    /// Follows switches from `up` towards the root, and down again to `down`.
    fn climb(
        &self,
        mut up: SwitchId,
        mut down: SwitchId,
        cables: &mut Vec<CableId>,
        path: &mut Vec<SwitchId>,
    ) {
        let mut descent = Vec::new();
        path.push(up);
        while up != down {
            let rising = self.depths[up.0] >= self.depths[down.0];
            match (rising, self.uplinks[if rising { up.0 } else { down.0 }]) {
                (true, Some((cable, parent))) => {
                    cables.push(cable);
                    path.push(parent);
                    up = parent;
                }
                (false, Some((cable, parent))) => {
                    descent.push((cable, down));
                    down = parent;
                }
                // Only the root has no uplink, and of two different switches the deeper is not the root.
                (_, None) => break,
            }
        }
        for (cable, switch) in descent.into_iter().rev() {
            cables.push(cable);
            path.push(switch);
        }
    }

    /// Hosts that share a segment with `host`, in the order of the file, without `host`.
    pub(crate) fn neighbours(&self, host: HostId) -> Vec<HostId> {
        let segments = self.by_host[host.0].keys();
        let nics = segments.flat_map(|&segment| &self.segments[segment]);
        let mut hosts: Vec<_> = nics.map(|nic| nic.host).filter(|&other| other != host).collect();
        hosts.sort_unstable();
        hosts.dedup();
        if !self.dead.is_empty() {
            hosts.retain(|&other| !self.pairs(host, other).is_empty());
        }
        hosts
    }

    /// Number of hops from every host to `target`; `None` if no path leads there. A host with `relay = false`
    /// may be the first or the last of a path, but not in the middle.
    pub(crate) fn hops_to(&self, target: HostId) -> Vec<Option<usize>> {
        if !self.dead.is_empty() {
            return self.hops_around(target);
        }
        let mut hops = vec![None; self.by_host.len()];
        let mut entered = vec![false; self.segments.len()];
        hops[target.0] = Some(0);
        let mut ring = vec![target];
        for distance in 1.. {
            let mut next = Vec::new();
            for &host in &ring {
                if host != target && !self.cluster.host_of(host).relay {
                    continue;
                }
                for &segment in self.by_host[host.0].keys() {
                    // There is nothing new behind a segment that was entered before.
                    if std::mem::replace(&mut entered[segment], true) {
                        continue;
                    }
                    for nic in &self.segments[segment] {
                        if hops[nic.host.0].is_none() {
                            hops[nic.host.0] = Some(distance);
                            next.push(nic.host);
                        }
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            ring = next;
        }
        hops
    }

    /// Like [`Fabric::hops_to`], but host by host, because a segment with dead pairs is not entered as a
    /// whole.
    fn hops_around(&self, target: HostId) -> Vec<Option<usize>> {
        let mut hops = vec![None; self.by_host.len()];
        hops[target.0] = Some(0);
        let mut ring = vec![target];
        for distance in 1.. {
            let may_relay = |host: &&HostId| **host == target || self.cluster.host_of(**host).relay;
            let mut next: Vec<HostId> =
                ring.iter().filter(may_relay).flat_map(|&host| self.neighbours(host)).collect();
            next.sort_unstable();
            next.dedup();
            next.retain(|host| hops[host.0].is_none());
            if next.is_empty() {
                break;
            }
            next.iter().for_each(|host| hops[host.0] = Some(distance));
            ring = next;
        }
        hops
    }
}
