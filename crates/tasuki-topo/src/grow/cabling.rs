//! A cabling that is being changed: which cables it has, and how it compares with the existing cabling.

use super::{Site, distances::sum_and_apart};

/// The cost of a cabling; smaller is better. The fields are compared in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cost {
    /// Number of ordered pairs of hosts without a route.
    pub apart: u64,
    /// Number of ports of new hosts without a cable, and of ports of old hosts that lost theirs.
    pub idle: usize,
    /// Number of cables moved beyond the number allowed.
    pub excess: usize,
    /// Sum of the distances of all ordered pairs of hosts, in cables.
    pub sum: u64,
    /// Number of cables moved.
    pub moved: usize,
    /// Number of cables.
    pub cables: usize,
}

impl Cost {
    /// The part of the cost that no step may raise for shorter distances.
    pub fn hard(self) -> (u64, usize, usize) {
        (self.apart, self.idle, self.excess)
    }
}

/// A change of a cabling, as needed to undo it.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// A cable was added at the end of the list.
    Plugged,
    /// A cable was taken out: its index in the list, and the two parts that it joined.
    Unplugged(usize, (usize, usize)),
}

/// A cabling of the parts of a site, with no more cables at a part than it has ports.
#[derive(Clone, Debug)]
pub(super) struct Cabling<'a> {
    pub(super) site: &'a Site,
    /// Number of cables that may be moved for shorter distances.
    free_moves: usize,
    /// The two parts that each cable joins, the smaller one first.
    cables: Vec<(usize, usize)>,
    /// `[part]`: number of ports in use.
    used: Vec<usize>,
    /// `[part]`: number of ports in use at first.
    used_before: Vec<usize>,
    /// `[smaller part * parts + larger part]`: number of cables that join the pair.
    now: Vec<u16>,
    /// Like `now`, for the existing cabling.
    before: Vec<u16>,
    /// `[part]`: the parts at the other ends of its cables.
    near: Vec<Vec<u32>>,
    /// Number of cables of the existing cabling that are missing.
    moved: usize,
    /// Changes since [`Self::settle`], the latest last.
    changes: Vec<Change>,
}

impl<'a> Cabling<'a> {
    /// The existing cabling of a site.
    pub fn new(site: &'a Site, free_moves: usize) -> Self {
        let parts = site.ports.len();
        let mut this = Self {
            site,
            free_moves,
            cables: Vec::new(),
            used: vec![0; parts],
            used_before: Vec::new(),
            now: vec![0; parts * parts],
            before: vec![0; parts * parts],
            near: vec![Vec::new(); parts],
            moved: 0,
            changes: Vec::new(),
        };
        site.cables.iter().for_each(|&(a, b)| this.plug(a, b));
        this.changes.clear();
        this.before = this.now.clone();
        this.used_before = this.used.clone();
        this
    }

    pub fn hosts(&self) -> usize {
        self.site.relays.len()
    }

    pub fn cables(&self) -> &[(usize, usize)] {
        &self.cables
    }

    pub fn is_switch(&self, part: usize) -> bool {
        part >= self.hosts()
    }

    pub fn free(&self, part: usize) -> usize {
        self.site.ports[part] - self.used[part]
    }

    /// The parts at the other ends of the cables of a part.
    pub fn near(&self, part: usize) -> &[u32] {
        &self.near[part]
    }

    fn pair(&self, a: usize, b: usize) -> usize {
        a.min(b) * self.site.ports.len() + a.max(b)
    }

    /// Whether a pair has fewer cables than in the existing cabling.
    pub fn is_missing(&self, a: usize, b: usize) -> bool {
        let pair = self.pair(a, b);
        self.now[pair] < self.before[pair]
    }

    /// Whether another cable may join two parts, given that both have a free port.
    pub fn may_join(&self, a: usize, b: usize) -> bool {
        let pair = self.pair(a, b);
        a != b
            && match (self.is_switch(a), self.is_switch(b)) {
                (false, false) => self.now[pair] < self.before[pair].max(1),
                (true, true) => !self.are_joined_by_switches(a, b),
                _ => true,
            }
    }

    /// Whether switches alone lead from one switch to another.
    fn are_joined_by_switches(&self, from: usize, to: usize) -> bool {
        let mut seen = vec![from];
        let mut at = 0;
        while let Some(&switch) = seen.get(at) {
            at += 1;
            for next in self.near[switch].iter().map(|&part| part as usize) {
                if self.is_switch(next) && !seen.contains(&next) {
                    seen.push(next);
                }
            }
        }
        seen.contains(&to)
    }

    /// Whether a cable may be taken out: existing cables between switches stay.
    pub fn may_part(&self, at: usize) -> bool {
        let (a, b) = self.cables[at];
        let pair = self.pair(a, b);
        !(self.is_switch(a) && self.is_switch(b)) || self.now[pair] > self.before[pair]
    }

    /// The index of a cable that joins two parts.
    pub fn find(&self, a: usize, b: usize) -> Option<usize> {
        self.cables.iter().position(|&cable| cable == (a.min(b), a.max(b)))
    }

    pub fn plug(&mut self, a: usize, b: usize) {
        let pair = self.pair(a, b);
        self.moved -= usize::from(self.now[pair] < self.before[pair]);
        self.now[pair] += 1;
        self.cables.push((a.min(b), a.max(b)));
        for (part, other) in [(a, b), (b, a)] {
            self.used[part] += 1;
            self.near[part].push(other as u32);
        }
        self.changes.push(Change::Plugged);
    }

    pub fn unplug(&mut self, at: usize) {
        let (a, b) = self.cables.swap_remove(at);
        let pair = self.pair(a, b);
        self.now[pair] -= 1;
        self.moved += usize::from(self.now[pair] < self.before[pair]);
        for (part, other) in [(a, b), (b, a)] {
            self.used[part] -= 1;
            // Searching from the end finds the cable that was plugged last at once, which undoing takes out.
            if let Some(place) = self.near[part].iter().rposition(|&near| near as usize == other) {
                self.near[part].swap_remove(place);
            }
        }
        self.changes.push(Change::Unplugged(at, (a, b)));
    }

    /// Makes the changes up to here final: [`Self::undo`] goes back to this point.
    pub fn settle(&mut self) {
        self.changes.clear();
    }

    /// Takes back all changes since the last [`Self::settle`].
    pub fn undo(&mut self) {
        let changes = std::mem::take(&mut self.changes);
        for change in changes.into_iter().rev() {
            match change {
                Change::Plugged => self.unplug(self.cables.len() - 1),
                Change::Unplugged(at, (a, b)) => {
                    self.plug(a, b);
                    let last = self.cables.len() - 1;
                    self.cables.swap(at, last);
                }
            }
        }
        self.settle();
    }

    /// Elementary steps that one evaluation counts as: for each port the words of a set of hosts, over four
    /// rounds (hosts are rarely more cables apart).
    pub fn evaluation(&self) -> u64 {
        let ports: usize = self.site.ports.iter().sum();
        (4 * ports * self.hosts().div_ceil(64)) as u64 + 64
    }

    /// The number of idle ports, and of cables moved beyond the number allowed.
    pub fn losses(&self) -> (usize, usize) {
        let old = 0..self.site.old_hosts;
        let lost: usize = old.map(|host| self.used_before[host].saturating_sub(self.used[host])).sum();
        let idle = lost + (self.site.old_hosts..self.hosts()).map(|host| self.free(host)).sum::<usize>();
        (idle, self.moved.saturating_sub(self.free_moves))
    }

    pub fn cost(&self) -> Cost {
        let (sum, apart) = sum_and_apart(&self.near, &self.site.relays);
        let (idle, excess) = self.losses();
        Cost { apart, idle, excess, sum, moved: self.moved, cables: self.cables.len() }
    }
}
