//! Identifiers of peers, messages, operations and buffers, each of a type of its own.

use std::fmt;

/// Place in a slab plus the generation of its tenant, so that a stale key never names a newer tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub index: u32,
    pub generation: u32,
}

/// One incarnation of another endpoint (or of this one, for messages to itself). Never reused: a peer that
/// comes back after its death is a new `PeerId`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub(crate) u32);

impl PeerId {
    /// Dense index, counted from 0 in the order of `add_peer`; fit for a side table of the caller.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "peer#{}", self.0)
    }
}

impl fmt::Display for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Sequence number of a message from one endpoint to another, over all queues. Counts from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MsgSeq(pub u64);

impl MsgSeq {
    /// The next sequence number.
    pub(crate) fn next(self) -> MsgSeq {
        MsgSeq(self.0 + 1)
    }
}

/// Number of a request for silence; a later request has a higher number. 0: never asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident $word:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(crate) Key);

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($word, "#{}.{}"), self.0.index, self.0.generation)
            }
        }
    )*};
}

handles! {
    /// A posted send. Valid until its `SendDone`.
    SendId "send";
    /// A posted receive. Valid until its last event.
    RecvId "recv";
    /// An unexpected message that a probe has reserved. Valid until it is received or discarded.
    ClaimId "claim";
    /// A buffer of the caller that holds the early part of an unexpected message.
    EarlyId "early";
    /// A copy out of a peer's memory that the caller was asked to make.
    PullId "pull";
}

impl EarlyId {
    /// Dense index, reused only after the buffer's `FreeEarly` has been polled: the caller may keep the
    /// buffers in a plain array.
    pub fn index(self) -> usize {
        self.0.index as usize
    }
}
