//! Receives that wait for a message: of those that accept it, the first posted gets it.

use crate::action::{Matching, Source};
use crate::defect::{Defect, Plant};
use crate::ids::{Key, PeerId};
use crate::index::{Class, Index};

impl Matching {
    pub(crate) fn class(&self) -> Class {
        Class { ignore: self.ignore, directed: matches!(self.source, Source::Peer(_)) }
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

pub(crate) struct Posted {
    index: Index,
    /// Classes with at least one member. Few, see `index`; at worst as many as receives are posted.
    classes: Vec<Members>,
    stamp: u64,
}

impl Posted {
    pub fn new() -> Posted {
        Posted { index: Index::new(), classes: Vec::new(), stamp: 0 }
    }

    pub fn len(&self) -> usize {
        self.classes.iter().map(|members| members.count).sum()
    }

    /// Appends a receive; returns its node, needed to remove it.
    pub fn insert(&mut self, matching: &Matching, recv: Key) -> u32 {
        let class = matching.class();
        match self.classes.iter_mut().find(|members| members.class == class) {
            Some(members) => members.count += 1,
            None => self.classes.push(Members { class, count: 1 }),
        }
        self.stamp += 1;
        self.index.push(class.bucket(matching.source_key(), matching.tag), recv, self.stamp)
    }

    pub fn remove(&mut self, matching: &Matching, node: u32) {
        let class = matching.class();
        self.index.remove_chain(node);
        if let Some(at) = self.classes.iter().position(|members| members.class == class) {
            self.classes[at].count -= 1;
            if self.classes[at].count == 0 {
                self.classes.swap_remove(at);
            }
        }
    }

    /// The first posted receive that accepts a message. Adds the entries looked at to `steps`.
    pub fn find(&self, source: PeerId, tag: u64, steps: &mut u64, plant: Plant) -> Option<Key> {
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
