//! Growing a cluster: which cables stay where they are.

use super::propose::Proposal;
use crate::{args::PlanArgs, failure::Failure};
use std::collections::BTreeMap;
use tasuki_cluster::{Cable, Cluster, DEFAULT_CORES, End, Host, HostId, Nic, NicId, Switch, SwitchId};
use tasuki_topo::{
    Network,
    measure::{SelfPairs, distances},
};

/// Cables that are tried for a new host to be put between; more take long.
const TRIED: usize = 300;

/// A part that cables lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Host(usize),
    Switch(usize),
}

/// What becomes of the cables of the old cluster.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Moves {
    /// Cables that stay as they are.
    pub kept: usize,
    /// Cables that are unplugged, at one end or at both, to be used again or put away.
    pub moved: usize,
    /// Cables of the new cluster beyond those that there were.
    pub added: usize,
    /// The cables to unplug.
    pub unplug: Vec<[String; 2]>,
    /// By cable of the new cluster: whether it is there already.
    pub there: Vec<bool>,
}

/// A cabling to be: hosts and switches of the old cluster first.
struct Target {
    what: String,
    why: &'static str,
    switches: Vec<Switch>,
    pairs: Vec<(Part, Part)>,
}

const WHY_GROWN: &str =
    "new hosts go to free ports, then between two that were cabled to each other; all else stays";

/// The old cluster with new hosts put in, and every other proposal for so many hosts laid over the old cluster.
pub fn grown(old: &Cluster, arguments: &PlanArgs, fresh: Vec<Proposal>) -> Result<Vec<Proposal>, Failure> {
    let hosts = arguments.hosts as usize;
    if hosts <= old.hosts.len() {
        let has = old.hosts.len();
        return Err(Failure::new(format!(
            "the cluster has {has} hosts already; --hosts is the number after growing"
        )));
    }
    let most = old.hosts.iter().map(|host| host.nics.len()).max().unwrap_or(0);
    if most > arguments.nics as usize {
        let why = format!("the cluster has a host with {most} NICs; --nics must be at least that");
        return Err(Failure::new(why));
    }
    let mut targets = vec![insert(old, arguments)?];
    targets.extend(fresh.iter().map(|proposal| lay_over(old, &proposal.cluster, proposal)));
    Ok(targets.into_iter().map(|target| build(old, target, arguments)).collect())
}

fn part(end: End) -> Part {
    match end {
        End::Nic(nic) => Part::Host(nic.host.0),
        End::Port { switch, .. } => Part::Switch(switch.0),
    }
}

fn ordered(a: Part, b: Part) -> (Part, Part) {
    if a < b { (a, b) } else { (b, a) }
}

fn pairs(cluster: &Cluster) -> Vec<(Part, Part)> {
    let pair = |cable: &Cable| ordered(part(cable.ends[0]), part(cable.ends[1]));
    cluster.cables.iter().map(pair).collect()
}

/// Puts the new hosts in one after the other: a cable to every switch with a free port, then to hosts with a free port,
/// the farthest first, then between two cabled hosts, wherever that leaves the shortest ways.
fn insert(old: &Cluster, arguments: &PlanArgs) -> Result<Target, Failure> {
    let (hosts, nics) = (arguments.hosts as usize, arguments.nics as usize);
    let mut all = pairs(old);
    let ports: Vec<usize> = old.switches.iter().map(|switch| switch.ports as usize).collect();
    for new in old.hosts.len()..hosts {
        let this = Part::Host(new);
        let used =
            |part: Part, all: &[(Part, Part)]| all.iter().filter(|(a, b)| *a == part || *b == part).count();
        let beside = |other: Part, all: &[(Part, Part)]| all.contains(&ordered(this, other));
        for (switch, &ports) in ports.iter().enumerate() {
            if used(this, &all) < nics && used(Part::Switch(switch), &all) < ports {
                all.push(ordered(this, Part::Switch(switch)));
            }
        }
        while used(this, &all) < nics {
            let free =
                (0..new).map(Part::Host).filter(|&host| used(host, &all) < nics && !beside(host, &all));
            let free: Vec<(Part, Part)> = free.map(|host| ordered(this, host)).collect();
            let plugged = free.into_iter().map(|pair| {
                let mut with = all.clone();
                with.push(pair);
                with
            });
            let split = |&at: &usize| {
                let (a, b) = all[at];
                let inside = matches!((a, b), (Part::Host(_), Part::Host(_)));
                inside && a != this && b != this && !beside(a, &all) && !beside(b, &all)
            };
            let candidates: Vec<Vec<(Part, Part)>> = plugged.collect();
            let candidates = match candidates.is_empty() && used(this, &all) + 2 <= nics {
                false => candidates,
                true => {
                    (0..all.len()).filter(split).take(TRIED).map(|at| put_between(&all, at, this)).collect()
                }
            };
            let best = candidates
                .into_iter()
                .min_by(|a, b| far(a, new + 1, ports.len()).total_cmp(&far(b, new + 1, ports.len())));
            let Some(best) = best else { break };
            all = best;
        }
        if used(this, &all) == 0 {
            return Err(Failure::new(format!(
                "host number {} finds no port: all {nics} of each host and all of the switches are taken, and no cable \
                 joins two hosts that it could go between; add a switch (--switch PORTS) or ports (--nics)",
                new + 1
            )));
        }
    }
    Ok(Target { what: "grown".into(), why: WHY_GROWN, switches: old.switches.clone(), pairs: all })
}

/// The cable at an index replaced by two over a part between.
fn put_between(all: &[(Part, Part)], at: usize, between: Part) -> Vec<(Part, Part)> {
    let mut with = all.to_vec();
    let (a, b) = with.swap_remove(at);
    with.extend([ordered(a, between), ordered(between, b)]);
    with
}

/// Mean distance of hosts; infinite if some are apart.
fn far(pairs: &[(Part, Part)], hosts: usize, switches: usize) -> f64 {
    let mut builder = tasuki_topo::NetworkBuilder::new("draft");
    let host_ids: Vec<_> = (0..hosts).map(|_| builder.relay(String::new())).collect();
    let switch_ids: Vec<_> = (0..switches).map(|_| builder.switch(String::new(), None)).collect();
    let id = |part: Part| match part {
        Part::Host(host) => host_ids[host],
        Part::Switch(switch) => switch_ids[switch],
    };
    pairs.iter().for_each(|&(a, b)| builder.cable(id(a), id(b), 1));
    let mean = |net: Network| distances(&net).average(SelfPairs::Excluded);
    builder.build().ok().and_then(mean).unwrap_or(f64::INFINITY)
}

/// Another cabling, its hosts numbered so that many cables of the old cluster are kept.
fn lay_over(old: &Cluster, fresh: &Cluster, proposal: &Proposal) -> Target {
    let mut switches = old.switches.clone();
    let mut taken = vec![false; switches.len()];
    let mut place = Vec::new();
    for switch in &fresh.switches {
        let like = |&at: &usize| !taken[at] && switches[at].ports == switch.ports;
        let at = (0..taken.len()).find(like).unwrap_or_else(|| {
            let name = (1..).map(|n| format!("sw{n}")).find(|name| switches.iter().all(|s| s.name != *name));
            switches.push(Switch { name: name.unwrap_or_default(), ..switch.clone() });
            taken.push(false);
            switches.len() - 1
        });
        taken[at] = true;
        place.push(at);
    }
    let mut there: BTreeMap<(Part, Part), usize> = BTreeMap::new();
    pairs(old).into_iter().for_each(|pair| *there.entry(pair).or_default() += 1);
    let new = pairs(fresh);
    let mut beside: Vec<Vec<Part>> = vec![Vec::new(); fresh.hosts.len()];
    for &(a, b) in &new {
        for (a, b) in [(a, b), (b, a)] {
            if let Part::Host(host) = a {
                beside[host].push(b);
            }
        }
    }
    let mut name: Vec<usize> = (0..fresh.hosts.len()).collect();
    let named = |part: Part, name: &[usize]| match part {
        Part::Host(host) => Part::Host(name[host]),
        Part::Switch(switch) => Part::Switch(place[switch]),
    };
    let kept_at = |host: usize, name: &[usize]| {
        let there =
            |&&other: &&Part| there.contains_key(&ordered(Part::Host(name[host]), named(other, name)));
        beside[host].iter().filter(there).count()
    };
    // Exchanges two hosts wherever that keeps more cables.
    for _ in 0..20 {
        let mut better = false;
        for (a, b) in (0..name.len()).flat_map(|a| (a + 1..beside.len()).map(move |b| (a, b))) {
            let before = kept_at(a, &name) + kept_at(b, &name);
            name.swap(a, b);
            if kept_at(a, &name) + kept_at(b, &name) > before {
                better = true;
            } else {
                name.swap(a, b);
            }
        }
        if !better {
            break;
        }
    }
    let pairs = new.into_iter().map(|(a, b)| ordered(named(a, &name), named(b, &name))).collect();
    Target { what: proposal.what.clone(), why: proposal.why, switches, pairs }
}

/// The cluster of a target: cables that are there keep their ports, the others take the lowest free ones.
fn build(old: &Cluster, target: Target, arguments: &PlanArgs) -> Proposal {
    let mut cluster = Cluster { cables: Vec::new(), switches: target.switches, source: None, ..old.clone() };
    for number in old.hosts.len()..arguments.hosts as usize {
        let free = |name: &String| cluster.hosts.iter().all(|host| host.name != *name);
        let name = (number + 1..).map(|n| format!("n{n}")).find(free).unwrap_or_default();
        cluster.hosts.push(Host {
            name,
            management: None,
            cores: old.hosts.last().map_or(DEFAULT_CORES, |host| host.cores),
            rack: None,
            module: None,
            relay: true,
            delay: None,
            nics: Vec::new(),
        });
    }
    let mut wanted: BTreeMap<(Part, Part), usize> = BTreeMap::new();
    target.pairs.into_iter().for_each(|pair| *wanted.entry(pair).or_default() += 1);
    let mut moves = Moves::default();
    // Labels follow the order of the cables: what stays keeps its number, what is new takes those that come free.
    let mut slots: Vec<Option<Cable>> = Vec::new();
    for cable in &old.cables {
        let left =
            wanted.get_mut(&ordered(part(cable.ends[0]), part(cable.ends[1]))).filter(|left| **left > 0);
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
    cluster.cables = slots.iter().flatten().cloned().collect();
    moves.there = slots.iter().map(Option::is_some).collect();
    let mut fill = 0;
    for ((a, b), count) in wanted {
        for _ in 0..count {
            let first = plug(&mut cluster, a, arguments, None);
            let second = plug(&mut cluster, b, arguments, Some(first));
            let cable = Cable { ends: [first, second], length_m: None };
            cluster.cables.push(cable.clone());
            while slots.get(fill).is_some_and(Option::is_some) {
                fill += 1;
            }
            if fill == slots.len() {
                slots.push(None);
                moves.there.push(false);
            }
            slots[fill] = Some(cable);
        }
    }
    // Numbers that stay free are closed up.
    moves.there =
        moves.there.iter().zip(&slots).filter(|(_, slot)| slot.is_some()).map(|(&there, _)| there).collect();
    cluster.cables = slots.into_iter().flatten().collect();
    moves.added = cluster.cables.len().saturating_sub(old.cables.len());
    drop_idle(&mut cluster);
    Proposal { what: target.what, why: target.why, cluster, moves: Some(moves) }
}

/// The lowest free port of a part; hosts get another NIC if they need one.
fn plug(cluster: &mut Cluster, part: Part, arguments: &PlanArgs, besides: Option<End>) -> End {
    let taken = |end: End, cluster: &Cluster| {
        Some(end) == besides || cluster.cables.iter().any(|cable| cable.ends.contains(&end))
    };
    match part {
        Part::Switch(switch) => {
            let port = |port| End::Port { switch: SwitchId(switch), port };
            (1..).map(port).find(|&end| !taken(end, cluster)).unwrap_or(port(1))
        }
        Part::Host(host) => {
            let nic = |index| End::Nic(NicId { host: HostId(host), index });
            let free = (0..cluster.hosts[host].nics.len()).map(nic).find(|&end| !taken(end, cluster));
            free.unwrap_or_else(|| {
                let nics = &mut cluster.hosts[host].nics;
                let unused = |name: &String| nics.iter().all(|nic| nic.name != *name);
                let name = (nics.len() + 1..).map(|n| format!("eth{n}")).find(unused).unwrap_or_default();
                nics.push(Nic {
                    name,
                    mac: None,
                    rate: arguments.rate,
                    mtu: arguments.mtu,
                    ip: true,
                    delay: None,
                });
                nic(nics.len() - 1)
            })
        }
    }
}

/// Switches at the end of the list that no cable leads to are left out.
fn drop_idle(cluster: &mut Cluster) {
    let idle = |switch: usize, cluster: &Cluster| {
        let to = |end: &End| matches!(end, End::Port { switch: at, .. } if at.0 == switch);
        !cluster.cables.iter().any(|cable| cable.ends.iter().any(to))
    };
    while !cluster.switches.is_empty() && idle(cluster.switches.len() - 1, cluster) {
        cluster.switches.pop();
    }
}
