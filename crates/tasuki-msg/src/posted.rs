//! Receives that wait for a message: of those that accept it, the first posted gets it.

use crate::action::{Matching, Source};
use crate::defect::{Defect, Plant};
use crate::ids::{Key, PeerId};
use crate::index::{Class, Index, NIL};

impl Matching {
    pub(crate) fn class(&self) -> Class {
        Class { ignore: self.ignore, directed: matches!(self.source, Source::Peer(_)) }
    }

    /// Whether a message is for a receive with this matching, which is canonical.
    fn accepts(&self, source: PeerId, tag: u64) -> bool {
        let from = match self.source {
            Source::Peer(peer) => peer == source,
            Source::Any => true,
        };
        from && tag & !self.ignore == self.tag
    }

    /// The source as a key; which peer stands for "any" does not matter, its class leaves it out.
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

/// The node of a receive that was the only one when it was posted.
const ALONE: u32 = u32::MAX - 1;

pub(crate) struct Posted {
    /// The only receive: most programs that wait for a message wait for one. It is filed in the index when a second is posted.
    alone: Option<(Matching, Key)>,
    /// Then this is its node there.
    filed: u32,
    index: Index,
    /// Classes with at least one member. Few, see `index`; at worst as many as receives are posted.
    classes: Vec<Members>,
    stamp: u64,
}

impl Posted {
    pub fn new() -> Posted {
        Posted { alone: None, filed: NIL, index: Index::new(), classes: Vec::new(), stamp: 0 }
    }

    pub fn len(&self) -> usize {
        let filed: usize = self.classes.iter().map(|members| members.count).sum();
        filed + usize::from(self.alone.is_some())
    }

    /// Appends a receive; returns its node, needed to remove it.
    #[inline(always)]
    pub fn insert(&mut self, matching: &Matching, recv: Key) -> u32 {
        if self.alone.is_none() && self.classes.is_empty() {
            self.alone = Some((*matching, recv));
            return ALONE;
        }
        self.insert_beside(&{ *matching }, recv)
    }

    /// The same if there are others.
    #[inline(never)]
    fn insert_beside(&mut self, matching: &Matching, recv: Key) -> u32 {
        if let Some((first, key)) = self.alone.take() {
            self.filed = self.file(&first, key);
        }
        self.file(matching, recv)
    }

    fn file(&mut self, matching: &Matching, recv: Key) -> u32 {
        let class = matching.class();
        match self.classes.iter_mut().find(|members| members.class == class) {
            Some(members) => members.count += 1,
            None => self.classes.push(Members { class, count: 1 }),
        }
        self.stamp += 1;
        self.index.push(class.bucket(matching.source_key(), matching.tag), recv, self.stamp)
    }

    #[inline]
    pub fn remove(&mut self, matching: &Matching, node: u32) {
        if !self.remove_alone(node) {
            self.unfile(matching, node);
        }
    }

    /// Removes a receive if it is the only one.
    #[inline(always)]
    pub fn remove_alone(&mut self, node: u32) -> bool {
        // No second one was alone as long as the first is there.
        let alone = node == ALONE && self.alone.is_some();
        if alone {
            self.alone = None;
        }
        alone
    }

    #[inline(never)]
    fn unfile(&mut self, matching: &Matching, node: u32) {
        let class = matching.class();
        let node = if node == ALONE { self.filed } else { node };
        self.index.remove_chain(node);
        if let Some(at) = self.classes.iter().position(|members| members.class == class) {
            self.classes[at].count -= 1;
            if self.classes[at].count == 0 {
                self.classes.swap_remove(at);
            }
        }
    }

    /// The first posted receive that accepts a message, and the number of entries looked at.
    #[inline(always)]
    pub fn find_counted(&self, source: PeerId, tag: u64, plant: Plant) -> Option<(Key, u64)> {
        if let Some((matching, key)) = &self.alone {
            return matching.accepts(source, tag).then_some((*key, 1));
        }
        let mut steps = 0;
        self.find_filed(source, tag, &mut steps, plant).map(|key| (key, steps))
    }

    /// The first posted receive that accepts a message. Adds the entries looked at to `steps`.
    pub fn find(&self, source: PeerId, tag: u64, steps: &mut u64, plant: Plant) -> Option<Key> {
        if let Some((matching, key)) = &self.alone {
            *steps += 1;
            return matching.accepts(source, tag).then_some(*key);
        }
        self.find_filed(source, tag, steps, plant)
    }

    #[inline(never)]
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
