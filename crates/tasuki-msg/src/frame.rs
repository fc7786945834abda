//! What one endpoint says to another. Later crates encode these; a carrier delivers each exactly once, in any
//! order.
//!
//! Every frame survives overtaking: `Start` and `Data` name their message by sequence number; grants, credits
//! and returns are running totals of which the largest counts; `Done` ends one message; the quiesce family
//! carries epochs, and `Bye` and the marks carry the totals of what must have arrived before they take effect.

use crate::ids::{Epoch, MsgSeq};

/// Which receive queue of an endpoint a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Untagged messages: `fi_send`, `fi_recv`.
    Msg,
    /// Tagged messages: `fi_tsend`, `fi_trecv`.
    Tagged,
    /// What engines say to each other (one-sided transfers); with tags, and hidden from programs.
    Service,
}

/// The envelope of a message, and the first `inline` bytes of it, which travel in the same frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Place in the sequence of messages from the sender to the receiver.
    pub seq: MsgSeq,
    /// Receive queue it is for.
    pub queue: Queue,
    /// Tag; 0 on the untagged queue.
    pub tag: u64,
    /// Remote completion data (`FI_REMOTE_CQ_DATA`), 64 bits.
    pub data: Option<u64>,
    /// Length of the whole message, bytes.
    pub len: u64,
    /// Bytes `0..early` are sent without asking, against credit. The rest waits for grants.
    pub early: u64,
    /// Bytes `0..inline` are the payload of this frame. At most `early`; the rest of `early` follows as `Data`.
    pub inline: u64,
    /// The sender has spent `charge(early)` of its credit. False: it had none, and `early` is 0.
    pub charged: bool,
    /// The sender waits for `Done`.
    pub ack: bool,
    /// Where the carrier can reach the sender's memory, if it can: opaque, chosen by the sending engine.
    pub remote_key: Option<u64>,
}

/// Payload of a message that has its `Start` in another frame. A carrier may cut it into smaller pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// The message.
    pub seq: MsgSeq,
    /// Place of the first byte in the message.
    pub offset: u64,
    /// Bytes in this frame, at least 1.
    pub len: u64,
    /// Size of the message's early part if this piece belongs to it, 0 if the piece was granted. Repeated here
    /// so that a piece that overtakes its `Start` finds a buffer of the right size.
    pub early: u64,
}

/// Totals that a sender has put into the channel; the channel is empty when the receiver has counted as much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Frames of the kinds `Start`, `Grant`, `Done`, `Credit`, `Recall`, `Return`.
    pub frames: u64,
    /// Payload bytes in `Data` frames (which carriers may cut up, so they are not counted as frames).
    pub bytes: u64,
}

/// One unit of conversation between two endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A message begins. A whole eager message if `early == inline == len`, a rendezvous request otherwise.
    Start(Start),
    /// More payload.
    Data(Data),
    /// The receiver is ready for bytes up to (not including) `upto` of its peer's message `seq`.
    Grant {
        /// The message, in the sequence of the frame's addressee.
        seq: MsgSeq,
        /// Running total.
        upto: u64,
    },
    /// The receiver has all that it wants of the message; its sender may forget it.
    Done {
        /// The message, in the sequence of the frame's addressee.
        seq: MsgSeq,
    },
    /// Credit given to the addressee since the beginning, bytes.
    Credit {
        /// Running total.
        total: u64,
    },
    /// Please return unspent credit in excess of `keep`: others need it.
    Recall {
        /// Bytes that the addressee may keep.
        keep: u64,
    },
    /// Credit returned unspent since the beginning, bytes.
    Return {
        /// Running total.
        total: u64,
    },
    /// Send me nothing (but frames of the quiesce family) until `Resume`; answer when all of `mark` has arrived.
    Quiesce {
        /// Number of this request.
        epoch: Epoch,
        /// All that the asking side has sent so far, and it sends no more.
        mark: Mark,
    },
    /// All that you sent has arrived, and `mark` is all that I sent: nothing more comes before your `Resume`.
    Quiesced {
        /// The request that this answers.
        epoch: Epoch,
        /// All that the answering side has sent so far.
        mark: Mark,
    },
    /// The request `epoch` (and every earlier one) is over.
    Resume {
        /// The request that ends.
        epoch: Epoch,
    },
    /// The sender of this frame leaves once `mark` has arrived. It listens no more.
    Bye {
        /// All that it sent.
        mark: Mark,
    },
}

impl Frame {
    /// Counted in `Mark::frames`, and held back while either side has asked for silence.
    pub fn counted(&self) -> bool {
        !matches!(
            self,
            Frame::Data(_)
                | Frame::Quiesce { .. }
                | Frame::Quiesced { .. }
                | Frame::Resume { .. }
                | Frame::Bye { .. }
        )
    }

    /// Bytes of payload that travel with the frame.
    pub fn payload_len(&self) -> u64 {
        match self {
            Frame::Start(start) => start.inline,
            Frame::Data(data) => data.len,
            _ => 0,
        }
    }
}
