//! Unexpected messages, for which no receive is posted yet: of those that a receive accepts, the first to
//! arrive is taken.
//!
//! The classes (see `index`) of future receives and probes are not known when a message arrives. They are
//! learnt: the first look-up of a class walks the messages that are here and files them under it, and from
//! then on every arriving message is filed under it too. So n look-ups among n messages cost about 2n steps
//! in all.

use tasuki_tuning::matching;

use crate::action::Matching;
use crate::defect::{Defect, Plant};
use crate::ids::{Key, PeerId};
use crate::index::{Class, Index};

pub(crate) struct Unexpected {
    index: Index,
    /// The first is `Class::ALL`: all messages in the order of arrival.
    classes: Vec<Class>,
    count: usize,
}

impl Unexpected {
    pub fn new() -> Unexpected {
        let mut classes = Vec::with_capacity(matching::CLASSES_MAX);
        classes.push(Class::ALL);
        Unexpected { index: Index::new(), classes, count: 0 }
    }

    pub fn len(&self) -> usize {
        self.count
    }

    /// Appends a message; returns its chain, needed to remove it.
    pub fn insert(&mut self, source: PeerId, tag: u64, message: Key) -> u32 {
        self.count += 1;
        let first = self.index.push(Class::ALL.bucket(source, tag), message, 0);
        for class in &self.classes[1..] {
            let node = self.index.push(class.bucket(source, tag), message, 0);
            self.index.tie(first, node);
        }
        first
    }

    pub fn remove(&mut self, chain: u32) {
        self.index.remove_chain(chain);
        self.count -= 1;
        if self.count == 0 && self.classes.len() == matching::CLASSES_MAX {
            // The masks may have been those of a phase of the program that is over.
            self.classes.truncate(1);
        }
    }

    /// The first message that `matching` accepts. `envelope` gives the source and tag of a message. Adds the
    /// number of entries looked at to `steps`.
    pub fn find(
        &mut self,
        matching: &Matching,
        envelope: impl Fn(Key) -> (PeerId, u64),
        steps: &mut u64,
        plant: Plant,
    ) -> Option<Key> {
        *steps += 1;
        if self.count == 0 {
            return None;
        }
        let class = matching.class();
        if !self.classes.contains(&class) {
            if self.classes.len() == matching::CLASSES_MAX {
                return self.search(matching, envelope, steps);
            }
            self.learn(class, envelope, steps, plant);
        }
        *steps += 1;
        let bucket = class.bucket(matching.source_key(), matching.tag);
        let node = if plant.is(Defect::NewestUnexpected) {
            self.index.last(&bucket)
        } else {
            self.index.first(&bucket)
        };
        node.map(|node| self.index.item(node))
    }

    fn learn(
        &mut self,
        class: Class,
        envelope: impl Fn(Key) -> (PeerId, u64),
        steps: &mut u64,
        plant: Plant,
    ) {
        self.classes.push(class);
        let mut at = self.index.first(&self.all());
        if plant.is(Defect::ClassNotLearnt) {
            at = None;
        }
        while let Some(first) = at {
            *steps += 1;
            let item = self.index.item(first);
            let (source, tag) = envelope(item);
            let node = self.index.push(class.bucket(source, tag), item, 0);
            self.index.tie(first, node);
            at = self.index.after(first);
        }
    }

    fn search(
        &self,
        matching: &Matching,
        envelope: impl Fn(Key) -> (PeerId, u64),
        steps: &mut u64,
    ) -> Option<Key> {
        let class = matching.class();
        let wanted = class.bucket(matching.source_key(), matching.tag);
        let mut at = self.index.first(&self.all());
        while let Some(node) = at {
            *steps += 1;
            let item = self.index.item(node);
            let (source, tag) = envelope(item);
            if class.bucket(source, tag) == wanted {
                return Some(item);
            }
            at = self.index.after(node);
        }
        None
    }

    fn all(&self) -> crate::index::Bucket {
        Class::ALL.bucket(PeerId(0), 0)
    }
}
