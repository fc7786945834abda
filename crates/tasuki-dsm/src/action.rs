//! What a node wants done, and what it counts.

use crate::id::{Access, Lock, NodeId, Page};
use crate::message::Message;

/// What is to be done, in this order, before the node is told of anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send this message.
    Send {
        /// The receiver, never the node itself.
        to: NodeId,
        /// The message.
        message: Message,
    },
    /// Send this message and the bytes of its page behind it, as they are now.
    SendPage {
        /// The receiver, never the node itself.
        to: NodeId,
        /// The message; always [`Message::Bytes`].
        message: Message,
    },
    /// Threads may only read this page from now on. They could write it before.
    Protect(Page),
    /// Threads may not touch this page any more; its bytes are not needed.
    Drop(Page),
    /// The page gets the bytes that came with the message that was handled last; threads may use it.
    Install {
        /// The page.
        page: Page,
        /// What threads may do with it.
        access: Access,
    },
    /// The page gets zeros; threads may read and write it.
    Zero(Page),
    /// Threads may write this page, which they could only read.
    Unprotect(Page),
    /// Threads that wait for this page try again: they may already do what they want.
    Wake(Page),
    /// The lock is this node's, for one of the threads that have asked for it.
    Locked(Lock),
    /// All nodes of a barrier of so many have come to it.
    Passed(usize),
}

/// What has happened at a node since it began; laid out as `tasuki_shared_counters` of `tasuki_shared.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Pages that the node asked to read.
    pub wanted_read: u64,
    /// Pages that the node asked to write.
    pub wanted_write: u64,
    /// Pages whose bytes came from another node.
    pub installed: u64,
    /// Pages that nobody had touched before.
    pub fresh: u64,
    /// Copies that another node's write has taken away.
    pub dropped: u64,
    /// Requests of other nodes that had to wait because the page had only just come.
    pub deferred: u64,
    /// Pages whose bytes went to another node.
    pub sent: u64,
    /// Messages to other nodes, those with bytes included.
    pub messages: u64,
}
