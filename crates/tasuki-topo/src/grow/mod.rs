//! Growing a cabling: where the cables of further hosts go, and which of those that are there are moved for it.
//!
//! What a host gets and what others lose is settled before how long the ways are: see [`Grown`]. The search is
//! deterministic: the same site, seed and effort give the same cabling on every machine.

mod cabling;
mod steps;
mod ways;

use crate::cooling::{UNIT, allowance, temperature};
use crate::error::NetworkError;
use crate::random::SplitMix64;
use cabling::{Cabling, Cost};
use std::cmp::Ordering;

/// Parts and cables that are there, and parts that come to them. Parts are numbered: hosts first, old ones before new ones, then
/// switches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// Hosts that are there.
    pub old_hosts: usize,
    /// By host, new ones included: whether it forwards what is for others.
    pub relays: Vec<bool>,
    /// Ports of every part.
    pub ports: Vec<usize>,
    /// Cables that are there, each as the two parts that it joins.
    pub cables: Vec<(usize, usize)>,
}

/// A cabling of all hosts. Of two, the better one has (in this order) fewer pairs of hosts without a way, fewer idle ports, fewer
/// cables moved beyond those that may be, a smaller sum of distances, fewer cables moved, fewer cables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grown {
    /// All cables, each as the two parts that it joins, ascending.
    pub cables: Vec<(usize, usize)>,
    /// Cables of the site that are not there any more.
    pub moved: usize,
    /// Ports of new hosts without a cable, and ports of old hosts that had one.
    pub idle: usize,
    /// Distances of all ordered pairs of hosts, in cables.
    pub sum: u64,
    /// Ordered pairs of hosts without a way.
    pub apart: u64,
}

/// Most hosts, and most switches, that are searched for.
pub const PARTS_MAX: usize = 1024;

/// Annealings, each from the cabling that is there.
const ROUNDS: u64 = 4;
/// More evaluations than this gain nothing on small sites.
const EVALUATIONS_MAX: u64 = 100_000;
/// Elementary steps of a draw.
const DRAW: u64 = 32;

/// Puts the new hosts of a site in. `free_moves` cables may be moved for shorter ways; more are only where a host would have
/// no way or an idle port otherwise. With 0, as few are moved as the search finds.
///
/// Two hosts get no second cable beside another. Switches are joined only where no circle of them arises, and cables between two
/// switches stay. `effort` bounds the elementary steps.
pub fn grow(site: &Site, free_moves: usize, seed: u64, effort: u64) -> Result<Grown, NetworkError> {
    check(site)?;
    let mut random = SplitMix64::new(seed);
    let mut best = Best::new(Cabling::new(site, free_moves));
    for round in 0..ROUNDS {
        let mut start = Cabling::new(site, free_moves);
        // Many new hosts need few moves if they are cabled to each other first, few hosts if they are not.
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

/// How many cables are moved if every port of a new host goes to an old part: what putting in one host after the other comes to.
pub fn most_moves(site: &Site) -> usize {
    let is_new = |part: usize| (site.old_hosts..site.relays.len()).contains(&part);
    let ports = |new: bool| (0..).zip(&site.ports).filter(move |&(part, _)| is_new(part) == new);
    let [new, old] = [true, false].map(|new| ports(new).map(|(_, ports)| ports).sum::<usize>());
    new.saturating_sub(old.saturating_sub(2 * site.cables.len())).div_ceil(2)
}

/// The best cabling met with.
struct Best<'a> {
    cabling: Cabling<'a>,
    cost: Cost,
}

impl<'a> Best<'a> {
    fn new(cabling: Cabling<'a>) -> Self {
        Self { cost: cabling.cost(), cabling }
    }
}

/// Takes steps from a cabling; fewer hosts apart, fewer idle ports and fewer moves too many are never given up again, only
/// distances are.
fn anneal<'a>(mut now: Cabling<'a>, effort: u64, best: &mut Best<'a>, random: &mut SplitMix64) {
    let hosts = now.hosts() as u64;
    // A cable exchanged changes the distances of some pairs, both ways, by 1 each.
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
        // Most steps move too much; that is seen without looking at any way.
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
