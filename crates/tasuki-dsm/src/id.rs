//! Names of nodes, pages and locks, and what a node may do with a page.

use std::fmt;

/// Most nodes that can share memory: a set of them is one word.
pub const NODES_MAX: usize = 64;

/// A node: its place in the list of nodes, which is the same at all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u8);

/// A page of the shared memory, counted from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Page(pub u32);

/// A lock; all nodes know it by this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lock(pub u32);

/// What a node's threads may do with a page. A greater value allows more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// Nothing: the node has no copy.
    #[default]
    None,
    /// Read.
    Read,
    /// Read and write.
    Write,
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {}", self.0)
    }
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "page {}", self.0)
    }
}

impl fmt::Display for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lock {}", self.0)
    }
}

/// A set of nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeSet(u64);

impl NodeSet {
    /// The set of one node.
    pub fn of(node: NodeId) -> NodeSet {
        NodeSet(1 << node.0)
    }

    pub fn has(self, node: NodeId) -> bool {
        self.0 & (1 << node.0) != 0
    }

    pub fn with(self, node: NodeId) -> NodeSet {
        NodeSet(self.0 | 1 << node.0)
    }

    pub fn without(self, node: NodeId) -> NodeSet {
        NodeSet(self.0 & !(1 << node.0))
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The nodes, smallest first.
    pub fn iter(self) -> impl Iterator<Item = NodeId> {
        (0..NODES_MAX as u8).map(NodeId).filter(move |&node| self.has(node))
    }
}
