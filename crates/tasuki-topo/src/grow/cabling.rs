//! A cabling in the making: what is plugged where, and how it compares to what was there.

use super::{Site, ways::ways};

/// What a cabling costs, the weightiest first; smaller is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cost {
    pub apart: u64,
    pub idle: usize,
    /// Cables moved beyond those that may be.
    pub excess: usize,
    pub sum: u64,
    pub moved: usize,
    pub cables: usize,
}

impl Cost {
    /// What is never given up for shorter ways.
    pub fn hard(self) -> (u64, usize, usize) {
        (self.apart, self.idle, self.excess)
    }
}

/// What a step did.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Plugged,
    /// The cable, and the place that it had.
    Unplugged(usize, (usize, usize)),
}

/// A cabling of the parts of a site that keeps to its ports.
#[derive(Clone, Debug)]
pub(super) struct Cabling<'a> {
    pub(super) site: &'a Site,
    free_moves: usize,
    /// Each with the smaller part first.
    cables: Vec<(usize, usize)>,
    used: Vec<usize>,
    /// Ports of every part that were in use at first.
    used_before: Vec<usize>,
    /// By pair of parts: cables now and at first.
    now: Vec<u16>,
    before: Vec<u16>,
    near: Vec<Vec<u32>>,
    moved: usize,
    deeds: Vec<Deed>,
}

impl<'a> Cabling<'a> {
    /// What is there.
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
            deeds: Vec::new(),
        };
        site.cables.iter().for_each(|&(a, b)| this.plug(a, b));
        this.deeds.clear();
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

    /// Parts at the other ends of the cables of a part.
    pub fn near(&self, part: usize) -> &[u32] {
        &self.near[part]
    }

    fn pair(&self, a: usize, b: usize) -> usize {
        a.min(b) * self.site.ports.len() + a.max(b)
    }

    /// Whether a pair has fewer cables than it had.
    pub fn is_missing(&self, a: usize, b: usize) -> bool {
        let pair = self.pair(a, b);
        self.now[pair] < self.before[pair]
    }

    /// Whether another cable may join two parts, if both have a port for it.
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

    /// Whether a cable may be taken out: those between switches that were there stay.
    pub fn may_part(&self, at: usize) -> bool {
        let (a, b) = self.cables[at];
        let pair = self.pair(a, b);
        !(self.is_switch(a) && self.is_switch(b)) || self.now[pair] > self.before[pair]
    }

    /// Where a cable of two parts is.
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
        self.deeds.push(Deed::Plugged);
    }

    pub fn unplug(&mut self, at: usize) {
        let (a, b) = self.cables.swap_remove(at);
        let pair = self.pair(a, b);
        self.now[pair] -= 1;
        self.moved += usize::from(self.now[pair] < self.before[pair]);
        for (part, other) in [(a, b), (b, a)] {
            self.used[part] -= 1;
            // The last one that is equal: what was plugged last is taken out in no time.
            if let Some(place) = self.near[part].iter().rposition(|&near| near as usize == other) {
                self.near[part].swap_remove(place);
            }
        }
        self.deeds.push(Deed::Unplugged(at, (a, b)));
    }

    /// What was done up to here cannot be undone any more.
    pub fn settle(&mut self) {
        self.deeds.clear();
    }

    /// Takes back all that was done since [`settle`](Self::settle).
    pub fn undo(&mut self) {
        let deeds = std::mem::take(&mut self.deeds);
        for deed in deeds.into_iter().rev() {
            match deed {
                Deed::Plugged => self.unplug(self.cables.len() - 1),
                Deed::Unplugged(at, (a, b)) => {
                    self.plug(a, b);
                    let last = self.cables.len() - 1;
                    self.cables.swap(at, last);
                }
            }
        }
        self.settle();
    }

    /// Elementary steps of one evaluation: sets of hosts joined, for four rounds of a way.
    pub fn evaluation(&self) -> u64 {
        let ports: usize = self.site.ports.iter().sum();
        (4 * ports * self.hosts().div_ceil(64)) as u64 + 64
    }

    /// Idle ports and cables moved too many.
    pub fn losses(&self) -> (usize, usize) {
        let old = 0..self.site.old_hosts;
        let lost: usize = old.map(|host| self.used_before[host].saturating_sub(self.used[host])).sum();
        let idle = lost + (self.site.old_hosts..self.hosts()).map(|host| self.free(host)).sum::<usize>();
        (idle, self.moved.saturating_sub(self.free_moves))
    }

    pub fn cost(&self) -> Cost {
        let (sum, apart) = ways(&self.near, &self.site.relays);
        let (idle, excess) = self.losses();
        Cost { apart, idle, excess, sum, moved: self.moved, cables: self.cables.len() }
    }
}
