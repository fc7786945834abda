//! One-sided transfers as a program sees them: memory that peers may reach, puts and gets.

use crate::api::{Buffer, Failure, Peer, PostError};

/// A transfer between the program's memory and memory that a peer has registered.
#[derive(Clone, Copy, Debug)]
pub struct RemoteArgs {
    /// Whose memory.
    pub peer: Peer,
    /// Which memory: as [`crate::Endpoint::register`] told the peer.
    pub key: u64,
    /// Where in it the transfer begins, bytes.
    pub offset: u64,
    /// The program's own memory, as long as the transfer.
    pub buffer: Buffer,
    /// Completion data of a put: the peer is told of it by a [`crate::Completion::Put`] as soon as the bytes are in
    /// its memory. A get has none.
    pub data: Option<u64>,
    /// No completion unless it fails.
    pub quiet: bool,
    /// The program's name of the operation.
    pub context: u64,
}

/// What peers may do with memory that is registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// They may read it.
    pub get: bool,
    /// They may write it.
    pub put: bool,
}

impl Rights {
    /// Peers may read and write.
    pub const BOTH: Rights = Rights { get: true, put: true };
}

/// A put or a get is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteDone {
    /// As posted.
    pub context: u64,
    /// With whom.
    pub peer: Peer,
    /// It was a get.
    pub get: bool,
    /// Its length, bytes.
    pub len: u64,
    /// A put is in the peer's memory, what a get asked for is in the program's; or it is not known how much of it is.
    pub result: Result<(), RemoteFailure>,
}

/// Why a transfer has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RemoteFailure {
    /// The peer has no memory under this key, or does not let it be used so, or the transfer would leave it.
    #[error(
        "the peer has no such memory: the key is not (or no more) registered there, or not for this, or offset and \
         length leave it"
    )]
    Refused,
    /// What ended it is the same as for messages.
    #[error(transparent)]
    Peer(#[from] Failure),
}

/// Why memory is not registered.
#[derive(Debug, thiserror::Error)]
pub enum RegisterError {
    /// The kernel gives no random numbers.
    #[error("the kernel gives no random numbers: {0}")]
    Random(#[from] getrandom::Error),
    /// The endpoint is closing.
    #[error(transparent)]
    Post(#[from] PostError),
}

/// Why memory stays registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnregisterError {
    /// There is none under this key.
    #[error("no memory is registered under this key")]
    Unknown,
    /// Transfers are under way. No new ones begin.
    #[error("{0} transfers of peers are under way in this memory: make progress and try again")]
    Busy(usize),
}
