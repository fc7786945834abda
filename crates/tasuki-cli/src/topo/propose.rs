//! The cablings that hosts, ports and switches allow.

use super::draft::{Draft, Plane};
use super::grow::Moves;
use crate::{
    args::{OwnSwitch, PlanArgs},
    failure::Failure,
};
use std::cmp::Reverse;
use tasuki_cluster::Cluster;
use tasuki_topo::search::order_degree;

/// Effort of the search for a graph: a fraction of a second in an optimised build.
const EFFORT: u64 = 100_000_000;

/// A cabling.
pub struct Proposal {
    pub what: String,
    /// What speaks for it, or against it.
    pub why: &'static str,
    pub cluster: Cluster,
    /// What becomes of the cables that there are, where a cluster grows.
    pub moves: Option<Moves>,
}

/// All proposals.
pub fn proposals(arguments: &PlanArgs) -> Result<Vec<Proposal>, Failure> {
    let (hosts, nics) = (arguments.hosts as usize, arguments.nics as usize);
    let mut found = Vec::new();
    let mut add = |direct: Direct, planes: &[Plane]| {
        let mut draft = Draft::new(format!("plan{hosts}-{}", found.len() + 1), arguments);
        for _ in 0..direct.copies {
            direct.cables.iter().for_each(|&(a, b)| draft.connect(a, b));
        }
        planes.iter().for_each(|plane| draft.plane(plane));
        found.push(Proposal { what: direct.what, why: direct.why, cluster: draft.finish(), moves: None });
    };
    for direct in directs(hosts, nics, arguments.seed)? {
        add(direct, &[]);
    }
    let planes = planes(hosts, nics, &arguments.switches);
    if let Some(first) = planes.first() {
        add(Direct::nothing(describe(&planes), WHY_SWITCHED), &planes);
        if nics > 1 && hosts > 2 {
            // One NIC of each host to a switch, the others to each other.
            let one = [Plane { nics: 1, ..first.clone() }];
            let beside = directs(hosts, nics - 1, arguments.seed)?.into_iter();
            for direct in beside.chain(groups(hosts, nics)) {
                let what = format!("{} and {}", describe(&one), direct.what);
                let why = if direct.why == WHY_GROUPS { WHY_GROUPS } else { WHY_BESIDE };
                add(Direct { what, why, ..direct }, &one);
            }
        }
    }
    if found.is_empty() { Err(impossible(arguments)) } else { Ok(found) }
}

const WHY_FULL: &str = "every pair has a cable of its own; any cable or host may fail";
const WHY_RING: &str = "two ports per host are enough; far hosts share the cables of those between";
const WHY_TORUS: &str = "neighbours in a grid have cables of their own; others are relayed";
const WHY_SEARCHED: &str = "the shortest ways found for so many ports, without a switch; hosts relay";
const WHY_SWITCHED: &str = "no host relays; who loses a switch loses what was on it";
const WHY_BESIDE: &str = "cables for those that have them, the switch for all others; either may fail";

const WHY_GROUPS: &str = "cables inside a group; the switch joins the groups, and they are apart without it";

/// Why nothing can be proposed, and what could be.
fn impossible(arguments: &PlanArgs) -> Failure {
    let (hosts, nics) = (arguments.hosts, arguments.nics);
    let ports: Vec<String> = arguments.switches.iter().map(|switch| switch.ports.to_string()).collect();
    let given = match ports.len() {
        0 => "no switch".into(),
        1 => format!("a switch of {} ports", ports[0]),
        _ => format!("switches of {} ports, which join hosts only as a tree", ports.join(", ")),
    };
    Failure::new(format!(
        "{hosts} hosts with {nics} port{} and {given} cannot be connected: give each host 2 ports, or add a switch of \
         {hosts} ports or more (--switch {hosts})",
        if nics == 1 { " each" } else { "s each" }
    ))
}

/// Cables from host to host.
#[derive(Clone, Debug, PartialEq)]
struct Direct {
    what: String,
    why: &'static str,
    cables: Vec<(usize, usize)>,
    /// Cables for each of `cables`.
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

/// All ways to cable hosts without a switch.
fn directs(hosts: usize, nics: usize, seed: u64) -> Result<Vec<Direct>, Failure> {
    let mut all = Vec::new();
    if nics + 1 >= hosts {
        let copies = nics / (hosts - 1);
        all.push(Direct::new("full cross-connection".into(), WHY_FULL, pairs(0..hosts), copies));
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

/// Groups of as many hosts as one has ports, cross-connected inside; the last port stays free for a switch.
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

/// Trees of switches, each with ports for all hosts, largest switches first; and how many NICs of every host go to each.
/// Switches that are left over and do not suffice for another tree are left out.
fn planes(hosts: usize, nics: usize, switches: &[OwnSwitch]) -> Vec<Plane> {
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
        // The next NIC goes to the tree with the fewest, if it has ports for all hosts once more.
        let room = |plane: &&mut Plane| Plane::room(&plane.switches) >= hosts * (plane.nics + 1);
        let Some(plane) = planes.iter_mut().filter(room).min_by_key(|plane| plane.nics) else { break };
        plane.nics += 1;
    }
    planes
}

fn describe(planes: &[Plane]) -> String {
    let switches: usize = planes.iter().map(|plane| plane.switches.len()).sum();
    let nics: usize = planes.iter().map(|plane| plane.nics).sum();
    let trees = if switches > planes.len() { " as trees" } else { "" };
    let count = if switches == 1 { "one switch".into() } else { format!("{switches} switches{trees}") };
    format!("{count}, {nics} NIC{} each host", if nics == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Command, Tasuki};
    use clap::Parser;
    use tasuki_cluster::AddressPlan;

    fn own(ports: &[u32]) -> Vec<OwnSwitch> {
        ports.iter().map(|&ports| OwnSwitch { ports, rate: None }).collect()
    }

    fn shape(planes: &[Plane]) -> Vec<(Vec<u32>, usize)> {
        planes.iter().map(|p| (p.switches.iter().map(|s| s.ports).collect(), p.nics)).collect()
    }

    /// Whatever is proposed is a cluster file without errors that needs no more than there is, and has an address plan.
    #[test]
    fn all_proposals_are_clusters() {
        let inventories: &[(u32, u32, &[u32])] = &[
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
            let words = ["tasuki", "plan", "--hosts", &hosts.to_string(), "--nics", &nics.to_string()]
                .map(String::from);
            let switches = ports.iter().map(|ports| format!("--switch={ports}"));
            let Ok(Tasuki { command: Command::Plan(arguments) }) =
                Tasuki::try_parse_from(words.into_iter().chain(switches))
            else {
                panic!("the arguments are right");
            };
            let found =
                proposals(&arguments).unwrap_or_else(|error| panic!("{hosts} {nics} {ports:?}: {error:?}"));
            assert!(!found.is_empty());
            for Proposal { what, cluster, .. } in found {
                let read = Cluster::parse(&cluster.to_toml(), None)
                    .unwrap_or_else(|e| panic!("{hosts} {what}: {e}"));
                assert_eq!((&read.hosts, &read.cables), (&cluster.hosts, &cluster.cables), "{what}");
                assert!(read.hosts.iter().all(|host| host.nics.len() <= nics as usize), "{hosts} {what}");
                assert_eq!(read.hosts.len(), hosts as usize, "{what}");
                let mut left = ports.to_vec();
                for switch in &read.switches {
                    let at = left.iter().position(|&ports| ports == switch.ports);
                    left.swap_remove(at.unwrap_or_else(|| panic!("{hosts} {what}: there is no such switch")));
                }
                AddressPlan::new(&read).unwrap_or_else(|error| panic!("{hosts} {what}: {error}"));
            }
        }
    }

    #[test]
    fn switches_become_trees_with_room_for_all() {
        // One that holds all; two of 8 hold 14; three of 8 hold 20, and none is left for a second tree.
        assert_eq!(shape(&planes(8, 1, &own(&[8]))), [(vec![8], 1)]);
        assert_eq!(shape(&planes(14, 2, &own(&[8, 8]))), [(vec![8, 8], 1)]);
        assert_eq!(shape(&planes(15, 2, &own(&[8, 8]))), []);
        assert_eq!(shape(&planes(20, 2, &own(&[8, 8, 8]))), [(vec![8, 8, 8], 1)]);
        // A switch with twice the ports takes two NICs; a second one takes a NIC before that.
        assert_eq!(shape(&planes(4, 3, &own(&[8]))), [(vec![8], 2)]);
        assert_eq!(shape(&planes(4, 3, &own(&[4, 8]))), [(vec![8], 2), (vec![4], 1)]);
        // Four switches of 2 ports would take more cables at the root than it has.
        assert_eq!(shape(&planes(3, 1, &own(&[2, 2, 2, 2]))), []);
    }
}
