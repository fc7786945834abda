//! One-sided transfers (RMA) as a program sees them: memory regions that peers may reach, puts, gets and
//! atomic operations.

use super::operations::{AtomicOp, Datatype};
use crate::api::{Buffer, Failure, Peer, PostError};

/// A transfer between the program's memory and memory that a peer has registered.
#[derive(Clone, Copy, Debug)]
pub struct RemoteArgs {
    /// The peer whose memory it is.
    pub peer: Peer,
    /// Key of the region, which the peer got from [`crate::Endpoint::register`].
    pub key: u64,
    /// First byte of the transfer, counted from the beginning of the region.
    pub offset: u64,
    /// The program's own memory; its length is that of the transfer.
    pub buffer: Buffer,
    /// Completion data of a put: the peer is told it by a [`crate::Completion::Put`] as soon as the bytes are
    /// in its memory. A get has none.
    pub data: Option<u64>,
    /// The program wants no completion unless the transfer fails.
    pub quiet: bool,
    /// The program's name of the operation.
    pub context: u64,
}

/// An atomic operation on memory that a peer has registered.
#[derive(Clone, Copy, Debug)]
pub struct AtomicArgs<'a> {
    /// The peer whose memory it is.
    pub peer: Peer,
    /// Key of the region, which the peer got from [`crate::Endpoint::register`].
    pub key: u64,
    /// First byte of the first element, counted from the beginning of the region. Its address there is a
    /// multiple of the element's size.
    pub offset: u64,
    /// What is done.
    pub op: AtomicOp,
    /// The type of all elements.
    pub datatype: Datatype,
    /// Size of all elements together, bytes.
    pub len: usize,
    /// The operands, `len` bytes; none for [`AtomicOp::Read`]. They are copied.
    pub operand: &'a [u8],
    /// The comparands, `len` bytes; none for an operation that does not compare. They are copied.
    pub comparand: &'a [u8],
    /// Place for the former values, `len` bytes; `None` if they are not wanted.
    pub result: Option<Buffer>,
    /// The program wants no completion unless the operation fails.
    pub quiet: bool,
    /// The program's name of the operation.
    pub context: u64,
}

/// A put, a get or an atomic operation.
pub(crate) enum RemoteCall<'a> {
    Put(&'a RemoteArgs),
    Get(&'a RemoteArgs),
    Atomic(&'a AtomicArgs<'a>),
}

impl RemoteCall<'_> {
    pub fn peer(&self) -> Peer {
        match self {
            RemoteCall::Put(args) | RemoteCall::Get(args) => args.peer,
            RemoteCall::Atomic(args) => args.peer,
        }
    }
}

/// What peers may do with a memory region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// Peers may read the region.
    pub get: bool,
    /// Peers may write into the region.
    pub put: bool,
}

impl Rights {
    /// Peers may read and write.
    pub const BOTH: Rights = Rights { get: true, put: true };
}

/// A put, a get or an atomic operation is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteDone {
    /// As posted.
    pub context: u64,
    /// The other side.
    pub peer: Peer,
    /// Bytes have come: true for a get and for an atomic operation with a place for former values, false for
    /// a put and for other atomic operations.
    pub get: bool,
    /// Its length, bytes.
    pub len: u64,
    /// After success a put or an atomic operation has been done in the peer's memory, and what was asked for
    /// is in the program's. After an error it is not known how much of it is.
    pub result: Result<(), RemoteFailure>,
}

/// Why a transfer has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RemoteFailure {
    /// The peer has no memory under this key, or does not let it be used so, or the transfer would leave it.
    #[error(
        "the peer has no such memory: the key is not (or no more) registered there, or not for this, or \
         offset and length leave it"
    )]
    Refused,
    /// An element of an atomic operation is not aligned to its size in the peer's memory. Nothing was done.
    #[error("an element of an atomic operation is not aligned to its size in the peer's memory")]
    Misaligned,
    /// The peer failed or closed its endpoint, as for messages.
    #[error(transparent)]
    Peer(#[from] Failure),
}

/// Why a region cannot be registered.
#[derive(Debug, thiserror::Error)]
pub enum RegisterError {
    /// The kernel gives no random numbers.
    #[error("the kernel gives no random numbers: {0}")]
    Random(#[from] getrandom::Error),
    /// The endpoint is closing.
    #[error(transparent)]
    Post(#[from] PostError),
}

/// Why a region stays registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnregisterError {
    /// There is none under this key.
    #[error("no memory is registered under this key")]
    Unknown,
    /// Transfers are under way. No new ones begin.
    #[error("{0} transfers of peers are under way in this memory: make progress and try again")]
    Busy(usize),
}
