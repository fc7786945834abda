//! The frames that endpoints exchange. Other crates encode them; a carrier delivers each exactly once, in any
//! order.
//!
//! Every frame survives being overtaken: `Start` and `Data` name their message by sequence number; grants,
//! credits and returns are running totals, of which the largest counts; `Done` ends one message; the quiesce
//! family carries epochs; `Bye` and the marks carry the totals of what must have arrived before they take
//! effect.

use crate::ids::{Epoch, MsgSeq};

/// Which receive queue of an endpoint a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Untagged messages: `fi_send`, `fi_recv`.
    Msg,
    /// Tagged messages: `fi_tsend`, `fi_trecv`.
    Tagged,
    /// Messages between engines (one-sided transfers and the like); with tags, and hidden from programs.
    Internal,
}

/// The envelope of a message, and the first `inline` bytes of it, which travel in the same frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Place in the sequence of messages from the sender to the receiver.
    pub seq: MsgSeq,
    /// Receive queue that it is for.
    pub queue: Queue,
    /// Tag; 0 on the untagged queue.
    pub tag: u64,
    /// Remote completion data (`FI_REMOTE_CQ_DATA`), 64 bits.
    pub data: Option<u64>,
    /// Length of the whole message, bytes.
    pub len: u64,
    /// Bytes `0..early` are sent without a grant, against credit. The rest waits for grants.
    pub early: u64,
    /// Bytes `0..inline` are the payload of this frame. At most `early`; the rest of `early` follows as
    /// `Data`.
    pub inline: u64,
    /// The sender has spent `charge(early)` of its credit. If false, it had none, and `early` is 0.
    pub charged: bool,
    /// The sender waits for `Done`.
    pub ack: bool,
    /// Where the carrier can reach the sender's memory, if it can: opaque, chosen by the sending engine.
    pub remote_key: Option<u64>,
}

/// Payload of a message that has its `Start` in another frame. A carrier may cut it into smaller pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// The message's sequence number.
    pub seq: MsgSeq,
    /// Place of the first byte in the message.
    pub offset: u64,
    /// Bytes in this frame, at least 1.
    pub len: u64,
    /// Size of the message's early part if this piece belongs to it, 0 if the piece was granted. Repeated
    /// here so that a piece that overtakes its `Start` finds a buffer of the right size.
    pub early: u64,
}

/// Totals of what a sender has sent; nothing is under way when the receiver has counted as much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Number of frames of the kinds `Start`, `Grant`, `Done`, `Credit`, `Recall`, `Return`.
    pub frames: u64,
    /// Payload bytes in `Data` frames. These are not counted as frames, because carriers may cut them.
    pub bytes: u64,
}

/// A frame from one endpoint to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A message begins. A whole eager message if `early == inline == len`, a rendezvous request otherwise.
    Start(Start),
    /// More payload of a message.
    Data(Data),
    /// The receiver is ready for the bytes of its peer's message `seq` before `upto`.
    Grant {
        /// The message, in the sequence of the frame's addressee.
        seq: MsgSeq,
        /// Running total.
        upto: u64,
    },
    /// The receiver has all that it wants of the message, so its sender may forget it.
    Done {
        /// The message, in the sequence of the frame's addressee.
        seq: MsgSeq,
    },
    /// Credit given to the addressee since the beginning, bytes.
    Credit {
        /// Running total.
        total: u64,
    },
    /// Asks for the return of unspent credit in excess of `keep`, because other peers need it.
    Recall {
        /// Bytes that the addressee may keep.
        keep: u64,
    },
    /// Credit returned unspent since the beginning, bytes.
    Return {
        /// Running total.
        total: u64,
    },
    /// Asks the addressee to send nothing but frames of the quiesce family until `Resume`, and to answer when
    /// all of `mark` has arrived.
    Quiesce {
        /// Number of this request.
        epoch: Epoch,
        /// All that the asking side has sent; it sends no more.
        mark: Mark,
    },
    /// Answers `Quiesce`: all that the asking side sent has arrived, and `mark` is all that the answering
    /// side has sent. It sends nothing more before `Resume`.
    Quiesced {
        /// The request that this answers.
        epoch: Epoch,
        /// All that the answering side has sent so far.
        mark: Mark,
    },
    /// Ends the request `epoch` and every earlier one.
    Resume {
        /// The request that ends.
        epoch: Epoch,
    },
    /// The sender of this frame is gone once `mark` has arrived. It accepts no more frames.
    Bye {
        /// All that it has sent.
        mark: Mark,
    },
}

impl Frame {
    /// Whether the frame is counted in `Mark::frames`, and held back while either side has asked for silence.
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
