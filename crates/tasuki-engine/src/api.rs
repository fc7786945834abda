//! What a program (or the library between it and us) asks of an endpoint, and what it hears of it.

use tasuki_msg::ClaimId;

use crate::address::Address;
use crate::peer::PeerState;

/// Another endpoint, as known to this one. Dense, counted from 0 in the order in which peers became known; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer(pub u32);

/// A piece of the program's memory, laid out as `struct iovec` (readv(2)).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Buffer {
    /// First byte; may be null or dangling if `len` is 0.
    pub ptr: *mut u8,
    /// Bytes.
    pub len: usize,
}

// SAFETY: a buffer is an address and a length. Whoever posts it promises that the memory may be used from any thread until
// the operation completes (see `Endpoint::send`, `Endpoint::recv`).
unsafe impl Send for Buffer {}

/// What a program hears of an operation that it has posted. Of a failure, always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Report {
    /// Its completion.
    #[default]
    Completion,
    /// Its completion, marked `quiet`: for somebody who only counts.
    Quiet,
    /// Nothing.
    Failure,
}

/// A message to send.
#[derive(Clone, Copy, Debug)]
pub struct SendArgs<'a> {
    /// To whom.
    pub peer: Peer,
    /// The tag; `None` for the untagged queue.
    pub tag: Option<u64>,
    /// Remote completion data.
    pub data: Option<u64>,
    /// The bytes, one piece behind the other.
    pub buffers: &'a [Buffer],
    /// The bytes are the program's again when `send` returns.
    pub inject: bool,
    /// What the program wants to hear of it.
    pub report: Report,
    /// Complete only when the message has been placed at the receiver.
    pub delivery: bool,
    /// The program's name of the operation.
    pub context: u64,
}

/// Memory for a message, or for several.
#[derive(Clone, Copy, Debug)]
pub struct RecvArgs<'a> {
    /// From whom; `None`: from anyone.
    pub source: Option<Peer>,
    /// The tag; `None` for the untagged queue.
    pub tag: Option<u64>,
    /// Bits of the tag that do not matter.
    pub ignore: u64,
    /// Where the bytes go, one piece behind the other.
    pub buffers: &'a [Buffer],
    /// Take message after message until less than this many bytes are left.
    pub multi: Option<usize>,
    /// What the program wants to hear of it.
    pub report: Report,
    /// The program's name of the operation.
    pub context: u64,
}

/// What a probe looks for among the messages that nobody has asked for.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// From whom; `None`: from anyone.
    pub source: Option<Peer>,
    /// The tag; `None` for the untagged queue.
    pub tag: Option<u64>,
    /// Bits of the tag that do not matter.
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
        /// To whom it went.
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
        /// The buffer is the program's again.
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
        /// With whom, if that is known.
        peer: Option<Peer>,
        /// The buffer is the program's again.
        last: bool,
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

/// Who is who, for those who are given completions while the endpoint is at work: they must not call it.
pub struct Names<'a>(pub(crate) &'a [PeerState]);

impl Names<'_> {
    /// The address of a peer.
    pub fn address(&self, peer: Peer) -> Option<Address> {
        self.0.get(peer.0 as usize).map(|state| state.address)
    }
}

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
    /// The endpoint is closing.
    #[error("the endpoint is closed")]
    Closed,
}
