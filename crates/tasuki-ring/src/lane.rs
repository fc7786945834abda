//! What a receiver knows about one slot of its segment.

use crate::{Departure, Token};

/// The receiver's private idea of a slot. Nothing in it is ever read back from shared memory, so that a
/// faulty sender cannot change it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lane {
    /// Bytes of the ring that have been consumed.
    pub(crate) position: u64,
    /// Senders that have had the slot before the present one.
    pub(crate) generation: u32,
    /// Visits since a record was last found here.
    pub(crate) idle_visits: u32,
    /// The name that the sender gave.
    pub(crate) token: Token,
    pub(crate) state: LaneState,
    /// Set once the sender is gone: the slot becomes free when its ring is empty.
    pub(crate) leaving: Option<Departure>,
}

/// Whether and how the receiver looks at a slot's ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaneState {
    /// No sender has the slot.
    Vacant,
    /// The ring is looked at on every visit.
    Active,
    /// The ring is not looked at until its sender rings the doorbell.
    Asleep,
    /// The ring was corrupt and is never looked at again, until its sender has gone.
    Shut,
}

impl Lane {
    /// The lane of a slot that no sender has had yet.
    pub(crate) fn vacant() -> Lane {
        Lane {
            position: 0,
            generation: 0,
            idle_visits: 0,
            token: Token::from_bytes([0; 16]),
            state: LaneState::Vacant,
            leaving: None,
        }
    }
}
