//! Lists of entries, each list found by hash, each entry removable in constant time.
//!
//! Matching is a tuple space: entries that ignore the same tag bits and agree on whether the source matters form a
//! class, and within a class a match is one look-up of (source, tag without the ignored bits). MPIs use few classes
//! (three or four), but their masks are hardly ever 0: Open MPI and MPICH keep protocol bits in the tag and ignore
//! them in every receive, so a table of "exact" receives beside a list of "wildcard" ones would put everything in
//! the list.

use std::hash::{Hash, Hasher};

use crate::hash::MixMap;
use crate::ids::{Key, PeerId};

pub(crate) const NIL: u32 = u32::MAX;

/// What entries have in common: the ignored bits, and whether the source matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class {
    pub ignore: u64,
    pub directed: bool,
}

impl Class {
    /// Everything is in this class's only bucket.
    pub const ALL: Class = Class { ignore: u64::MAX, directed: false };

    pub fn bucket(self, source: PeerId, tag: u64) -> Bucket {
        let source = if self.directed { Some(source) } else { None };
        Bucket { ignore: self.ignore, tag: tag & !self.ignore, source }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    ignore: u64,
    tag: u64,
    source: Option<PeerId>,
}

impl Hash for Bucket {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.ignore);
        state.write_u64(self.tag);
        state.write_u64(self.source.map_or(u64::MAX, |peer| u64::from(peer.0)));
    }
}

struct Node {
    item: Key,
    stamp: u64,
    bucket: Bucket,
    prev: u32,
    next: u32,
    /// Another node of the same item, in another bucket.
    sibling: u32,
}

struct Ends {
    head: u32,
    tail: u32,
}

pub(crate) struct Index {
    nodes: Vec<Node>,
    /// Free nodes, chained by `next`.
    free: u32,
    ends: MixMap<Bucket, Ends>,
}

impl Index {
    pub fn new() -> Index {
        Index { nodes: Vec::new(), free: NIL, ends: MixMap::default() }
    }

    /// Appends to a bucket; returns the node.
    pub fn push(&mut self, bucket: Bucket, item: Key, stamp: u64) -> u32 {
        let node = Node { item, stamp, bucket, prev: NIL, next: NIL, sibling: NIL };
        let at = match self.nodes.get_mut(self.free as usize) {
            Some(slot) => {
                let at = self.free;
                self.free = slot.next;
                *slot = node;
                at
            }
            None => {
                self.nodes.push(node);
                (self.nodes.len() - 1) as u32
            }
        };
        match self.ends.get_mut(&bucket) {
            Some(ends) => {
                self.nodes[at as usize].prev = ends.tail;
                self.nodes[ends.tail as usize].next = at;
                ends.tail = at;
            }
            None => {
                self.ends.insert(bucket, Ends { head: at, tail: at });
            }
        }
        at
    }

    /// Ties `node` to the chain of nodes of one item that begins at `first`.
    pub fn tie(&mut self, first: u32, node: u32) {
        self.nodes[node as usize].sibling = self.nodes[first as usize].sibling;
        self.nodes[first as usize].sibling = node;
    }

    /// Removes a node and all its siblings.
    pub fn remove_chain(&mut self, first: u32) {
        let mut at = first;
        while at != NIL {
            let sibling = self.nodes[at as usize].sibling;
            self.unlink(at);
            at = sibling;
        }
    }

    fn unlink(&mut self, at: u32) {
        let Node { prev, next, bucket, .. } = self.nodes[at as usize];
        if prev != NIL {
            self.nodes[prev as usize].next = next;
        }
        if next != NIL {
            self.nodes[next as usize].prev = prev;
        }
        if prev == NIL && next == NIL {
            self.ends.remove(&bucket);
        } else if let Some(ends) = self.ends.get_mut(&bucket) {
            if prev == NIL {
                ends.head = next;
            }
            if next == NIL {
                ends.tail = prev;
            }
        }
        self.nodes[at as usize].next = self.free;
        self.free = at;
    }

    /// First node of a bucket.
    pub fn first(&self, bucket: &Bucket) -> Option<u32> {
        self.ends.get(bucket).map(|ends| ends.head)
    }

    /// Last node of a bucket.
    pub fn last(&self, bucket: &Bucket) -> Option<u32> {
        self.ends.get(bucket).map(|ends| ends.tail)
    }

    /// The node behind `at` in its bucket.
    pub fn after(&self, at: u32) -> Option<u32> {
        let next = self.nodes[at as usize].next;
        (next != NIL).then_some(next)
    }

    pub fn item(&self, at: u32) -> Key {
        self.nodes[at as usize].item
    }

    pub fn stamp(&self, at: u32) -> u64 {
        self.nodes[at as usize].stamp
    }
}
