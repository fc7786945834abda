//! Growing a cluster: cablings for more hosts that leave as many cables as possible in their place.

mod lay;
mod overlay;
mod sound;

pub use lay::Moves;

use crate::{Inventory, PlanningError, Proposal, Steps};
use lay::lay;
use overlay::overlay;
use sound::{level_mtus, sound, with_old_mtu};
use std::iter;
use tasuki_cluster::{Cable, Cluster, End, Switch, generate::ClusterBuilder};
use tasuki_topo::grow::{Grown, Site, grow, most_moves};

/// Effort of the search for one cabling, in elementary steps: about a second.
const EFFORT: u64 = 400_000_000;
/// Number of steps that [`grown`] reports.
pub const GROW_STEPS: u64 = 3;

const WHY_FEWEST: &str = "no way was found to move fewer cables and leave no host without its ports; new \
     hosts are cabled to each other where that saves a move";
const WHY_GROWN: &str = "more cables are moved, for shorter routes";

/// A part that cables lead to: a host or a switch, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Host(usize),
    Switch(usize),
}

/// The cabling of a grown cluster: hosts and switches of the old cluster come first, then those that are
/// added.
struct Target {
    what: String,
    why: &'static str,
    switches: Vec<Switch>,
    /// The two parts of each cable, the lower one first.
    pairs: Vec<(Part, Part)>,
}

/// Proposals for an old cluster that grows to `inventory.hosts` hosts with `inventory.nics` ports each. First
/// come those that insert the new hosts with few cables moved, then those of `fresh`, which are proposals for
/// as many hosts, laid over the old cluster. `inventory.switches` are the added ones. All are clusters whose
/// files have no errors.
pub fn grown(
    old: &Cluster,
    inventory: &Inventory,
    fresh: &[Proposal],
    step: Steps<'_>,
) -> Result<Vec<Proposal>, PlanningError> {
    if inventory.hosts <= old.hosts.len() {
        let has = old.hosts.len();
        return Err(PlanningError::request(format!(
            "the cluster has {has} hosts already; --hosts is the number after growing"
        )));
    }
    let most = old.hosts.iter().map(|host| host.nics.len()).max().unwrap_or(0);
    if most > inventory.nics {
        let why = format!("the cluster has a host with {most} NICs; --nics must be at least that");
        return Err(PlanningError::request(why));
    }
    let mut targets = put_in(old, inventory, step)?;
    targets.extend(fresh.iter().map(|proposal| overlay(old, proposal, inventory, true)));
    sound(targets.into_iter().map(|target| laid(old, target, inventory)).collect())
}

/// Proposals laid over an old cluster, host by host: which host is which matters to the program that they are
/// for. Those that this cluster cannot have are left out.
pub(crate) fn laid_over(old: &Cluster, fresh: &[Proposal], inventory: &Inventory) -> Vec<Proposal> {
    let targets = fresh.iter().map(|proposal| overlay(old, proposal, inventory, false));
    sound(targets.map(|target| laid(old, target, inventory)).collect()).unwrap_or_default()
}

fn laid(old: &Cluster, target: Target, inventory: &Inventory) -> Proposal {
    let mut proposal = lay(old, target, &with_old_mtu(old, inventory));
    level_mtus(&mut proposal.cluster, old);
    proposal
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

fn pair(cable: &Cable) -> (Part, Part) {
    ordered(part(cable.ends[0]), part(cable.ends[1]))
}

/// The cablings that insert the new hosts: with the fewest cables moved, with as many moved as if all their
/// ports went to old hosts (as when the hosts are added one after the other), and with half of that.
fn put_in(old: &Cluster, inventory: &Inventory, step: Steps<'_>) -> Result<Vec<Target>, PlanningError> {
    let mut builder = ClusterBuilder::extend(old.clone(), &inventory.options());
    inventory.switches.iter().for_each(|switch| {
        builder.switch(switch.ports, switch.rate);
    });
    let switches = builder.finish().switches;
    let site = site(old, inventory, &switches);
    let most = most_moves(&site);
    let mut targets: Vec<Target> = Vec::new();
    let mut shortest = u64::MAX;
    for (free_moves, why) in [(0, WHY_FEWEST), (most.div_ceil(2), WHY_GROWN), (most, WHY_GROWN)] {
        step(&format!("{free_moves} moves"));
        let found = grow(&site, free_moves, inventory.seed, EFFORT)?;
        if found.apart > 0 {
            return Err(no_port(&site, &found, inventory));
        }
        // A cabling with more moves is shown only if it shortens the distances.
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
    Ok(targets)
}

/// The site for the search, which numbers hosts first, then switches.
fn site(old: &Cluster, inventory: &Inventory, switches: &[Switch]) -> Site {
    let hosts = inventory.hosts;
    let number = |part: Part| match part {
        Part::Host(host) => host,
        Part::Switch(switch) => hosts + switch,
    };
    let relays = old.hosts.iter().map(|host| host.relay).chain(iter::repeat(true));
    let ports =
        iter::repeat_n(inventory.nics, hosts).chain(switches.iter().map(|switch| switch.ports as usize));
    Site {
        old_hosts: old.hosts.len(),
        relays: relays.take(hosts).collect(),
        ports: ports.collect(),
        cables: old.cables.iter().map(pair).map(|(a, b)| (number(a), number(b))).collect(),
    }
}

/// The error that the best cabling found leaves hosts unconnected.
fn no_port(site: &Site, found: &Grown, inventory: &Inventory) -> PlanningError {
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
    PlanningError::request(format!(
        "host number {} finds no port: with {} of each host and those of the switches no cabling was found \
         that joins all; add a switch (--switch PORTS) or ports (--nics)",
        apart + 1,
        inventory.nics
    ))
}
