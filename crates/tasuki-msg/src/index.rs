//! Lists of entries, each list found by hash, each entry removable in constant time.
//!
//! Matching is a tuple space: entries that ignore the same tag bits, and agree on whether the source matters,
//! form a class. Within a class a match is one look-up of (source, tag without the ignored bits). MPIs use
//! few classes (three or four), but their masks are hardly ever 0: Open MPI and MPICH keep protocol bits in
//! the tag and ignore them in every receive, so a table of "exact" receives beside a list of "wildcard" ones
//! would put everything into the list.

use std::hash::{Hash, Hasher};

use tasuki_tuning::matching;

use crate::hash::MixMap;
use crate::ids::{Key, PeerId};
use crate::slab::Slab;

pub(crate) const NIL: u32 = u32::MAX;

/// What the entries of a class have in common: the ignored bits, and whether the source matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class {
    pub ignore: u64,
    pub directed: bool,
}

impl Class {
    /// The class that ignores everything, so all its entries are in one bucket.
    pub const ALL: Class = Class { ignore: u64::MAX, directed: false };

    pub fn bucket(self, source: PeerId, tag: u64) -> Bucket {
        let source = if self.directed { source } else { NOBODY };
        Bucket { ignore: self.ignore, tag: tag & !self.ignore, source }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    ignore: u64,
    tag: u64,
    /// `NOBODY` if the source does not matter.
    source: PeerId,
}

/// The id of no peer: so many incarnations do not fit in memory.
const NOBODY: PeerId = PeerId(u32::MAX);

impl Hash for Bucket {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.ignore);
        state.write_u64(self.tag);
        state.write_u32(self.source.0);
    }
}

struct Node {
    item: Key,
    stamp: u64,
    list: u32,
    prev: u32,
    next: u32,
    /// Another node of the same item, in another bucket.
    sibling: u32,
}

/// The entries of one bucket, in order. An empty list is kept for a while, because another entry of its
/// bucket will probably come soon, and a list that is there needs no change of the table.
struct List {
    bucket: Bucket,
    head: u32,
    tail: u32,
}

pub(crate) struct Index {
    nodes: Vec<Node>,
    /// Free nodes, chained by `next`.
    free: u32,
    lists: Slab<List>,
    table: MixMap<Bucket, Key>,
    /// The bucket of the last entry and its list: most often the next look-up is for it.
    latest: Option<(Bucket, Key)>,
    /// Number of lists without entries.
    empty: usize,
}

impl Index {
    pub fn new() -> Index {
        Index {
            nodes: Vec::new(),
            free: NIL,
            lists: Slab::new(),
            table: MixMap::default(),
            latest: None,
            empty: 0,
        }
    }

    /// Appends an item to a bucket; returns its node.
    pub fn push(&mut self, bucket: Bucket, item: Key, stamp: u64) -> u32 {
        let at = self.reserve(item);
        self.enter(at, bucket, stamp);
        at
    }

    /// Makes a node that is in no bucket yet. [`Index::remove_chain`] takes it back, too.
    #[inline]
    pub fn reserve(&mut self, item: Key) -> u32 {
        self.new_node(Node { item, stamp: 0, list: NIL, prev: NIL, next: NIL, sibling: NIL })
    }

    /// Whether a node is still in no bucket.
    #[inline]
    pub fn is_reserved(&self, at: u32) -> bool {
        self.nodes[at as usize].list == NIL
    }

    /// Appends a reserved node to a bucket.
    pub fn enter(&mut self, at: u32, bucket: Bucket, stamp: u64) {
        let key = self.list_for(bucket);
        let Some(list) = self.lists.get_mut(key) else { return };
        let tail = std::mem::replace(&mut list.tail, at);
        let node = &mut self.nodes[at as usize];
        (node.list, node.stamp, node.prev) = (key.index, stamp, tail);
        if tail == NIL {
            list.head = at;
            self.empty -= 1;
        } else {
            self.nodes[tail as usize].next = at;
        }
    }

    /// The list of a bucket, if there is one.
    fn list_of(&self, bucket: &Bucket) -> Option<Key> {
        match &self.latest {
            Some((latest, list)) if latest == bucket => Some(*list),
            _ => self.table.get(bucket).copied(),
        }
    }

    fn list_for(&mut self, bucket: Bucket) -> Key {
        let list = self.list_of(&bucket).unwrap_or_else(|| self.new_list(bucket));
        self.latest = Some((bucket, list));
        list
    }

    fn new_list(&mut self, bucket: Bucket) -> Key {
        if self.empty > matching::EMPTY_LISTS + self.lists.len() / 2 {
            self.sweep();
        }
        let list = self.lists.insert(List { bucket, head: NIL, tail: NIL });
        self.empty += 1;
        self.table.insert(bucket, list);
        list
    }

    /// Drops the empty lists. More than half of all lists are empty then, so the emptying of lists pays for
    /// this walk.
    fn sweep(&mut self) {
        self.latest = None;
        let table = &mut self.table;
        self.lists.retain(|list| {
            let stays = list.head != NIL;
            if !stays {
                table.remove(&list.bucket);
            }
            stays
        });
        self.empty = 0;
    }

    fn new_node(&mut self, node: Node) -> u32 {
        match self.nodes.get_mut(self.free as usize) {
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
        }
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
        let Node { prev, next, list, .. } = self.nodes[at as usize];
        if prev != NIL {
            self.nodes[prev as usize].next = next;
        }
        if next != NIL {
            self.nodes[next as usize].prev = prev;
        }
        if let Some(list) = self.lists.at_mut(list) {
            if prev == NIL {
                list.head = next;
            }
            if next == NIL {
                list.tail = prev;
            }
            self.empty += usize::from(list.head == NIL);
        }
        self.nodes[at as usize].next = self.free;
        self.free = at;
    }

    fn list(&self, bucket: &Bucket) -> Option<&List> {
        self.lists.get(self.list_of(bucket)?)
    }

    /// First node of a bucket.
    pub fn first(&self, bucket: &Bucket) -> Option<u32> {
        self.list(bucket).map(|list| list.head).filter(|&head| head != NIL)
    }

    /// Last node of a bucket.
    pub fn last(&self, bucket: &Bucket) -> Option<u32> {
        self.list(bucket).map(|list| list.tail).filter(|&tail| tail != NIL)
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
