//! What the caller asks of the message layer, and what the layer asks of the caller.

use crate::error::{Failure, Gone};
use crate::frame::{Frame, Queue};
use crate::ids::{EarlyId, Epoch, PeerId, PullId, RecvId, SendId};

/// A message to send. Its bytes stay with the caller, unchanged, until the operation's `SendDone`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendRequest {
    /// The receiver.
    pub peer: PeerId,
    /// Receive queue it is for.
    pub queue: Queue,
    /// Tag; ignored on the untagged queue.
    pub tag: u64,
    /// Remote completion data, handed to the receiver with the message.
    pub data: Option<u64>,
    /// Length, bytes; may be 0.
    pub len: u64,
    /// Complete only when the message has been placed at the receiver (`FI_DELIVERY_COMPLETE`).
    pub delivery: bool,
    /// Where the carrier can reach the bytes from the peer's side, if it can.
    pub remote_key: Option<u64>,
    /// The caller's own name for the operation, returned with everything that concerns it.
    pub user: u64,
}

/// Which senders a receive accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Any peer.
    Any,
    /// Only this peer (`FI_DIRECTED_RECV`).
    Peer(PeerId),
}

/// What a receive or a probe is looking for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matching {
    /// Receive queue.
    pub queue: Queue,
    /// Sender.
    pub source: Source,
    /// Tag; ignored on the untagged queue.
    pub tag: u64,
    /// Bits of the tag that do not matter.
    pub ignore: u64,
}

/// A buffer for a message, or for several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecvRequest {
    /// What it accepts.
    pub matching: Matching,
    /// Size of the buffer, bytes. A longer message is truncated.
    pub capacity: u64,
    /// `Some(min_free)`: the buffer takes one message behind the other until less than `min_free` bytes are
    /// left (`FI_MULTI_RECV`, `FI_OPT_MIN_MULTI_RECV`; 0 counts as 1).
    pub multi: Option<u64>,
    /// The caller's own name for the operation.
    pub user: u64,
}

/// A message that a probe has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The sender.
    pub source: PeerId,
    /// Tag of the message; 0 on the untagged queue.
    pub tag: u64,
    /// Remote completion data of the message.
    pub data: Option<u64>,
    /// Length of the message, bytes.
    pub len: u64,
}

/// A frame to hand to the carrier of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The frame.
    pub frame: Frame,
    /// For `Start` and `Data`: where its payload lies. The carrier may read it until the caller says
    /// `handle_released`, which it must say exactly once for each such frame, also if `len` is 0.
    pub payload: Option<Payload>,
}

/// A piece of a send buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    /// The send it belongs to.
    pub send: SendId,
    /// The caller's name of that send.
    pub user: u64,
    /// First byte, counted from the start of the message.
    pub offset: u64,
    /// Number of bytes, may be 0.
    pub len: u64,
}

/// Where the payload of a received frame belongs. The caller must copy it there before its next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "payload that is not copied is lost"]
pub struct Placement {
    /// The destination.
    pub sink: Sink,
    /// Bytes to copy, from the beginning of the frame's payload. What lies beyond is dropped (truncation).
    pub len: u64,
}

impl Placement {
    pub(crate) const NOTHING: Placement = Placement { sink: Sink::Nowhere, len: 0 };
}

/// Destination of payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sink {
    /// The payload is not wanted: the caller drops it.
    Nowhere,
    /// Into the buffer of a posted receive.
    Recv {
        /// The receive.
        recv: RecvId,
        /// The caller's name of it.
        user: u64,
        /// Place in its buffer.
        offset: u64,
    },
    /// Into a buffer of the caller. The first placement that names `buffer` creates it, with `size` bytes; it
    /// lives until its `FreeEarly`. A caller may keep the frame's own memory instead if the piece is all of
    /// it.
    Early {
        /// The buffer.
        buffer: EarlyId,
        /// Size of the whole buffer, bytes.
        size: u64,
        /// Place in it.
        offset: u64,
    },
}

/// Something that the caller must do. Actions must be carried out in the order in which they are polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Copy bytes `0..len` of an early buffer into a receive buffer.
    Copy {
        /// The early buffer.
        from: EarlyId,
        /// The receive whose buffer is the destination.
        recv: RecvId,
        /// The caller's name of it.
        user: u64,
        /// Place in its buffer.
        offset: u64,
        /// Number of bytes.
        len: u64,
    },
    /// The buffer is no longer needed.
    FreeEarly(EarlyId),
    /// Copy `len` bytes from `offset` of the peer's message, which lies at `remote_key`, to `at` in the
    /// receive's buffer; then call `handle_pulled`.
    Pull {
        /// Names this copy in `handle_pulled`.
        pull: PullId,
        /// The sender.
        peer: PeerId,
        /// What the sender gave as `SendRequest::remote_key`.
        remote_key: u64,
        /// First byte, counted from the start of the message.
        offset: u64,
        /// Number of bytes.
        len: u64,
        /// The receive.
        recv: RecvId,
        /// The caller's name of it.
        user: u64,
        /// Place in its buffer.
        at: u64,
    },
    /// Something that the program or the engine must be told.
    Event(Event),
}

/// A message has been received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecvDone {
    /// The receive.
    pub recv: RecvId,
    /// The caller's name of it.
    pub user: u64,
    /// Queue on which it came.
    pub queue: Queue,
    /// The sender.
    pub source: PeerId,
    /// Tag of the message; 0 on the untagged queue.
    pub tag: u64,
    /// Remote completion data of the message.
    pub data: Option<u64>,
    /// Where it begins in the buffer; not 0 only in a multi-receive.
    pub offset: u64,
    /// Bytes received.
    pub len: u64,
    /// Length of the message as sent. If it is more than `len`, the message was truncated (`FI_ETRUNC`).
    pub total: u64,
    /// The buffer is the program's again: no further event of this receive (`FI_MULTI_RECV` in a completion).
    pub last: bool,
}

impl RecvDone {
    /// Where the payload of a message belongs that [`crate::Endpoint::recv_inline`] has taken.
    pub fn placement(&self) -> Placement {
        if self.len == 0 {
            return Placement::NOTHING;
        }
        Placement {
            sink: Sink::Recv { recv: self.recv, user: self.user, offset: self.offset },
            len: self.len,
        }
    }
}

/// Something that the program or the engine should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A send is over and its buffer is the program's again.
    SendDone {
        /// The send.
        send: SendId,
        /// The caller's name of it.
        user: u64,
        /// The receiver.
        peer: PeerId,
        /// How it ended.
        result: Result<(), Failure>,
    },
    /// A message has been received.
    RecvDone(RecvDone),
    /// A receive ends without a message, or (in a multi-receive, `last` false) one message of several was
    /// lost.
    RecvFailed {
        /// The receive.
        recv: RecvId,
        /// The caller's name of it.
        user: u64,
        /// The reason.
        failure: Failure,
        /// The buffer is the program's again: no further event of this receive.
        last: bool,
    },
    /// The peer is gone. Failures of its operations follow.
    PeerGone {
        /// The peer.
        peer: PeerId,
        /// The reason.
        gone: Gone,
    },
    /// Every living peer has agreed to silence: nothing is under way from or to it. If `resume` or `add_peer`
    /// has been called since, this event is out of date; `Endpoint::is_quiesced` tells the present state.
    Quiesced {
        /// The request that is fulfilled.
        epoch: Epoch,
    },
}
