//! What an endpoint waits for, for those who want to know why a program does not go on.

use crate::action::Matching;
use crate::endpoint::Endpoint;
use crate::frame::Queue;
use crate::ids::PeerId;
use crate::index::NIL;
use crate::ops::State;
use crate::slab::Slab;

/// How many places of each kind are looked at, at most. Programs that have had more operations open at a time
/// are told from the others by [`Endpoint::outstanding`]'s result.
const PLACES_MAX: usize = 4096;

/// An operation or a message that is not over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outstanding {
    /// A receive that no message has matched, or that takes further ones.
    Receive {
        /// What it accepts.
        matching: Matching,
        /// Size of its buffer, bytes.
        capacity: u64,
    },
    /// A send that is not complete.
    Send {
        /// Receiver.
        peer: PeerId,
        /// Receive queue there.
        queue: Queue,
        /// Tag.
        tag: u64,
        /// Bytes.
        len: u64,
    },
    /// A message that no receive has matched.
    Unexpected {
        /// Sender.
        peer: PeerId,
        /// Receive queue.
        queue: Queue,
        /// Tag.
        tag: u64,
        /// Bytes.
        len: u64,
    },
}

/// Names at most `most` of each kind; returns whether these are all. See [`Endpoint::outstanding`].
pub(crate) fn name_all<C>(endpoint: &Endpoint<C>, most: usize, mut each: impl FnMut(Outstanding)) -> bool {
    let receives = named(&endpoint.recvs, most, |op| {
        let (matching, capacity) = (op.matching, op.capacity);
        (op.node != NIL).then(|| each(Outstanding::Receive { matching, capacity }))
    });
    let sends = named(&endpoint.sends, most, |op| {
        each(Outstanding::Send { peer: op.peer, queue: op.queue, tag: op.tag, len: op.len });
        Some(())
    });
    let unexpected = named(&endpoint.incoming, most, |message| {
        let (peer, queue, tag, len) = (message.peer, message.queue, message.tag, message.len);
        let waits = matches!(message.state, State::Unexpected | State::Claimed);
        waits.then(|| each(Outstanding::Unexpected { peer, queue, tag, len }))
    });
    receives && sends && unexpected
}

/// Calls `name` for tenants until it has named `most`; returns whether it was called for all.
fn named<T>(slab: &Slab<T>, most: usize, mut name: impl FnMut(&T) -> Option<()>) -> bool {
    let (mut seen, mut named) = (0, 0);
    for tenant in slab.first_places(PLACES_MAX) {
        if named == most {
            return false;
        }
        seen += 1;
        named += usize::from(name(tenant).is_some());
    }
    seen == slab.len()
}
