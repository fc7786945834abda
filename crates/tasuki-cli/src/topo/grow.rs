//! Growing a cluster: which cables stay where they are.

use super::propose::Proposal;
use crate::{args::PlanArgs, failure::Failure, terminal::progress_bar};
use std::collections::BTreeMap;
use tasuki_cluster::{
    Cable, Cluster, DEFAULT_CORES, End, Host, HostId, Nic, NicId, SshOptions, Switch, SwitchId,
};
use tasuki_topo::grow::{Grown, Site, grow, most_moves};

/// Effort of the search for one cabling: about a second.
const EFFORT: u64 = 400_000_000;

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

const WHY_FEWEST: &str = "no way was found to move fewer cables and leave no host without its ports; new hosts are cabled to each other \
    where that saves a move";
const WHY_GROWN: &str = "more cables are moved, for shorter ways";

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
    let mut targets = put_in(old, arguments)?;
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

/// The new hosts put in with the fewest cables moved, with as many as they would take if all their ports went to old hosts (what
/// one host after the other comes to), and with half of that.
fn put_in(old: &Cluster, arguments: &PlanArgs) -> Result<Vec<Target>, Failure> {
    let mut switches = old.switches.clone();
    for switch in &arguments.switches {
        let rate = switch.rate.unwrap_or(arguments.rate);
        add_switch(&mut switches, Switch { name: String::new(), ports: switch.ports, rate });
    }
    let site = site(old, arguments, &switches);
    let most = most_moves(&site);
    let mut targets: Vec<Target> = Vec::new();
    let mut shortest = u64::MAX;
    let limits = [(0, WHY_FEWEST), (most.div_ceil(2), WHY_GROWN), (most, WHY_GROWN)];
    let bar = progress_bar(limits.len() as u64).with_prefix("grow");
    for (free_moves, why) in limits {
        bar.set_message(format!("{free_moves} moves"));
        let found = grow(&site, free_moves, arguments.seed, EFFORT)?;
        bar.inc(1);
        if found.apart > 0 {
            return Err(no_port(&site, &found, arguments));
        }
        // More moves are worth showing where they shorten the ways.
        if found.sum >= shortest {
            continue;
        }
        shortest = found.sum;
        let part = |at: usize| at.checked_sub(site.relays.len()).map_or(Part::Host(at), Part::Switch);
        targets.push(Target {
            what: format!("grown, {} moved", found.moved),
            why,
            switches: switches.clone(),
            pairs: found.cables.iter().map(|&(a, b)| ordered(part(a), part(b))).collect(),
        });
    }
    bar.finish_and_clear();
    Ok(targets)
}

/// What is there and what comes to it, for the search: hosts, then switches.
fn site(old: &Cluster, arguments: &PlanArgs, switches: &[Switch]) -> Site {
    let hosts = arguments.hosts as usize;
    let number = |part: Part| match part {
        Part::Host(host) => host,
        Part::Switch(switch) => hosts + switch,
    };
    let relays = old.hosts.iter().map(|host| host.relay).chain(std::iter::repeat(true));
    let ports = std::iter::repeat_n(arguments.nics as usize, hosts)
        .chain(switches.iter().map(|switch| switch.ports as usize));
    Site {
        old_hosts: old.hosts.len(),
        relays: relays.take(hosts).collect(),
        ports: ports.collect(),
        cables: pairs(old).into_iter().map(|(a, b)| (number(a), number(b))).collect(),
    }
}

/// Why the best cabling that was found leaves hosts apart.
fn no_port(site: &Site, found: &Grown, arguments: &PlanArgs) -> Failure {
    let mut reached = vec![0];
    let mut at = 0;
    while let Some(&part) = reached.get(at) {
        at += 1;
        for &(a, b) in &found.cables {
            for (from, to) in [(a, b), (b, a)] {
                if from == part && !reached.contains(&to) {
                    reached.push(to);
                }
            }
        }
    }
    let apart = (0..site.relays.len()).rev().find(|host| !reached.contains(host)).unwrap_or(0);
    Failure::new(format!(
        "host number {} finds no port: with {} of each host and those of the switches no cabling was found that joins all; \
         add a switch (--switch PORTS) or ports (--nics)",
        apart + 1,
        arguments.nics
    ))
}

/// Adds a switch under a name that is free.
fn add_switch(switches: &mut Vec<Switch>, switch: Switch) {
    let free = |name: &String| switches.iter().all(|switch| switch.name != *name);
    let name = (1..).map(|n| format!("sw{n}")).find(free).unwrap_or_default();
    switches.push(Switch { name, ..switch });
}

/// Another cabling, its hosts numbered so that many cables of the old cluster are kept.
fn lay_over(old: &Cluster, fresh: &Cluster, proposal: &Proposal) -> Target {
    let mut switches = old.switches.clone();
    let mut taken = vec![false; switches.len()];
    let mut place = Vec::new();
    for switch in &fresh.switches {
        let like = |&at: &usize| !taken[at] && switches[at].ports == switch.ports;
        let at = (0..taken.len()).find(like).unwrap_or_else(|| {
            add_switch(&mut switches, switch.clone());
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
            ssh: SshOptions::default(),
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
