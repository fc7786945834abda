//! What a node finds wrong with messages.

use crate::id::NodeId;
use crate::message::Message;

/// Bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The number of bytes.
    #[error("a message of shared memory has {expected} bytes, this one has {0}", expected = Message::LEN)]
    Length(usize),
    /// The first byte.
    #[error("there is no kind {0} of messages of shared memory")]
    Kind(u8),
    /// A field that has a value that no node sends.
    #[error("the field \"{0}\" of a message of shared memory has the impossible value {1}")]
    Field(&'static str, u8),
}

/// A message that no node sends which keeps to the protocol. The node that got it is as it was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{from} does not keep to the protocol of shared memory: {why} ({message:?})")]
pub struct Violation {
    /// The sender.
    pub from: NodeId,
    /// The message.
    pub message: Message,
    /// What is wrong with it.
    pub why: &'static str,
}
