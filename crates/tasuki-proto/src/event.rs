//! What the packet layer tells the layer above, besides frames.

use tasuki_wire::{Path, RefuseReason};

use crate::ids::ConnId;

/// A packet to send: the first `len` bytes of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The connection that it belongs to.
    pub conn: ConnId,
    /// The rail and lane on which it must go.
    pub path: Path,
    /// Size, bytes.
    pub len: usize,
}

/// A change of which the layer above must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The peer has answered the hello; [`crate::Proto::remote_rail`] is known from now on.
    Connected(ConnId),
    /// The peer has refused the connection, or given it up, and will not answer on it. To be followed by
    /// `abort` or `give_up`.
    Refused(ConnId, RefuseReason),
    /// The peer (still the same incarnation) has forgotten this connection and opens another one: it will
    /// never again answer on this one. To be followed by `abort`; the peer's next hello is then a new
    /// connection.
    Reset(ConnId),
    /// A rail has answered a probe and is in use from now on.
    RailUp(ConnId, u8),
    /// A rail is not used any more; what was in flight on it goes over others.
    RailDown(ConnId, u8, DownReason),
    /// The peer's list of rails has changed: addresses and ports may be different now.
    RailsChanged(ConnId),
    /// A closed connection has ended, and its id is invalid from now on.
    Closed(ConnId),
}

/// Why a rail is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DownReason {
    /// Nothing was acknowledged on it while other rails to the same peer answered.
    Silent,
    /// This side's NIC has lost its carrier (`set_carrier`), and another rail to the same peer answers.
    Carrier,
    /// This side took it out of its list (`set_rails`).
    Local,
    /// The peer took it out of its list.
    Remote,
}
