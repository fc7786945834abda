//! The types by which a program (or the library between it and an endpoint) posts operations and learns their
//! ends.

use tasuki_msg::{ClaimId, PeerId, Queue, SendRequest};

/// Another endpoint, as known to this one. Dense, counted from 0 in the order in which peers became known;
/// never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer(pub u32);

impl From<PeerId> for Peer {
    #[inline(always)]
    fn from(id: PeerId) -> Peer {
        Peer(id.index() as u32)
    }
}

/// A piece of the program's memory, laid out as `struct iovec` (readv(2)).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Buffer {
    /// First byte; may be null or dangling if `len` is 0.
    pub ptr: *mut u8,
    /// Bytes.
    pub len: usize,
}

// SAFETY: a buffer is an address and a length. The program that posts it promises that the memory may be used
// from any thread until the operation completes (see `Endpoint::send`, `Endpoint::recv`).
unsafe impl Send for Buffer {}

/// What a program is told of the end of an operation. Failures are always told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Report {
    /// A completion.
    #[default]
    Completion,
    /// A completion that is marked `quiet`: for programs that only count.
    Quiet,
    /// Nothing, unless the operation fails.
    Failure,
}

/// A message to send.
#[derive(Clone, Copy, Debug)]
pub struct SendArgs<'a> {
    /// The receiver.
    pub peer: Peer,
    /// The tag; `None` means the untagged queue.
    pub tag: Option<u64>,
    /// Remote completion data.
    pub data: Option<u64>,
    /// The bytes, in pieces that follow each other.
    pub buffers: &'a [Buffer],
    /// The program may change the bytes when `send` returns.
    pub inject: bool,
    /// What the program wants to be told.
    pub report: Report,
    /// Complete only when the message has been placed at the receiver.
    pub delivery: bool,
    /// The program sends another message at once (`FI_MORE` of libfabric): this one may wait for it, to share
    /// its packet.
    pub more: bool,
    /// The program's name of the operation.
    pub context: u64,
}

impl SendArgs<'_> {
    /// What the message layer is asked for. Key to the memory and the caller's name of the send are filled in
    /// by callers that have them.
    #[inline(always)]
    pub(crate) fn request(&self, peer: PeerId, len: u64) -> SendRequest {
        let queue = if self.tag.is_some() { Queue::Tagged } else { Queue::Msg };
        let (tag, data, delivery) = (self.tag.unwrap_or(0), self.data, self.delivery);
        SendRequest { peer, queue, tag, data, len, delivery, remote_key: None, user: 0 }
    }
}

/// A receive: memory for one message, or for several.
#[derive(Clone, Copy, Debug)]
pub struct RecvArgs<'a> {
    /// The sender; `None`: any.
    pub source: Option<Peer>,
    /// The tag; `None` means the untagged queue.
    pub tag: Option<u64>,
    /// Bits of the tag that are not compared.
    pub ignore: u64,
    /// Where the bytes go, in pieces that follow each other.
    pub buffers: &'a [Buffer],
    /// Take message after message until less than so many bytes are left (`FI_MULTI_RECV`).
    pub multi: Option<usize>,
    /// What the program wants to be told.
    pub report: Report,
    /// The program's name of the operation.
    pub context: u64,
}

/// What a probe looks for among unexpected messages.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// The sender; `None`: any.
    pub source: Option<Peer>,
    /// The tag; `None` means the untagged queue.
    pub tag: Option<u64>,
    /// Bits of the tag that are not compared.
    pub ignore: u64,
}

/// A message that a probe has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its sender.
    pub source: Peer,
    /// Its tag; 0 on the untagged queue.
    pub tag: u64,
    /// Its remote completion data.
    pub data: Option<u64>,
    /// Its length, bytes.
    pub len: u64,
}

/// A message that a probe has reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    pub(crate) id: ClaimId,
    pub(crate) tagged: bool,
}

/// An operation is over.
#[derive(Clone, Copy, Debug)]
pub enum Completion {
    /// A send.
    Send {
        /// As posted.
        context: u64,
        /// The receiver.
        peer: Peer,
        /// It was for the tagged queue.
        tagged: bool,
        /// It is only to be counted: see [`Report`].
        quiet: bool,
    },
    /// A message has been received.
    Recv {
        /// As posted.
        context: u64,
        /// Its sender.
        source: Peer,
        /// It came on the tagged queue.
        tagged: bool,
        /// Its tag; 0 on the untagged queue.
        tag: u64,
        /// Its remote completion data.
        data: Option<u64>,
        /// Where it begins in the buffer.
        ptr: *mut u8,
        /// Bytes received.
        len: u64,
        /// Length as sent; more than `len`: it was truncated.
        total: u64,
        /// The program may use the buffer again.
        last: bool,
        /// The receive takes several messages.
        multi: bool,
        /// Not to be told unless the message was truncated: see [`Report`].
        quiet: bool,
    },
    /// An operation has failed.
    Error {
        /// As posted.
        context: u64,
        /// It was for the tagged queue.
        tagged: bool,
        /// It was a send.
        send: bool,
        /// Why.
        failure: Failure,
        /// The peer, if it is known.
        peer: Option<Peer>,
        /// The program may use the buffer again.
        last: bool,
        /// It was a receive of several messages.
        multi: bool,
        /// Success would not have been told: see [`Report`].
        quiet: bool,
    },
    /// A peer's put that carries completion data has been written to memory registered here.
    Put {
        /// The peer.
        source: Peer,
        /// The completion data.
        data: u64,
        /// Bytes written.
        len: u64,
    },
}

// SAFETY: the pointer in a completion is a value for the program; nothing here reads through it.
unsafe impl Send for Completion {}

/// Why an operation has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The program took it back.
    #[error("cancelled")]
    Cancelled,
    /// The peer has died, or broke the protocol.
    #[error("the peer has failed")]
    PeerFailed,
    /// The peer has closed its endpoint, or this one has.
    #[error("the peer has closed its endpoint")]
    PeerClosed,
}

/// How a peer stands to an endpoint, as far as the endpoint has heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing is known of its end.
    Present,
    /// It has closed its endpoint, or has ended before anything was exchanged with it.
    Parted,
    /// It has died, or broke the protocol.
    Failed,
}

/// Why an operation was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PostError {
    /// No such peer.
    #[error("peer {} is unknown: add its address first", .0.0)]
    UnknownPeer(Peer),
    /// The claim was received or discarded before.
    #[error("no message is claimed under this name")]
    UnknownClaim,
    /// The claimed message is lost with its sender.
    #[error("the claimed message is lost with its sender")]
    ClaimLost,
    /// A buffer is null and not empty.
    #[error("a buffer has {0} bytes at address 0")]
    NullBuffer(usize),
    /// An atomic operation is not defined for its type, or the numbers of bytes do not fit together, or there
    /// are none, or more than fit into a request (`tasuki_tuning::rma::INLINE_PUT_MAX`).
    #[error(
        "no such atomic operation: it is not defined for its type, or its operands are not as long as its \
         elements, or these are none, or too many"
    )]
    Operands,
    /// The endpoint is closing.
    #[error("the endpoint is closed")]
    Closed,
}
