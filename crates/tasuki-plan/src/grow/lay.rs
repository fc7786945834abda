//! Makes the grown cluster from an old one and a cabling: cables that stay keep their ports, the others take
//! the lowest free ports.

use super::{Part, Target, pair};
use crate::{Inventory, Proposal};
use std::collections::BTreeMap;
use tasuki_cluster::{
    Cable, Cluster, End, HostId, NicId, SwitchId,
    generate::{ClusterBuilder, Options},
};

/// What happens to the cables of the old cluster.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Moves {
    /// Number of cables that stay as they are.
    pub kept: usize,
    /// Number of cables that are unplugged at one end or both, to be used again or put away.
    pub moved: usize,
    /// Number of cables that the new cluster has more than the old one.
    pub added: usize,
    /// The cables to unplug.
    pub unplug: Vec<[String; 2]>,
    /// `[cable]` of the new cluster: whether it is there already.
    pub there: Vec<bool>,
    /// `[cable]` of the new cluster: its number in the old one, counted from 1; `None`: it is not there.
    pub numbers: Vec<Option<usize>>,
}

/// The proposal for a target cabling of the old cluster.
pub(super) fn lay(old: &Cluster, target: Target, inventory: &Inventory) -> Proposal {
    let mut wanted: BTreeMap<(Part, Part), usize> = BTreeMap::new();
    target.pairs.into_iter().for_each(|pair| *wanted.entry(pair).or_default() += 1);
    let mut moves = Moves::default();
    // Labels follow the order of the cables. Cables that stay keep their number, new ones take numbers that
    // come free.
    let mut slots: Vec<Option<Cable>> = Vec::new();
    for cable in &old.cables {
        let left = wanted.get_mut(&pair(cable)).filter(|left| **left > 0);
        slots.push(left.map(|left| {
            *left -= 1;
            cable.clone()
        }));
        match slots.last() {
            Some(Some(_)) => moves.kept += 1,
            _ => moves.unplug.push(cable.ends.map(|end| old.end_name(end))),
        }
    }
    moves.moved = moves.unplug.len();
    moves.there = slots.iter().map(Option::is_some).collect();
    let kept = slots.iter().flatten().cloned().collect();
    let start = Cluster { cables: kept, switches: target.switches, source: None, ..old.clone() };
    let cores = old.hosts.last().and_then(|host| host.cores);
    let mut builder = ClusterBuilder::extend(start, &Options { cores, ..inventory.options() });
    (old.hosts.len()..inventory.hosts).for_each(|_| {
        builder.host();
    });
    let mut first_free = 0;
    for ((a, b), count) in wanted {
        for _ in 0..count {
            let first = free_end(&mut builder, a, None);
            let second = free_end(&mut builder, b, Some(first));
            builder.cable([first, second]);
            while slots.get(first_free).is_some_and(Option::is_some) {
                first_free += 1;
            }
            if first_free == slots.len() {
                slots.push(None);
                moves.there.push(false);
            }
            slots[first_free] = Some(Cable { ends: [first, second], length_m: None });
        }
    }
    // Numbers that are still free are removed, so that cables behind them get others.
    let numbers = (1..).zip(&moves.there).map(|(number, there)| there.then_some(number));
    let is_used = |(_, slot): &(Option<usize>, &Option<Cable>)| slot.is_some();
    moves.numbers = numbers.zip(&slots).filter(is_used).map(|(number, _)| number).collect();
    moves.there = moves.numbers.iter().map(Option::is_some).collect();
    let mut cluster = builder.finish();
    cluster.cables = slots.into_iter().flatten().collect();
    moves.added = cluster.cables.len().saturating_sub(old.cables.len());
    drop_idle_switches(&mut cluster);
    Proposal { what: target.what, why: target.why, cluster, moves: Some(moves) }
}

/// The lowest free end of a part other than `besides`; a host without one gets another NIC.
fn free_end(builder: &mut ClusterBuilder, part: Part, besides: Option<End>) -> End {
    let cluster = builder.cluster();
    let is_taken =
        |end: End| Some(end) == besides || cluster.cables.iter().any(|cable| cable.ends.contains(&end));
    match part {
        Part::Switch(switch) => {
            let port = |port| End::Port { switch: SwitchId(switch), port };
            (1..).map(port).find(|&end| !is_taken(end)).unwrap_or(port(1))
        }
        Part::Host(host) => {
            let nic = |index| End::Nic(NicId { host: HostId(host), index });
            let free = (0..cluster.hosts[host].nics.len()).map(nic).find(|&end| !is_taken(end));
            free.unwrap_or_else(|| builder.nic(host))
        }
    }
}

/// Removes switches without cables at the end of the list.
fn drop_idle_switches(cluster: &mut Cluster) {
    let is_idle = |switch: usize, cluster: &Cluster| {
        let to = |end: &End| matches!(end, End::Port { switch: at, .. } if at.0 == switch);
        !cluster.cables.iter().any(|cable| cable.ends.iter().any(to))
    };
    while !cluster.switches.is_empty() && is_idle(cluster.switches.len() - 1, cluster) {
        cluster.switches.pop();
    }
}

#[cfg(test)]
mod tests {
    use crate::{Inventory, OwnSwitch, Proposal, cabling_list, grown, proposals};
    use std::collections::BTreeMap;
    use tasuki_cluster::generate::{Options, generate};

    /// Four hosts with cables between all, c1 to c6, and a switch for all, c7 to c10, become five on the
    /// switch alone, which has fewer cables. The labels on cables that stay are those of the old cluster.
    #[test]
    fn the_list_says_which_label_a_cable_that_stays_has() {
        let mut old = generate(&"mixed:4/4".parse().unwrap(), &Options::default()).unwrap();
        old.switches[0].ports = 8;
        let labels: BTreeMap<[String; 2], usize> = old
            .cables
            .iter()
            .zip(1..)
            .map(|(one, label)| (one.ends.map(|end| old.end_name(end)), label))
            .collect();
        let inventory = Inventory::new(5, 4);
        let switches = vec![OwnSwitch { ports: 8, rate: None }];
        let fresh = proposals(&Inventory { switches, ..inventory.clone() }).unwrap();
        let all = grown(&old, &inventory, &fresh, &mut |_| ()).unwrap();
        let mut renumbered = 0;
        for Proposal { what, cluster, moves, .. } in all {
            let list = cabling_list(&cluster, moves.as_ref());
            for (cable, (number, there)) in cluster.cables.iter().zip((1..).zip(&moves.unwrap().there)) {
                let was = labels.get(&cable.ends.map(|end| cluster.end_name(end))).copied();
                let line = list.lines().find(|line| line.contains(&format!("[ ] c{number} "))).unwrap();
                let expected = match was {
                    Some(was) if was == number => "stays".to_owned(),
                    Some(was) => format!("stays, was c{was}"),
                    None => "plug in".into(),
                };
                assert!(line.ends_with(&expected) && *there == was.is_some(), "{what}: {line:?}, {expected}");
                renumbered += usize::from(was.is_some_and(|was| was != number));
            }
        }
        assert!(renumbered > 0, "no proposal has fewer cables than there are");
    }
}
