//! What stands above: it has the messages and their bytes.

use tasuki_wire::{Control, Frame, Greeting, Rail};

use crate::ids::ConnId;

/// The layer above, as this crate sees it. Called only from within [`crate::Proto`]'s methods that take one.
pub trait Upcalls {
    /// A hello from an endpoint with which there is no connection: `Some` (own ends of the rails to it, ascending)
    /// accepts it as `conn`, `None` refuses.
    fn accept(&mut self, conn: ConnId, greeting: &Greeting<'_>) -> Option<Vec<Rail>>;

    /// The next new frame for `conn`; `None` if there is nothing now, and then it is not asked again before
    /// [`crate::Proto::wake`]. Data has at most `room` bytes of payload. A Start is never cut: it has at most
    /// `min(room, start_room)` bytes of payload, [`crate::Proto::start_room`] being the same for the whole life of a
    /// connection.
    fn next(&mut self, conn: ConnId, room: usize) -> Option<Outgoing>;

    /// Copies payload into a packet: `into.len()` bytes from `offset` bytes into the frame's payload. May be asked
    /// again, for any part, until `released`.
    fn read(&mut self, conn: ConnId, payload: &Payload, offset: u64, into: &mut [u8]);

    /// All of a frame's payload has been acknowledged and is needed no more. Exactly once for each Start and Data that
    /// `next` gave, also when its length is 0.
    fn released(&mut self, conn: ConnId, payload: &Payload);

    /// A Start, Data or Control frame has arrived. Every position comes once; payload is borrowed from the packet. Data
    /// that was cut up comes in its parts.
    fn deliver(&mut self, conn: ConnId, frame: &Frame<'_>);
}

/// Names the payload of one frame in the layer above; means nothing here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    /// Whose bytes.
    pub key: u64,
    /// Place of the first byte among those.
    pub offset: u64,
    /// Bytes.
    pub len: u64,
}

/// A new frame to send. The position is given by this crate; all else as in [`tasuki_wire::Start`] and
/// [`tasuki_wire::Data`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outgoing {
    /// A message begins.
    Start {
        /// Place in the sequence of messages.
        seq: u64,
        /// For the tagged or the service queue.
        tag: Option<u64>,
        /// For the service queue, and has a tag.
        service: bool,
        /// Remote completion data.
        data: Option<u64>,
        /// Key to the sender's memory.
        remote_key: Option<u64>,
        /// Credit was spent.
        charged: bool,
        /// The sender waits for done.
        ack: bool,
        /// Length of the whole message, bytes.
        len: u64,
        /// Bytes that go without asking; at least `payload.len`.
        early: u64,
        /// The inline part.
        payload: Payload,
    },
    /// More of a message. May be cut over packets and rails.
    Data {
        /// The message.
        seq: u64,
        /// Place of the first byte in the message.
        offset: u64,
        /// Size of the early part if the bytes belong to it, or 0.
        early: u64,
        /// The bytes, at least one.
        payload: Payload,
    },
    /// What the message layers tell each other.
    Control(Control),
}
