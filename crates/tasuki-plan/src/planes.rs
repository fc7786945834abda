//! Planes: trees of switches that hosts are plugged into.

use crate::OwnSwitch;
use std::cmp::Reverse;
use tasuki_cluster::{End, SwitchId, generate::ClusterBuilder};

/// A tree of switches that takes `nics` NICs of every host. The first switch is the root, and every other one
/// is cabled to it once, because switches without a spanning tree protocol must not form a loop.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plane {
    pub switches: Vec<OwnSwitch>,
    pub nics: usize,
}

impl Plane {
    /// Number of ports that a tree of these switches has left for hosts; 0 if the root has too few ports for
    /// the other switches.
    fn room(switches: &[OwnSwitch]) -> usize {
        let cables = switches.len().saturating_sub(1);
        let ports: usize = switches.iter().map(|switch| switch.ports as usize).sum();
        let root = switches.first().map_or(0, |switch| switch.ports as usize);
        if root < cables { 0 } else { ports - 2 * cables }
    }

    /// Adds the tree to a cluster with NICs of every host, switch after switch, the root's ports first.
    pub fn plug_into(&self, builder: &mut ClusterBuilder) {
        let switches: Vec<SwitchId> =
            self.switches.iter().map(|switch| builder.switch(switch.ports, switch.rate)).collect();
        let mut used = vec![0; switches.len()];
        let mut port = |at: usize| {
            used[at] += 1;
            End::Port { switch: switches[at], port: used[at] }
        };
        // Cables between switches take the ports that hosts leave free; enough ports are reserved for them.
        let mut free: Vec<usize> = self.switches.iter().map(|switch| switch.ports as usize).collect();
        for other in 1..switches.len() {
            free[0] -= 1;
            free[other] -= 1;
        }
        let mut at = 0;
        for host in 0..builder.cluster().hosts.len() {
            for _ in 0..self.nics {
                while free.get(at) == Some(&0) {
                    at += 1;
                }
                free[at] -= 1;
                let ends = [builder.nic(host), port(at)];
                builder.cable(ends);
            }
        }
        for other in 1..switches.len() {
            let ends = [port(0), port(other)];
            builder.cable(ends);
        }
    }
}

/// Makes trees of switches, each with ports for all hosts, the largest switches first, and divides the NICs
/// of every host among them. Left-over switches that do not suffice for another tree are not used.
pub(crate) fn planes(hosts: usize, nics: usize, switches: &[OwnSwitch]) -> Vec<Plane> {
    let mut sizes = switches.to_vec();
    sizes.sort_by_key(|switch| Reverse((switch.ports, switch.rate)));
    let mut planes: Vec<Plane> = Vec::new();
    let mut tree = Vec::new();
    for switch in sizes {
        tree.push(switch);
        if Plane::room(&tree) >= hosts && planes.len() < nics {
            planes.push(Plane { switches: std::mem::take(&mut tree), nics: 1 });
        }
    }
    for _ in planes.len()..nics {
        // The next NIC goes to the tree with the fewest NICs among those that have another port for every
        // host.
        let room = |plane: &&mut Plane| Plane::room(&plane.switches) >= hosts * (plane.nics + 1);
        let Some(plane) = planes.iter_mut().filter(room).min_by_key(|plane| plane.nics) else { break };
        plane.nics += 1;
    }
    planes
}

/// The trees as text: their switches, and the number of NICs of each host.
pub(crate) fn describe(planes: &[Plane]) -> String {
    let switches: usize = planes.iter().map(|plane| plane.switches.len()).sum();
    let nics: usize = planes.iter().map(|plane| plane.nics).sum();
    let trees = if switches > planes.len() { " as trees" } else { "" };
    let count = if switches == 1 { "one switch".into() } else { format!("{switches} switches{trees}") };
    format!("{count}, {nics} NIC{} each host", if nics == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(ports: &[u32]) -> Vec<OwnSwitch> {
        ports.iter().map(|&ports| OwnSwitch { ports, rate: None }).collect()
    }

    fn shape(planes: &[Plane]) -> Vec<(Vec<u32>, usize)> {
        planes.iter().map(|p| (p.switches.iter().map(|s| s.ports).collect(), p.nics)).collect()
    }

    #[test]
    fn switches_become_trees_with_room_for_all() {
        // One switch of 8 ports holds 8 hosts, two hold 14, three hold 20; none is left for a second tree.
        assert_eq!(shape(&planes(8, 1, &own(&[8]))), [(vec![8], 1)]);
        assert_eq!(shape(&planes(14, 2, &own(&[8, 8]))), [(vec![8, 8], 1)]);
        assert_eq!(shape(&planes(15, 2, &own(&[8, 8]))), []);
        assert_eq!(shape(&planes(20, 2, &own(&[8, 8, 8]))), [(vec![8, 8, 8], 1)]);
        // A switch with twice the ports takes two NICs of every host, unless there is a second switch for one
        // of them.
        assert_eq!(shape(&planes(4, 3, &own(&[8]))), [(vec![8], 2)]);
        assert_eq!(shape(&planes(4, 3, &own(&[4, 8]))), [(vec![8], 2), (vec![4], 1)]);
        // Four switches of 2 ports would take more cables at the root than it has.
        assert_eq!(shape(&planes(3, 1, &own(&[2, 2, 2, 2]))), []);
    }
}
