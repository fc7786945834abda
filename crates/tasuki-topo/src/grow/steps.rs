//! Steps from one cabling to another with no more cables at a part than it has ports.

use super::cabling::Cabling;
use crate::random::SplitMix64;

impl Cabling<'_> {
    /// Takes a step drawn at random; false, and nothing changed, if the step that was drawn is not allowed.
    pub fn step(&mut self, random: &mut SplitMix64) -> bool {
        self.settle();
        let done = match random.below(9) {
            0 => self.use_free_ports(random),
            1 => self.put_between(random),
            2 => self.replug_one_end(random),
            3 => self.remove_between_switches(random),
            4 => self.take_from_between(random),
            5 | 6 => self.exchange_ends(random),
            _ => self.put_back(random),
        };
        if !done {
            self.undo();
        }
        done
    }

    /// Cables new hosts to each other as far as allowed, those with the most free ports first.
    pub fn join_new_hosts(&mut self, random: &mut SplitMix64) {
        let mut new: Vec<usize> = (self.site.old_hosts..self.hosts()).collect();
        random.shuffle(&mut new);
        loop {
            new.sort_by_key(|&host| std::cmp::Reverse(self.free(host)));
            let mut pairs = (0..new.len()).flat_map(|a| (a + 1..new.len()).map(move |b| (a, b)));
            if !pairs.any(|(a, b)| self.try_plug(new[a], new[b])) {
                return;
            }
        }
    }

    /// Plugs a cable if both parts have a free port and the cable is allowed.
    fn try_plug(&mut self, a: usize, b: usize) -> bool {
        let can = self.free(a) > 0 && self.free(b) > 0 && self.may_join(a, b);
        if can {
            self.plug(a, b);
        }
        can
    }

    /// Draws a part with at least `ports` free ports.
    fn part_with(&self, ports: usize, random: &mut SplitMix64) -> Option<usize> {
        let fits = |&part: &usize| self.free(part) >= ports;
        let count = (0..self.site.ports.len()).filter(fits).count();
        (0..self.site.ports.len()).filter(fits).nth(random.below(count))
    }

    /// Draws a cable; its index, if it may be taken out.
    fn cable(&self, random: &mut SplitMix64) -> Option<usize> {
        let count = self.cables().len();
        let at = random.below(count);
        (at < count && self.may_part(at)).then_some(at)
    }

    /// The two parts of a cable, in an order drawn at random.
    fn ends(&self, at: usize, random: &mut SplitMix64) -> (usize, usize) {
        let (a, b) = self.cables()[at];
        if random.below(2) == 0 { (a, b) } else { (b, a) }
    }

    /// Joins two parts with free ports.
    fn use_free_ports(&mut self, random: &mut SplitMix64) -> bool {
        let Some((a, b)) = self.part_with(1, random).zip(self.part_with(1, random)) else { return false };
        self.try_plug(a, b)
    }

    /// Puts a part with two free ports between two parts that a cable joins.
    fn put_between(&mut self, random: &mut SplitMix64) -> bool {
        let Some((at, part)) = self.cable(random).zip(self.part_with(2, random)) else { return false };
        let (a, b) = self.cables()[at];
        self.unplug(at);
        self.try_plug(a, part) && self.try_plug(part, b)
    }

    /// Replaces two cables of a part by one that joins their other ends.
    fn take_from_between(&mut self, random: &mut SplitMix64) -> bool {
        let Some(first) = self.cable(random) else { return false };
        let (a, part) = self.ends(first, random);
        let near = self.near(part);
        let b = near[random.below(near.len())] as usize;
        self.unplug(first);
        let Some(second) = self.find(part, b).filter(|&at| self.may_part(at)) else { return false };
        self.unplug(second);
        self.try_plug(a, b)
    }

    /// Plugs one end of a cable into another part.
    fn replug_one_end(&mut self, random: &mut SplitMix64) -> bool {
        let Some((at, part)) = self.cable(random).zip(self.part_with(1, random)) else { return false };
        let (a, _) = self.ends(at, random);
        self.unplug(at);
        self.try_plug(a, part)
    }

    /// Takes a cable between two switches out. It uses no port of a host, so that no other step would remove
    /// a useless one.
    fn remove_between_switches(&mut self, random: &mut SplitMix64) -> bool {
        let Some(at) = self.cable(random) else { return false };
        let (a, b) = self.cables()[at];
        let between = self.is_switch(a) && self.is_switch(b);
        if between {
            self.unplug(at);
        }
        between
    }

    /// Exchanges the ends of two cables.
    fn exchange_ends(&mut self, random: &mut SplitMix64) -> bool {
        let Some((first, second)) = self.cable(random).zip(self.cable(random)) else { return false };
        if first == second {
            return false;
        }
        let ((a, b), (c, d)) = (self.cables()[first], self.ends(second, random));
        self.unplug(first.max(second));
        self.unplug(first.min(second));
        self.try_plug(a, c) && self.try_plug(b, d)
    }

    /// Puts a missing cable of the existing cabling back. If this takes ports from two other cables, their
    /// free ends are joined, or plugged into the two ends of a third cable.
    fn put_back(&mut self, random: &mut SplitMix64) -> bool {
        let missing = |&at: &usize| {
            let (a, b) = self.site.cables[at];
            self.is_missing(a, b)
        };
        let count = (0..self.site.cables.len()).filter(missing).count();
        let Some(at) = (0..self.site.cables.len()).filter(missing).nth(random.below(count)) else {
            return false;
        };
        let (a, b) = self.site.cables[at];
        let Some((from_a, from_b)) = self.make_room(a, random).zip(self.make_room(b, random)) else {
            return false;
        };
        if !self.try_plug(a, b) {
            return false;
        }
        let ends: Vec<usize> = from_a.into_iter().chain(from_b).collect();
        let Some(at) = self.cable(random) else { return ends.is_empty() };
        let (c, d) = self.ends(at, random);
        match ends[..] {
            [x, y] if random.below(3) > 0 => {
                self.unplug(at);
                self.try_plug(c, x) && self.try_plug(d, y)
            }
            [x, y] => self.try_plug(x, y),
            _ => true,
        }
    }

    /// Takes a cable out of a part if it has no free port. Returns the part at the other end of this cable,
    /// or `Some(None)` if there was a free port, or `None` if the cable that was drawn may not be taken out.
    fn make_room(&mut self, part: usize, random: &mut SplitMix64) -> Option<Option<usize>> {
        if self.free(part) > 0 {
            return Some(None);
        }
        let near = self.near(part);
        let other = *near.get(random.below(near.len()))? as usize;
        let at = self.find(part, other).filter(|&at| self.may_part(at))?;
        self.unplug(at);
        Some(Some(other))
    }
}
