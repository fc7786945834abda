//! Growing a cabling: where the cables of further hosts go, and which existing cables are moved for them.
//!
//! What new hosts get and what old hosts lose counts before the distances: see [`Grown`]. The search is
//! deterministic: the same site, seed and effort give the same cabling on every machine.

mod cabling;
mod distances;
mod steps;

use crate::cooling::{UNIT, allowance, temperature};
use crate::error::NetworkError;
use crate::random::SplitMix64;
use cabling::{Cabling, Cost};
use std::cmp::Ordering;

/// An existing cabling, and the hosts that join it. Parts (hosts and switches) are numbered: hosts first, old
/// ones before new ones, then switches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// Number of hosts that are cabled already.
    pub old_hosts: usize,
    /// `[host]`, new ones included: whether it relays packets of others.
    pub relays: Vec<bool>,
    /// `[part]`: number of its ports.
    pub ports: Vec<usize>,
    /// Existing cables, each as the two parts that it joins.
    pub cables: Vec<(usize, usize)>,
}

/// A cabling of all hosts. The better one of two has (in this order) fewer pairs of hosts without a route,
/// fewer idle ports, fewer cables moved beyond the number allowed, a smaller sum of distances, fewer cables
/// moved, fewer cables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grown {
    /// All cables, each as the two parts that it joins, ascending.
    pub cables: Vec<(usize, usize)>,
    /// Number of cables of the site that the cabling has no more.
    pub moved: usize,
    /// Number of ports of new hosts without a cable, and of ports of old hosts that lost theirs.
    pub idle: usize,
    /// Sum of the distances of all ordered pairs of hosts, in cables.
    pub sum: u64,
    /// Number of ordered pairs of hosts without a route.
    pub apart: u64,
}

/// The largest number of hosts, and of switches, of a site.
pub const PARTS_MAX: usize = 1024;

/// Number of annealings, each from the existing cabling.
const ROUNDS: u64 = 4;
/// Limit of evaluations of one annealing: on small sites more of them gain nothing.
const EVALUATIONS_MAX: u64 = 100_000;
/// Elementary steps that drawing a change counts as.
const DRAW: u64 = 32;

/// Cables the new hosts of a site. `free_moves` cables may be moved for shorter distances; more are moved
/// only where a host would have no route or an idle port otherwise. With 0, as few are moved as the search
/// finds.
///
/// Two hosts get no second cable in parallel to another. Switches are joined only where no circle of switches
/// arises, and cables between two switches stay. `effort` bounds the elementary steps.
pub fn grow(site: &Site, free_moves: usize, seed: u64, effort: u64) -> Result<Grown, NetworkError> {
    check(site)?;
    let mut random = SplitMix64::new(seed);
    let mut best = Best::new(Cabling::new(site, free_moves));
    for round in 0..ROUNDS {
        let mut start = Cabling::new(site, free_moves);
        // If there are many new hosts, cabling them to each other first saves moves; if there are few, it
        // costs some.
        if round % 2 == 1 {
            start.join_new_hosts(&mut random);
        }
        anneal(start, effort / ROUNDS, &mut best, &mut random);
    }
    let Best { cabling, cost } = best;
    let mut cables = cabling.cables().to_vec();
    cables.sort_unstable();
    Ok(Grown { moved: cost.moved, idle: cost.idle, sum: cost.sum, apart: cost.apart, cables })
}

/// The number of cables moved if every port of a new host goes to an old part, as when the hosts are added
/// one after the other.
pub fn most_moves(site: &Site) -> usize {
    let is_new = |part: usize| (site.old_hosts..site.relays.len()).contains(&part);
    let ports = |new: bool| (0..).zip(&site.ports).filter(move |&(part, _)| is_new(part) == new);
    let [new, old] = [true, false].map(|new| ports(new).map(|(_, ports)| ports).sum::<usize>());
    new.saturating_sub(old.saturating_sub(2 * site.cables.len())).div_ceil(2)
}

/// The best cabling found so far.
struct Best<'a> {
    cabling: Cabling<'a>,
    cost: Cost,
}

impl<'a> Best<'a> {
    fn new(cabling: Cabling<'a>) -> Self {
        Self { cost: cabling.cost(), cabling }
    }
}

/// Anneals from a cabling. A step may make the distances longer, but never adds hosts without a route, idle
/// ports or moves beyond the number allowed.
fn anneal<'a>(mut now: Cabling<'a>, effort: u64, best: &mut Best<'a>, random: &mut SplitMix64) {
    let hosts = now.hosts() as u64;
    // The scale of temperatures: a cable exchanged changes the distances of some pairs, in both directions,
    // by 1 each.
    let (hot, cold) = (hosts * UNIT / 2, UNIT / 2);
    let mut cost = now.cost();
    let evaluation = now.evaluation();
    let effort = effort.min(EVALUATIONS_MAX * evaluation);
    let mut spent = 0;
    while spent < effort {
        spent += DRAW;
        if !now.step(random) {
            continue;
        }
        // Most steps move too much, which shows without computing any distance.
        if cost.apart == 0 && now.losses() > (cost.idle, cost.excess) {
            now.undo();
            continue;
        }
        spent += evaluation;
        let then = now.cost();
        let allowed = allowance(temperature(hot, cold, spent, effort), random);
        let taken = match then.hard().cmp(&cost.hard()) {
            Ordering::Less => true,
            Ordering::Equal => then.sum <= cost.sum + allowed,
            Ordering::Greater => false,
        };
        if !taken {
            now.undo();
            continue;
        }
        cost = then;
        if cost < best.cost {
            *best = Best { cabling: now.clone(), cost };
        }
    }
}

fn check(site: &Site) -> Result<(), NetworkError> {
    let (hosts, parts) = (site.relays.len(), site.ports.len());
    let fail = |problem: String| {
        Err(NetworkError::Shape {
            shape: format!("{hosts} hosts, {} there already", site.old_hosts),
            problem,
        })
    };
    if site.old_hosts > hosts || hosts > parts {
        return fail("every host needs its number of ports, and old hosts are among them".into());
    }
    if hosts > PARTS_MAX || parts - hosts > PARTS_MAX {
        return fail(format!("more than {PARTS_MAX} hosts or switches"));
    }
    let mut used = vec![0; parts];
    for &(a, b) in &site.cables {
        let is_there = |part: usize| part < site.old_hosts || (hosts..parts).contains(&part);
        if a == b || !is_there(a) || !is_there(b) {
            return fail(format!("a cable joins parts {a} and {b}, which is not two parts that are there"));
        }
        (used[a], used[b]) = (used[a] + 1, used[b] + 1);
    }
    match (0..parts).find(|&part| used[part] > site.ports[part]) {
        Some(part) => {
            fail(format!("part {part} has {} ports and {} cables in them", site.ports[part], used[part]))
        }
        None => Ok(()),
    }
}
