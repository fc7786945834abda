//! Posted receives: of those that accept a message, the first posted gets it.
//!
//! Most messages are for the receive that was posted first: the only one, or the next one of a window or of a
//! loop over neighbours. So receives wait in the order of posting, and only a message that is not for the
//! first of them has all of them filed in an index.

use std::collections::VecDeque;

use crate::action::{Matching, Source};
use crate::defect::{Defect, Plant};
use crate::ids::{Key, PeerId};
use crate::index::{Class, Index, NIL};

impl Matching {
    pub(crate) fn class(&self) -> Class {
        Class { ignore: self.ignore, directed: matches!(self.source, Source::Peer(_)) }
    }

    /// Whether a receive with this matching, which must be canonical, accepts a message.
    fn accepts(&self, source: PeerId, tag: u64) -> bool {
        let from = match self.source {
            Source::Peer(peer) => peer == source,
            Source::Any => true,
        };
        from && tag & !self.ignore == self.tag
    }

    /// The source as a key. Which peer stands for "any" does not matter, because the class leaves the source
    /// out then.
    pub(crate) fn source_key(&self) -> PeerId {
        match self.source {
            Source::Peer(peer) => peer,
            Source::Any => PeerId(u32::MAX),
        }
    }
}

struct Members {
    class: Class,
    count: usize,
}

/// Stands for the node of a receive that was the only one when it was posted.
const SOLE: u32 = u32::MAX - 1;

/// A receive that is not filed yet.
struct Fresh {
    matching: Matching,
    recv: Key,
    /// The node that is reserved for it in the index.
    node: u32,
}

pub(crate) struct Posted {
    /// The receive that was the only one when it was posted: most programs that wait for a message wait for
    /// one. It gets a node in the index only when it is filed.
    sole: Option<(Matching, Key)>,
    /// Node of that receive in the index, once it has been filed.
    filed: u32,
    /// Receives that are not filed. All of them were posted after those in the index, and after `sole`.
    fresh: VecDeque<Fresh>,
    index: Index,
    /// Classes with at least one member in the index. They are few, see `index`; at worst as many as receives
    /// are posted.
    classes: Vec<Members>,
    stamp: u64,
}

impl Posted {
    pub fn new() -> Posted {
        let (index, classes, fresh) = (Index::new(), Vec::new(), VecDeque::new());
        Posted { sole: None, filed: NIL, fresh, index, classes, stamp: 0 }
    }

    pub fn len(&self) -> usize {
        let filed: usize = self.classes.iter().map(|members| members.count).sum();
        filed + self.waiting()
    }

    /// Number of receives that are not filed.
    fn waiting(&self) -> usize {
        self.fresh.len() + usize::from(self.sole.is_some())
    }

    /// Appends a receive; returns its node, needed to remove it.
    #[inline(always)]
    pub fn insert(&mut self, matching: &Matching, recv: Key) -> u32 {
        if self.sole.is_none() && self.fresh.is_empty() && self.classes.is_empty() {
            self.sole = Some((*matching, recv));
            return SOLE;
        }
        self.insert_queued(&{ *matching }, recv)
    }

    /// Like [`Posted::insert`], if other receives are posted.
    #[inline(never)]
    fn insert_queued(&mut self, matching: &Matching, recv: Key) -> u32 {
        let node = self.index.reserve(recv);
        self.fresh.push_back(Fresh { matching: *matching, recv, node });
        node
    }

    /// Files all receives, in the order of posting.
    fn file_all(&mut self) {
        if let Some((first, key)) = self.sole.take() {
            self.filed = self.index.reserve(key);
            self.file(&first, self.filed);
        }
        while let Some(Fresh { matching, node, .. }) = self.fresh.pop_front() {
            self.file(&matching, node);
        }
    }

    fn file(&mut self, matching: &Matching, node: u32) {
        let class = matching.class();
        match self.classes.iter_mut().find(|members| members.class == class) {
            Some(members) => members.count += 1,
            None => self.classes.push(Members { class, count: 1 }),
        }
        self.stamp += 1;
        self.index.enter(node, class.bucket(matching.source_key(), matching.tag), self.stamp);
    }

    #[inline]
    pub fn remove(&mut self, matching: &Matching, node: u32) {
        if !self.remove_sole(node) {
            self.remove_queued(matching, node);
        }
    }

    /// Removes a receive if it was the only one when it was posted, and is not filed; returns whether it did.
    #[inline(always)]
    fn remove_sole(&mut self, node: u32) -> bool {
        // There is no second such receive as long as the first one is there.
        let sole = node == SOLE && self.sole.is_some();
        if sole {
            self.sole = None;
        }
        sole
    }

    #[inline(never)]
    fn remove_queued(&mut self, matching: &Matching, node: u32) {
        let node = if node == SOLE { self.filed } else { node };
        if self.fresh.front().is_some_and(|first| first.node == node) {
            self.fresh.pop_front();
            self.index.remove_chain(node);
            return;
        }
        // A receive from the middle of the row is removed. All are filed, so that the next such receive is
        // found in the index.
        if self.index.is_reserved(node) {
            self.file_all();
        }
        self.unfile(&matching.class(), node);
    }

    fn unfile(&mut self, class: &Class, node: u32) {
        self.index.remove_chain(node);
        if let Some(at) = self.classes.iter().position(|members| members.class == *class) {
            self.classes[at].count -= 1;
            if self.classes[at].count == 0 {
                self.classes.swap_remove(at);
            }
        }
    }

    /// The receive that was posted first, if none is filed.
    #[inline(always)]
    fn first(&self) -> Option<(&Matching, Key)> {
        match &self.sole {
            Some((matching, key)) => Some((matching, *key)),
            None if self.classes.is_empty() => self.fresh.front().map(|first| (&first.matching, first.recv)),
            None => None,
        }
    }

    /// The first posted receive that accepts a message. Adds the number of entries looked at to `steps`.
    #[inline(always)]
    pub fn find(&mut self, source: PeerId, tag: u64, steps: &mut u64, plant: Plant) -> Option<Key> {
        match self.first() {
            Some((matching, key)) if plant.is_none() && matching.accepts(source, tag) => {
                *steps += 1;
                Some(key)
            }
            _ => self.find_not_first(source, tag, steps, plant),
        }
    }

    /// Like [`Posted::find`], if the first of all receives does not accept the message.
    #[inline(never)]
    fn find_not_first(&mut self, source: PeerId, tag: u64, steps: &mut u64, plant: Plant) -> Option<Key> {
        let waiting = self.waiting();
        if waiting == 1 && self.classes.is_empty() && plant.is_none() {
            *steps += 1;
            return None;
        }
        *steps += waiting as u64;
        self.file_all();
        self.find_filed(source, tag, steps, plant)
    }

    fn find_filed(&self, source: PeerId, tag: u64, steps: &mut u64, plant: Plant) -> Option<Key> {
        let mut best: Option<(u64, u32)> = None;
        for members in &self.classes {
            *steps += 1;
            let Some(node) = self.index.first(&members.class.bucket(source, tag)) else { continue };
            *steps += 1;
            let mut rank = self.index.stamp(node);
            if plant.is(Defect::ExactReceivesFirst) && members.class.ignore != u64::MAX {
                rank = 0;
            }
            if best.is_none_or(|(stamp, _)| rank < stamp) {
                best = Some((rank, node));
            }
        }
        best.map(|(_, node)| self.index.item(node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Queue;

    /// Whatever is posted, found and removed in whatever order, the result is that of a walk through a list.
    #[test]
    fn it_finds_what_a_list_would_find() {
        let (mut posted, mut list, mut random) = (Posted::new(), Vec::<(Matching, Key, u32)>::new(), 1u64);
        let mut draw = |end: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % end
        };
        let (mut found_first, mut found_later, mut found_none) = (0, 0, 0);
        for number in 0..200_000u32 {
            // There are phases with few receives and phases with many.
            let most = [1, 3, 40][(number / 1000) as usize % 3];
            match draw(5) {
                0..=1 if list.len() < most => {
                    let ignore = [0, 1, u64::MAX][draw(3) as usize];
                    let source =
                        if draw(3) == 0 { Source::Any } else { Source::Peer(PeerId(draw(3) as u32)) };
                    let tag = draw(4);
                    let matching = Matching { queue: Queue::Tagged, source, tag, ignore }.canonical();
                    let key = Key { index: number, generation: 0 };
                    list.push((matching, key, posted.insert(&matching, key)));
                }
                2 if draw(4) == 0 && !list.is_empty() => {
                    let (matching, _, node) = list.remove(draw(list.len() as u64) as usize);
                    posted.remove(&matching, node);
                }
                _ => {
                    let (source, tag) = (PeerId(draw(3) as u32), draw(4));
                    let at = list.iter().position(|(matching, ..)| matching.accepts(source, tag));
                    let found = posted.find(source, tag, &mut 0, Plant::NONE);
                    assert_eq!(found, at.map(|at| list[at].1), "{number}");
                    match at {
                        Some(0) => found_first += 1,
                        Some(_) => found_later += 1,
                        None => found_none += 1,
                    }
                    // Some receives stay, as receives for several messages do.
                    if let Some(at) = at.filter(|_| draw(8) > 0) {
                        let (matching, _, node) = list.remove(at);
                        posted.remove(&matching, node);
                    }
                }
            }
            assert_eq!(posted.len(), list.len());
        }
        assert!([found_first, found_later, found_none].iter().all(|&count| count > 1000), "each case occurs");
    }

    #[test]
    fn receives_met_in_their_order_are_not_filed() {
        let mut posted = Posted::new();
        let receive = |tag| Matching { queue: Queue::Tagged, source: Source::Any, tag, ignore: 0 };
        for round in 0..3 {
            let nodes: Vec<u32> = (0..64u32)
                .map(|tag| posted.insert(&receive(tag.into()), Key { index: tag, generation: round }))
                .collect();
            for (tag, node) in (0..64).zip(nodes) {
                let mut steps = 0;
                let found = posted.find(PeerId(0), tag, &mut steps, Plant::NONE);
                assert_eq!((found, steps), (Some(Key { index: tag as u32, generation: round }), 1));
                posted.remove(&receive(tag), node);
            }
            assert_eq!((posted.len(), posted.stamp), (0, 0));
        }
    }
}
