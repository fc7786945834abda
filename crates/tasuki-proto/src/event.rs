//! What the layer above must hear of, besides frames.

use tasuki_wire::{Path, RefuseReason};

use crate::ids::ConnId;

/// A packet to send: the first `len` bytes of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// To whom.
    pub conn: ConnId,
    /// On which rail and lane.
    pub path: Path,
    /// Size, bytes.
    pub len: usize,
}

/// Something has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The peer has answered: [`crate::Proto::remote_rail`] is known from now on.
    Connected(ConnId),
    /// The peer does not want the connection. It falls silent; `abort` it.
    Refused(ConnId, RefuseReason),
    /// The peer (same incarnation) has forgotten this connection and opens another: this one will never be answered
    /// again. `abort` it; the peer's next hello is then a new connection.
    Reset(ConnId),
    /// A rail may be used: it was probed.
    RailUp(ConnId, u8),
    /// A rail is not used any more; what was under way on it goes over others.
    RailDown(ConnId, u8, DownReason),
    /// The peer's list of rails has changed: addresses and ports may be others.
    RailsChanged(ConnId),
    /// A closed connection is over and its id invalid.
    Closed(ConnId),
}

/// Why a rail is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DownReason {
    /// Nothing was acknowledged on it while other rails of the pair were alive.
    Silent,
    /// The own NIC has lost its carrier (`set_carrier`), and another rail of the pair is alive.
    Carrier,
    /// This side said so (`set_rails`).
    Local,
    /// The peer said so (its list of rails).
    Remote,
}
