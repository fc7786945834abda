//! Who may send how much, and when: the one place where pacing and incast control plug in.
//!
//! The ATM paper's rule `M = B + R*T` says: B bytes go out at once, the rest at the receiver's rate R. `unscheduled`
//! is the sender's B for one message (bounded by the credit that the receiver's pool gave it); `grant` is the
//! receiver's R. The layer has no clock: a controller that decides by time is told it with `Endpoint::handle_time`, and asked when next.

use crate::ids::PeerId;

/// A message that is about to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewMessage {
    /// To whom it goes.
    pub peer: PeerId,
    /// Its length, bytes; at least 1.
    pub len: u64,
    /// Payload bytes that the credit allows.
    pub credit: u64,
    /// The receiver may be able to pull the payload out of this side's memory.
    pub pull: bool,
    /// Messages to the same peer whose early part is on the way and which have not been granted more yet.
    pub unanswered: u32,
}

/// A matched message that waits for a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Its sender.
    pub peer: PeerId,
    /// Bytes that the receiver still wants of it and has not granted; at least 1.
    pub wanted: u64,
    /// Bytes granted to this sender that have not arrived.
    pub peer_in_flight: u64,
    /// Bytes granted to all senders that have not arrived.
    pub in_flight: u64,
    /// Senders with messages that wait for a grant, this one among them; at least 1.
    pub senders: u32,
}

/// Decides about payload, never about envelopes.
///
/// So that nothing hangs: as long as a message waits, `grant` must sooner or later return more than 0 for a peer
/// with `peer_in_flight == 0`, whatever the other peers do; a stopped process must not use up the others' share.
pub trait Controller {
    /// Bytes of a new message to send without being asked, if credit were no concern. The layer cuts the answer
    /// down to `len` and `credit`; a message that should go whole and for which credit is short goes on request.
    fn unscheduled(&mut self, offer: &NewMessage) -> u64;

    /// Bytes to grant now, 0 for not yet. The layer cuts the answer down to `wanted`.
    fn grant(&mut self, demand: &Demand) -> u64;

    /// Granted bytes have arrived: the drain rate can be measured here.
    fn arrived(&mut self, peer: PeerId, bytes: u64) {
        let _ = (peer, bytes);
    }

    /// Granted bytes will never arrive: their sender is gone.
    fn forgotten(&mut self, bytes: u64) {
        let _ = bytes;
    }

    /// When what was refused may be granted although nothing has arrived, ns of the clock of [`Controller::time_passed`].
    fn due(&self) -> Option<u64> {
        None
    }

    /// The time, ns of any clock that does not go back; true if that is so now.
    fn time_passed(&mut self, now_ns: u64) -> bool {
        let _ = now_ns;
        false
    }
}

/// The plain controller: whole messages up to a size, a first part of longer ones, and a fixed window of grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Messages up to this length go out whole if credit allows, bytes. Larger values save a round trip and
    /// cost a copy if the receive is late.
    pub eager_max: u64,
    /// Longer messages send this much at once, bytes (not if the receiver can pull).
    pub unscheduled: u64,
    /// Granted bytes under way from all senders together; about rate times round trip.
    pub window: u64,
    /// Size of one grant, bytes. A sender with nothing under way gets one whatever the window says.
    pub quantum: u64,
}

impl Window {
    /// Grants whatever is asked for at once, for senders that know themselves how fast they may send.
    pub const OPEN: Window =
        Window { eager_max: 16 << 10, unscheduled: 64 << 10, window: 1 << 62, quantum: 1 << 60 };
}

impl Default for Window {
    fn default() -> Window {
        Window { eager_max: 16 << 10, unscheduled: 64 << 10, window: 4 << 20, quantum: 256 << 10 }
    }
}

impl Controller for Window {
    fn unscheduled(&mut self, offer: &NewMessage) -> u64 {
        if offer.len <= self.eager_max {
            return offer.len;
        }
        if offer.pull { 0 } else { self.unscheduled }
    }

    fn grant(&mut self, demand: &Demand) -> u64 {
        let quantum = self.quantum.max(1);
        let room = self.window.saturating_sub(demand.in_flight);
        // Grants in slivers cost a frame each: wait until a whole quantum (or all that is wanted) fits.
        if demand.peer_in_flight == 0 || room >= quantum.min(demand.wanted) { quantum } else { 0 }
    }
}
