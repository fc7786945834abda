//! Lays the cabling of a proposal over an existing cluster: its hosts and switches are matched with old ones
//! such that many cables can stay.

use super::{Part, Target, ordered, pair};
use crate::{Inventory, Proposal};
use std::collections::BTreeSet;
use tasuki_cluster::{Cluster, Switch, generate::ClusterBuilder};

/// Largest number of rounds of exchanges of hosts.
const ROUNDS_MAX: usize = 20;

/// The cabling of a proposal on the hosts and switches of an old cluster; if `exchanges`, with its hosts
/// numbered such that many cables of the old cluster stay.
pub(super) fn overlay(old: &Cluster, proposal: &Proposal, inventory: &Inventory, exchanges: bool) -> Target {
    let fresh = &proposal.cluster;
    let (switches, place) = place_switches(old, &fresh.switches, inventory);
    let new: Vec<(Part, Part)> = fresh.cables.iter().map(pair).collect();
    let mut beside: Vec<Vec<Part>> = vec![Vec::new(); fresh.hosts.len()];
    for &(a, b) in &new {
        for (a, b) in [(a, b), (b, a)] {
            if let Part::Host(host) = a {
                beside[host].push(b);
            }
        }
    }
    let numbering = Numbering { there: old.cables.iter().map(pair).collect(), beside, place };
    let numbers = if exchanges { numbering.search() } else { (0..fresh.hosts.len()).collect() };
    let renumbered = |part| numbering.of(part, &numbers);
    let pairs = new.into_iter().map(|(a, b)| ordered(renumbered(a), renumbered(b))).collect();
    Target { what: proposal.what.clone(), why: proposal.why, switches, pairs }
}

/// All switches, old ones first, and for each fresh switch its number among them: that of an old one with as
/// many ports of the same rate, or of a new one. Proposals are made of the old ones, too, so that a switch
/// which is like none of them was added.
fn place_switches(old: &Cluster, fresh: &[Switch], inventory: &Inventory) -> (Vec<Switch>, Vec<usize>) {
    let mut builder = ClusterBuilder::extend(old.clone(), &inventory.options());
    let mut taken = vec![false; old.switches.len()];
    let mut place = Vec::new();
    for switch in fresh {
        let switches = &builder.cluster().switches;
        let wanted = (switch.ports, switch.rate);
        let like = |&at: &usize| !taken[at] && (switches[at].ports, switches[at].rate) == wanted;
        let at = (0..taken.len()).find(like).unwrap_or_else(|| {
            taken.push(false);
            builder.switch(switch.ports, Some(switch.rate)).0
        });
        taken[at] = true;
        place.push(at);
    }
    (builder.finish().switches, place)
}

/// The data from which the numbers of fresh hosts are chosen.
struct Numbering {
    /// Pairs of parts between which the old cluster has cables.
    there: BTreeSet<(Part, Part)>,
    /// `[fresh host]`: the parts that it has cables to.
    beside: Vec<Vec<Part>>,
    /// `[fresh switch]`: its number in the grown cluster.
    place: Vec<usize>,
}

impl Numbering {
    /// A fresh part by its number in the grown cluster.
    fn of(&self, part: Part, numbers: &[usize]) -> Part {
        match part {
            Part::Host(host) => Part::Host(numbers[host]),
            Part::Switch(switch) => Part::Switch(self.place[switch]),
        }
    }

    /// Number of cables of a fresh host that are there already.
    fn kept_at(&self, host: usize, numbers: &[usize]) -> usize {
        let own = Part::Host(numbers[host]);
        let is_there = |&&other: &&Part| self.there.contains(&ordered(own, self.of(other, numbers)));
        self.beside[host].iter().filter(is_there).count()
    }

    /// Finds `[fresh host]` its number, by exchanging two hosts wherever this keeps more cables.
    fn search(&self) -> Vec<usize> {
        let hosts = self.beside.len();
        let mut numbers: Vec<usize> = (0..hosts).collect();
        for _ in 0..ROUNDS_MAX {
            let mut better = false;
            for (a, b) in (0..hosts).flat_map(|a| (a + 1..hosts).map(move |b| (a, b))) {
                let kept = |numbers: &[usize]| self.kept_at(a, numbers) + self.kept_at(b, numbers);
                let before = kept(&numbers);
                numbers.swap(a, b);
                if kept(&numbers) > before {
                    better = true;
                } else {
                    numbers.swap(a, b);
                }
            }
            if !better {
                break;
            }
        }
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OwnSwitch, planes::planes};
    use tasuki_cluster::Rate;

    fn own(rate: &str) -> OwnSwitch {
        OwnSwitch { ports: 8, rate: Some(rate.parse().expect("a rate")) }
    }

    /// Hosts with so many NICs each on trees of these switches.
    fn switched(hosts: usize, nics: usize, switches: &[OwnSwitch]) -> Cluster {
        let inventory = Inventory::new(hosts, nics);
        let mut builder = ClusterBuilder::new("switched".into(), hosts, &inventory.options());
        planes(hosts, nics, switches).iter().for_each(|plane| plane.plug_into(&mut builder));
        builder.finish()
    }

    /// Ports and rates of switches.
    fn kinds(switches: &[Switch]) -> Vec<(u32, Rate)> {
        let mut kinds: Vec<_> = switches.iter().map(|switch| (switch.ports, switch.rate)).collect();
        kinds.sort();
        kinds
    }

    /// Four hosts on a switch of 1 Gbit/s become six, and a switch with as many ports of 10 Gbit/s is bought.
    #[test]
    fn a_grown_cluster_has_the_switches_that_there_are() {
        let (old, added) = (switched(4, 1, &[own("1G")]), own("10G"));
        let both = [own("1G"), added].map(|switch| (switch.ports, switch.rate.expect("a rate")));
        for nics in [1, 2] {
            let cluster = switched(6, nics, &[own("1G"), added]);
            let rates: Vec<Rate> = cluster.switches.iter().map(|switch| switch.rate).collect();
            let proposal = Proposal { what: "switched".into(), why: "", cluster, moves: None };
            let inventory = Inventory { switches: vec![added], ..Inventory::new(6, nics) };
            let target = overlay(&old, &proposal, &inventory, true);
            assert_eq!(kinds(&target.switches), both, "{nics} NICs");
            // Each NIC is on a switch of the rate that was proposed for it.
            for rate in rates {
                let is_on = |part: Part| matches!(part, Part::Switch(at) if target.switches[at].rate == rate);
                let on = target.pairs.iter().filter(|(_, part)| is_on(*part));
                assert_eq!(on.count(), 6, "{nics} NICs, {rate}");
            }
        }
    }
}
