//! Messages between nodes, and their bytes.

use crate::error::Malformed;
use crate::id::{Access, Lock, NODES_MAX, NodeId, Page};

/// A message between nodes. Except for the bytes of a page all have the same length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// To the page's home: the sender wants to read or write this page.
    Want {
        /// The page.
        page: Page,
        /// [`Access::Read`] or [`Access::Write`].
        access: Access,
    },
    /// From the home to the page's owner: send the bytes to `to`, and keep a copy to read if that node only
    /// reads.
    Fetch {
        /// The page.
        page: Page,
        /// What `to` will do with it.
        access: Access,
        /// The node that has asked.
        to: NodeId,
    },
    /// From the owner to the node that has asked: the page, whose bytes follow.
    Bytes {
        /// The page.
        page: Page,
        /// What the receiver may do with it.
        access: Access,
    },
    /// From the home to the node that has asked: nobody has touched this page, it is yours and holds zeros.
    Fresh(Page),
    /// From the home to the node that has asked and has a copy: it is the only one, write it.
    Upgrade(Page),
    /// To the home: the page has come, the next one may have it.
    Done(Page),
    /// From the home to a node with a copy: give it up.
    Invalidate(Page),
    /// To the home: the copy is given up.
    Gone(Page),
    /// A node has come to a barrier, and knows of 2^`round` nodes that have.
    Arrive {
        /// The barrier is one of so many nodes, the first ones.
        of: u8,
        /// The round, counted from 0.
        round: u8,
        /// The barrier, counted from 0 among those of as many nodes; wraps around.
        epoch: u32,
    },
    /// To the lock's manager: the sender wants the lock.
    Acquire(Lock),
    /// From the manager to the node that asked last: hand the lock to this one when you are through.
    Pass {
        /// The lock.
        lock: Lock,
        /// The next.
        to: NodeId,
    },
    /// The lock is the receiver's.
    Hand(Lock),
}

impl Message {
    /// Bytes of every message; those of a page follow.
    pub const LEN: usize = 8;

    /// The message's bytes: kind, access, node or round, nodes of a barrier, and the number of page, lock or
    /// barrier (little endian).
    pub fn to_bytes(self) -> [u8; Message::LEN] {
        let (kind, access, node, index) = match self {
            Message::Want { page, access } => (0, access, 0, page.0),
            Message::Fetch { page, access, to } => (1, access, to.0, page.0),
            Message::Bytes { page, access } => (2, access, 0, page.0),
            Message::Fresh(page) => (3, Access::None, 0, page.0),
            Message::Upgrade(page) => (4, Access::None, 0, page.0),
            Message::Done(page) => (5, Access::None, 0, page.0),
            Message::Invalidate(page) => (6, Access::None, 0, page.0),
            Message::Gone(page) => (7, Access::None, 0, page.0),
            Message::Arrive { round, epoch, .. } => (8, Access::None, round, epoch),
            Message::Acquire(lock) => (9, Access::None, 0, lock.0),
            Message::Pass { lock, to } => (10, Access::None, to.0, lock.0),
            Message::Hand(lock) => (11, Access::None, 0, lock.0),
        };
        let of = if let Message::Arrive { of, .. } = self { of } else { 0 };
        let [a, b, c, d] = index.to_le_bytes();
        [kind, access as u8, node, of, a, b, c, d]
    }

    /// Reads a message; the bytes of a page are not among these.
    pub fn from_bytes(bytes: &[u8]) -> Result<Message, Malformed> {
        let &[kind, access, node, of, a, b, c, d] = bytes else {
            return Err(Malformed::Length(bytes.len()));
        };
        let index = u32::from_le_bytes([a, b, c, d]);
        let (page, lock) = (Page(index), Lock(index));
        let message = match kind {
            0 => Message::Want { page, access: wanted(access)? },
            1 => Message::Fetch { page, access: wanted(access)?, to: named(node)? },
            2 => Message::Bytes { page, access: wanted(access)? },
            3 => Message::Fresh(page),
            4 => Message::Upgrade(page),
            5 => Message::Done(page),
            6 => Message::Invalidate(page),
            7 => Message::Gone(page),
            8 => Message::Arrive { of, round: node, epoch: index },
            9 => Message::Acquire(lock),
            10 => Message::Pass { lock, to: named(node)? },
            11 => Message::Hand(lock),
            other => return Err(Malformed::Kind(other)),
        };
        if kind > 2 && access != 0 {
            return Err(Malformed::Field("access", access));
        }
        if !matches!(kind, 1 | 8 | 10) && node != 0 {
            return Err(Malformed::Field("node", node));
        }
        if kind != 8 && of != 0 {
            return Err(Malformed::Field("nodes", of));
        }
        Ok(message)
    }
}

fn wanted(access: u8) -> Result<Access, Malformed> {
    match access {
        1 => Ok(Access::Read),
        2 => Ok(Access::Write),
        other => Err(Malformed::Field("access", other)),
    }
}

fn named(node: u8) -> Result<NodeId, Malformed> {
    if usize::from(node) < NODES_MAX { Ok(NodeId(node)) } else { Err(Malformed::Field("node", node)) }
}
