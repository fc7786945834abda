//! The cablings that an inventory of hosts, ports and switches allows.

use crate::{
    Inventory, Moves, PlanningError,
    planes::{Plane, describe, planes},
};
use tasuki_cluster::{Cluster, generate::ClusterBuilder};
use tasuki_topo::search::order_degree;

/// Effort of the search for a graph, in its elementary steps: a fraction of a second in an optimised build.
const EFFORT: u64 = 100_000_000;

/// A cabling.
pub struct Proposal {
    /// A short description.
    pub what: String,
    /// Its advantages and disadvantages in a sentence.
    pub why: &'static str,
    /// The cluster that it makes.
    pub cluster: Cluster,
    /// What happens to the cables of a cluster that grows; `None` for a new cluster.
    pub moves: Option<Moves>,
}

/// All proposals for an inventory.
pub fn proposals(inventory: &Inventory) -> Result<Vec<Proposal>, PlanningError> {
    let &Inventory { hosts, nics, seed, .. } = inventory;
    let mut found = Vec::new();
    let mut add = |direct: Direct, planes: &[Plane]| {
        let name = format!("plan{hosts}-{}", found.len() + 1);
        let mut builder = ClusterBuilder::new(name, hosts, &inventory.options());
        for _ in 0..direct.copies {
            direct.cables.iter().for_each(|&(a, b)| builder.connect(a, b));
        }
        planes.iter().for_each(|plane| plane.plug_into(&mut builder));
        found.push(Proposal { what: direct.what, why: direct.why, cluster: builder.finish(), moves: None });
    };
    for direct in directs(hosts, nics, seed)? {
        add(direct, &[]);
    }
    let planes = planes(hosts, nics, &inventory.switches);
    if let Some(first) = planes.first() {
        add(Direct::nothing(describe(&planes), WHY_SWITCHED), &planes);
        if nics > 1 && hosts > 2 {
            // One NIC of each host goes to a switch, the others are cabled to each other.
            let one = [Plane { nics: 1, ..first.clone() }];
            let beside = directs(hosts, nics - 1, seed)?.into_iter();
            for direct in beside.chain(groups(hosts, nics)) {
                let what = format!("{} and {}", describe(&one), direct.what);
                let why = if direct.why == WHY_GROUPS { WHY_GROUPS } else { WHY_BESIDE };
                add(Direct { what, why, ..direct }, &one);
            }
        }
    }
    if found.is_empty() { Err(impossible(inventory)) } else { Ok(found) }
}

const WHY_FULL: &str = "every pair has a cable of its own; any cable or host may fail";
const WHY_PAIR: &str = "one cable is enough for two hosts, and they are apart without it";
const WHY_RING: &str = "two ports per host are enough; far hosts share the cables of those between";
const WHY_TORUS: &str = "neighbours in a grid have cables of their own; others are relayed";
const WHY_SEARCHED: &str = "the shortest routes found for so many ports, without a switch; hosts relay";
const WHY_SWITCHED: &str = "no host relays; who loses a switch loses what was on it";
const WHY_BESIDE: &str = "cables for those that have them, the switch for all others; either may fail";
const WHY_GROUPS: &str = "cables inside a group; the switch joins the groups, and they are apart without it";

/// The error that nothing can be proposed, with what would help.
fn impossible(inventory: &Inventory) -> PlanningError {
    let &Inventory { hosts, nics, .. } = inventory;
    let ports: Vec<String> = inventory.switches.iter().map(|switch| switch.ports.to_string()).collect();
    let given = match ports.len() {
        0 => "no switch".into(),
        1 => format!("a switch of {} ports", ports[0]),
        _ => format!("switches of {} ports, which join hosts only as a tree", ports.join(", ")),
    };
    PlanningError::request(format!(
        "{hosts} hosts with {nics} port{} and {given} cannot be connected: give each host 2 ports, or add a \
         switch of {hosts} ports or more (--switch {hosts})",
        if nics == 1 { " each" } else { "s each" }
    ))
}

/// A cabling from host to host.
#[derive(Clone, Debug, PartialEq)]
struct Direct {
    what: String,
    why: &'static str,
    /// The two hosts of each cable, by their numbers.
    cables: Vec<(usize, usize)>,
    /// Number of parallel cables for each of `cables`.
    copies: usize,
}

impl Direct {
    fn new(what: String, why: &'static str, cables: Vec<(usize, usize)>, copies: usize) -> Self {
        let what = if copies > 1 { format!("{what}, {copies} cables each") } else { what };
        Self { what, why, cables, copies }
    }

    fn nothing(what: String, why: &'static str) -> Self {
        Self::new(what, why, Vec::new(), 1)
    }
}

/// All cablings of hosts without a switch.
fn directs(hosts: usize, nics: usize, seed: u64) -> Result<Vec<Direct>, PlanningError> {
    let mut all = Vec::new();
    if nics + 1 >= hosts {
        let copies = nics / (hosts - 1);
        let why = if hosts == 2 && copies == 1 { WHY_PAIR } else { WHY_FULL };
        all.push(Direct::new("full cross-connection".into(), why, pairs(0..hosts), copies));
    }
    if hosts > 3 && nics >= 2 {
        let cables = (0..hosts).map(|a| (a, (a + 1) % hosts)).collect();
        all.push(Direct::new("ring".into(), WHY_RING, cables, nics / 2));
    }
    let rows = |rows: &usize| hosts.is_multiple_of(*rows);
    if nics >= 4
        && let Some(rows) = (3..).take_while(|rows| rows * rows <= hosts).filter(rows).last()
    {
        let columns = hosts / rows;
        let right = |v: usize| v / columns * columns + (v + 1) % columns;
        let cables = (0..hosts).flat_map(|v| [(v, right(v)), (v, (v + columns) % hosts)]).collect();
        all.push(Direct::new(format!("torus {rows}x{columns}"), WHY_TORUS, cables, nics / 4));
    }
    if nics > 2 && nics + 1 < hosts {
        let graph = order_degree(hosts, nics, seed, EFFORT)?;
        let what = format!("searched graph, {nics} cables each host");
        all.push(Direct::new(what, WHY_SEARCHED, graph.edges, 1));
    }
    Ok(all)
}

/// Groups of as many hosts as a host has ports, fully connected inside; the last port of each host stays free
/// for a switch.
fn groups(hosts: usize, size: usize) -> Option<Direct> {
    let several = size > 1 && hosts > size && hosts.is_multiple_of(size);
    several.then(|| {
        let cables = (0..hosts / size).flat_map(|group| pairs(group * size..(group + 1) * size)).collect();
        Direct::new(format!("groups of {size}, cross-connected"), WHY_GROUPS, cables, 1)
    })
}

fn pairs(hosts: std::ops::Range<usize>) -> Vec<(usize, usize)> {
    hosts.clone().flat_map(|a| (a + 1..hosts.end).map(move |b| (a, b))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OwnSwitch;
    use tasuki_cluster::AddressPlan;

    /// Two hosts with one cable: without the cable no path is left between them.
    #[test]
    fn two_hosts_with_one_cable_are_not_said_to_bear_its_loss() {
        let why = |nics| directs(2, nics, 1).unwrap().first().unwrap().why;
        assert!(why(1).contains("apart without it"), "{}", why(1));
        assert!(why(2).contains("any cable or host may fail"), "{}", why(2));
    }

    /// Every proposal is a cluster file without errors that needs no more parts than the inventory has, and
    /// has an address plan.
    #[test]
    fn all_proposals_are_clusters() {
        let inventories: &[(usize, usize, &[u32])] = &[
            (2, 1, &[]),
            (2, 4, &[4]),
            (3, 2, &[]),
            (4, 3, &[8, 4]),
            (5, 2, &[]),
            (6, 3, &[4, 4]),
            (8, 3, &[16]),
            (9, 4, &[]),
            (12, 4, &[8, 8]),
            (16, 1, &[16]),
            (16, 5, &[48, 8]),
            (30, 3, &[16, 16, 8]),
            (64, 1, &[48, 24]),
        ];
        for &(hosts, nics, ports) in inventories {
            let switches = ports.iter().map(|&ports| OwnSwitch { ports, rate: None }).collect();
            let inventory = Inventory { switches, ..Inventory::new(hosts, nics) };
            let found =
                proposals(&inventory).unwrap_or_else(|error| panic!("{hosts} {nics} {ports:?}: {error:?}"));
            assert!(!found.is_empty());
            for Proposal { what, cluster, .. } in found {
                let read = Cluster::parse(&cluster.to_toml(), None)
                    .unwrap_or_else(|e| panic!("{hosts} {what}: {e}"));
                assert_eq!((&read.hosts, &read.cables), (&cluster.hosts, &cluster.cables), "{what}");
                assert!(read.hosts.iter().all(|host| host.nics.len() <= nics), "{hosts} {what}");
                assert_eq!(read.hosts.len(), hosts, "{what}");
                let mut left = ports.to_vec();
                for switch in &read.switches {
                    let at = left.iter().position(|&ports| ports == switch.ports);
                    left.swap_remove(at.unwrap_or_else(|| panic!("{hosts} {what}: there is no such switch")));
                }
                AddressPlan::new(&read).unwrap_or_else(|error| panic!("{hosts} {what}: {error}"));
            }
        }
    }
}
