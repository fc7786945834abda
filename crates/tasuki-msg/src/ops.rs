//! Records of operations and messages under way.

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
    /// Bytes `0..early` go out without a grant.
    pub early: u64,
    /// Bytes that may be sent: `early`, later what the receiver granted.
    pub upto: u64,
    /// Bytes sent.
    pub sent: u64,
    /// The receiver will say `Done`.
    pub ack: bool,
    pub done: bool,
    /// In its peer's `bulk` queue.
    pub queued: bool,
    /// Its early part is on the way, and the peer has said nothing yet.
    pub unanswered: bool,
    /// Its bulk leaves no faster.
    pub pace: Option<Pace>,
    /// Frames that the carrier still holds.
    pub unreleased: u32,
}

impl SendOp {
    /// Nothing is left to do, and nobody looks at the buffer any more.
    pub fn over(&self) -> bool {
        self.seq.is_some() && self.unreleased == 0 && if self.ack { self.done } else { self.sent == self.len }
    }
}

/// A receive.
pub(crate) struct RecvOp {
    pub matching: Matching,
    pub capacity: u64,
    pub multi: Option<u64>,
    pub user: u64,
    /// Bytes given to messages; where the next one begins.
    pub used: u64,
    /// Takes further messages.
    pub open: bool,
    /// Place in the queue of posted receives, `NIL` if it is not there.
    pub node: u32,
    /// Messages that have been matched and are not complete.
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

/// Where a message is in its life at the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Payload came before the `Start`: nothing is known but the size of the early part.
    Stub,
    /// Its turn in the sequence has not come.
    Held,
    /// Nobody has asked for it.
    Unexpected,
    /// Reserved by a probe.
    Claimed,
    /// Reserved by a probe, and lost with its sender.
    Lost(Gone),
    /// Matched with a receive.
    Receiving,
    /// Discarded; what is under way is dropped as it comes.
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
    /// Bytes that the receiver wants; known from the match on.
    pub take: u64,
    /// Bytes granted, counted from 0; at least `early`.
    pub granted: u64,
    /// Bytes beyond `early` that have arrived or were pulled.
    pub bulk_arrived: u64,
    /// The receive, from the match on.
    pub recv: Option<Key>,
    /// Where the message begins in the receive's buffer.
    pub base: u64,
    /// Place among the unexpected messages, `NIL` if it is not there.
    pub chain: u32,
    /// Known in its peer's `inbox`.
    pub filed: bool,
    /// A `Grant` is in its peer's control queue.
    pub grant_queued: bool,
    /// The caller is pulling it.
    pub pulling: bool,
}

impl Incoming {
    /// Every byte that was or will be asked for has arrived.
    pub fn arrived(&self) -> bool {
        let bulk = self.take.max(self.early) - self.early;
        self.early_arrived == self.early && self.bulk_arrived == bulk && !self.pulling
    }

    /// The whole message is in this endpoint's memory.
    pub fn whole(&self) -> bool {
        self.early == self.len && self.early_arrived == self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `docs/message-layer.md` states the memory per envelope and per operation from these.
    #[test]
    fn records_stay_small() {
        assert!(size_of::<Incoming>() <= 208, "{}", size_of::<Incoming>());
        assert!(size_of::<SendOp>() <= 160, "{}", size_of::<SendOp>());
        assert!(size_of::<RecvOp>() <= 128, "{}", size_of::<RecvOp>());
    }

    /// An endpoint may move between threads: the helper thread steps in for the application's.
    #[test]
    fn endpoints_are_send() {
        fn send<T: Send>() {}
        send::<crate::Endpoint>();
    }
}
