//! What this crate asks of the layer above, which holds the messages and their bytes.

use tasuki_wire::{Control, Frame, Greeting, Rail, RefuseReason};

use crate::ids::ConnId;

/// The layer above, as this crate sees it. Its methods are called only from within those methods of
/// [`crate::Proto`] that take one.
pub trait Upcalls {
    /// A hello has come from an endpoint to which there is no connection. `Ok` accepts it as `conn`, with
    /// this side's ends of the rails to that endpoint in ascending order.
    fn accept(&mut self, conn: ConnId, greeting: &Greeting<'_>) -> Result<Vec<Rail>, RefuseReason>;

    /// A hello is refused, also without a call of `accept` because there is no room. The refusal is a packet
    /// of `conn`, of which nothing is heard otherwise.
    fn refusing(&mut self, _conn: ConnId, _greeting: &Greeting<'_>) {}

    /// The next new frame for `conn`. After `None` (nothing to send now) it is not called again before
    /// [`crate::Proto::wake`]. A Data frame has at most `room` bytes of payload. A Start is never cut: it has
    /// at most `min(room, start_room)` bytes of payload, where [`crate::Proto::start_room`] is the same for
    /// the whole life of a connection.
    fn next(&mut self, conn: ConnId, room: usize) -> Option<Outgoing>;

    /// Copies payload into a packet: `into.len()` bytes from `offset` bytes into the frame's payload. May be
    /// called several times for any part, until `released`.
    fn read(&mut self, conn: ConnId, payload: &Payload, offset: u64, into: &mut [u8]);

    /// All of a frame's payload has been acknowledged and is needed no more. Called exactly once for each
    /// Start and Data that `next` gave, also if its length is 0.
    fn released(&mut self, conn: ConnId, payload: &Payload);

    /// A Start, Data or Control frame has arrived. Every position is delivered once; payload is borrowed from
    /// the packet. A Data frame that was cut is delivered in its parts.
    fn deliver(&mut self, conn: ConnId, frame: &Frame<'_>);
}

/// Names the payload of one frame; the values mean something to the layer above alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    /// Which buffer the bytes are in.
    pub key: u64,
    /// Offset of the first byte in that buffer.
    pub offset: u64,
    /// Length, bytes.
    pub len: u64,
}

/// A new frame to send. This crate assigns its position; all other fields are those of [`tasuki_wire::Start`]
/// and [`tasuki_wire::Data`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outgoing {
    /// The beginning of a message.
    Start {
        /// The message's sequence number.
        seq: u64,
        /// Tag; `None` for the untagged queue.
        tag: Option<u64>,
        /// The message is for the queue between engines (which has tags), not for one of the program's.
        internal: bool,
        /// Remote completion data.
        data: Option<u64>,
        /// Key to the sender's memory.
        remote_key: Option<u64>,
        /// The sender has spent credit for it.
        charged: bool,
        /// The sender waits for `Done`.
        ack: bool,
        /// Length of the whole message, bytes.
        len: u64,
        /// Bytes that are sent without a grant; at least `payload.len`.
        early: u64,
        /// The bytes that travel in this frame.
        payload: Payload,
    },
    /// More bytes of a message. May be cut into pieces for different packets and rails.
    Data {
        /// The message's sequence number.
        seq: u64,
        /// Offset of the first byte in the message.
        offset: u64,
        /// Size of the message's early part if the bytes belong to it, else 0.
        early: u64,
        /// The bytes; at least one.
        payload: Payload,
    },
    /// A control frame of the message layer.
    Control(Control),
}
