//! The records of operations and messages under way.

use crate::action::Matching;
use crate::error::{Failure, Gone};
use crate::frame::Queue;
use crate::ids::{EarlyId, Key, MsgSeq, PeerId};
use crate::index::NIL;
use crate::pace::Pace;

/// A posted send. Before its start it is in its peer's `starts`; afterwards `seq` is set.
pub(crate) struct SendOp {
    pub peer: PeerId,
    pub queue: Queue,
    pub tag: u64,
    pub data: Option<u64>,
    pub len: u64,
    pub user: u64,
    pub remote_key: Option<u64>,
    /// The program wants to know of the delivery.
    pub delivery: bool,
    pub seq: Option<MsgSeq>,
    /// Bytes `0..early` are sent without a grant.
    pub early: u64,
    /// End of the bytes that may be sent: at first `early`, later what the receiver has granted.
    pub upto: u64,
    /// Number of bytes sent.
    pub sent: u64,
    /// The receiver will say `Done`.
    pub ack: bool,
    pub done: bool,
    /// In its peer's `bulk` queue.
    pub queued: bool,
    /// The message has an early part, and the peer has not yet sent a frame about it.
    pub unanswered: bool,
    /// The bulk of the message is sent no faster than this.
    pub pace: Option<Pace>,
    /// Number of its frames that the carrier has not released.
    pub unreleased: u32,
}

impl SendOp {
    /// Whether nothing is left to do, and no carrier reads the buffer any more.
    pub fn is_complete(&self) -> bool {
        self.seq.is_some() && self.unreleased == 0 && if self.ack { self.done } else { self.sent == self.len }
    }
}

/// A receive.
pub(crate) struct RecvOp {
    pub matching: Matching,
    pub capacity: u64,
    pub multi: Option<u64>,
    pub user: u64,
    /// Bytes of the buffer given to messages, so the next message begins there.
    pub used: u64,
    /// The receive takes further messages.
    pub open: bool,
    /// Place in the queue of posted receives, `NIL` if it is not there.
    pub node: u32,
    /// Number of its messages that have been matched and are not complete.
    pub active: u32,
    /// How it will end once `active` is 0, if not with the completion of a message.
    pub ending: Option<Failure>,
}

impl RecvOp {
    pub fn new(matching: Matching, capacity: u64, multi: Option<u64>, user: u64) -> RecvOp {
        let ending = None;
        RecvOp { matching, capacity, multi, user, used: 0, open: true, node: NIL, active: 0, ending }
    }
}

/// State of a message at the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Payload came before the `Start`: only the size of the early part is known.
    Stub,
    /// The turn of the message in the sequence has not come.
    Held,
    /// No receive has matched it.
    Unexpected,
    /// Reserved by a probe.
    Claimed,
    /// Reserved by a probe, and lost with its sender.
    Lost(Gone),
    /// Matched with a receive.
    Receiving,
    /// Discarded; payload that still comes is dropped.
    Draining,
}

/// A message at the receiver.
pub(crate) struct Incoming {
    pub peer: PeerId,
    pub seq: MsgSeq,
    pub state: State,
    pub queue: Queue,
    pub tag: u64,
    pub data: Option<u64>,
    pub len: u64,
    pub remote_key: Option<u64>,
    pub ack: bool,
    /// Size of the early part.
    pub early: u64,
    pub early_arrived: u64,
    /// Bytes of the peer's credit that this message occupies; 0 once they are given back.
    pub charge: u64,
    /// Where the early part lies, unless it went straight to its receive.
    pub buffer: Option<EarlyId>,
    /// Number of bytes that the receiver wants; known from the match on.
    pub take: u64,
    /// End of the granted bytes, counted from 0; at least `early`.
    pub granted: u64,
    /// Number of bytes beyond `early` that have arrived or were pulled.
    pub bulk_arrived: u64,
    /// The receive, from the match on.
    pub recv: Option<Key>,
    /// Where the message begins in the receive's buffer.
    pub base: u64,
    /// Place among the unexpected messages, `NIL` if it is not there.
    pub chain: u32,
    /// The message is in its peer's `inbox`.
    pub filed: bool,
    /// A `Grant` is in its peer's control queue.
    pub grant_queued: bool,
    /// The caller is pulling it.
    pub pulling: bool,
}

impl Incoming {
    /// Whether every byte that is wanted has arrived.
    pub fn arrived(&self) -> bool {
        let bulk = self.take.max(self.early) - self.early;
        self.early_arrived == self.early && self.bulk_arrived == bulk && !self.pulling
    }

    /// Whether the whole message is in this endpoint's memory.
    pub fn whole(&self) -> bool {
        self.early == self.len && self.early_arrived == self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `docs/internals/message-layer.md` states the memory per envelope and per operation, which follows from
    /// these sizes.
    #[test]
    fn records_stay_small() {
        assert!(size_of::<Incoming>() <= 208, "{}", size_of::<Incoming>());
        assert!(size_of::<SendOp>() <= 160, "{}", size_of::<SendOp>());
        assert!(size_of::<RecvOp>() <= 128, "{}", size_of::<RecvOp>());
    }

    /// An endpoint may move between threads, because the helper thread steps in for the application's.
    #[test]
    fn endpoints_are_send() {
        fn send<T: Send>() {}
        send::<crate::Endpoint>();
    }
}
