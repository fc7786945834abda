//! The controller, which decides how much may be sent and when: the one place where pacing and incast control
//! plug in.
//!
//! The ATM paper's rule is `M = B + R*T`: B bytes of a message are sent at once, the rest at the receiver's
//! rate R. `unscheduled` is the sender's B for one message, bounded by the credit that the receiver's pool
//! gave it; `grant` is the receiver's R. The layer has no clock: a controller that decides by time is told it
//! with `Endpoint::handle_time`, and says with `due` when it must be told next.

use tasuki_tuning::fixed_rate;

use crate::ids::PeerId;

/// A message that is about to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewMessage {
    /// The receiver.
    pub peer: PeerId,
    /// Length of the message, bytes; at least 1.
    pub len: u64,
    /// Payload bytes that the credit allows.
    pub credit: u64,
    /// The receiver may be able to pull the payload out of this side's memory.
    pub pull: bool,
    /// Messages to the same peer whose early part has been sent and which have not been granted more yet.
    pub unanswered: u32,
}

/// A matched message that waits for a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// The sender.
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
/// For freedom from deadlock: as long as a message waits, `grant` must sooner or later return more than 0 for
/// a peer with `peer_in_flight == 0`, whatever the other peers do. A stopped process must not use up the
/// others' share.
pub trait Controller {
    /// Bytes of a new message to send without a grant, if credit were unlimited. The layer cuts the answer
    /// down to `len` and `credit`; a message that should be sent whole and for which credit is short becomes
    /// a rendezvous request.
    fn unscheduled(&mut self, message: &NewMessage) -> u64;

    /// Bytes to grant now; 0 for none yet. The layer cuts the answer down to `wanted`.
    fn grant(&mut self, demand: &Demand) -> u64;

    /// Called when granted bytes have arrived: a controller can measure the drain rate here.
    fn arrived(&mut self, peer: PeerId, bytes: u64) {
        let _ = (peer, bytes);
    }

    /// Called when granted bytes will never arrive, because their sender is gone.
    fn forgotten(&mut self, bytes: u64) {
        let _ = bytes;
    }

    /// When a refused grant may be given although nothing has arrived, ns of the clock of
    /// [`Controller::time_passed`]; `None` if time alone changes nothing.
    fn due(&self) -> Option<u64> {
        None
    }

    /// Tells the time, ns of any clock that does not run backwards. Returns true if a grant that was refused
    /// may be given now.
    fn time_passed(&mut self, now_ns: u64) -> bool {
        let _ = now_ns;
        false
    }
}

/// What a controller has measured, for statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// R: granted bytes that arrive per second; 0 if unknown.
    pub rate: u64,
    /// The window: bytes that may be granted and not arrived.
    pub window: u64,
    /// Shortest time from a grant to the arrival of its last byte, ns; 0 if unknown.
    pub shortest_ns: u64,
    /// Number of grants.
    pub grants: u64,
    /// How often the window was made smaller because bytes took long.
    pub slowed: u64,
}

/// The plain controller: whole messages up to a size, a first part of longer ones, and a fixed window of
/// grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Messages up to this length are sent whole without a grant if credit allows, bytes. Larger values save
    /// a round trip, and cost a copy if the receive is late.
    pub eager_max: u64,
    /// Bytes of longer messages that are sent without a grant, unless the receiver can pull.
    pub unscheduled: u64,
    /// Granted bytes that may be in flight from all senders together; about rate times round trip.
    pub window: u64,
    /// Size of one grant, bytes. A sender with nothing in flight gets one even if the window is full.
    pub quantum: u64,
}

impl Window {
    const DEFAULT: Window = Window {
        eager_max: fixed_rate::EAGER_MAX,
        unscheduled: fixed_rate::UNSCHEDULED,
        window: fixed_rate::WINDOW,
        quantum: fixed_rate::QUANTUM,
    };
    /// Grants everything at once, for senders that know by themselves how fast they may send.
    pub const OPEN: Window = Window { window: 1 << 62, quantum: 1 << 60, ..Window::DEFAULT };
}

impl Default for Window {
    fn default() -> Window {
        Window::DEFAULT
    }
}

impl Controller for Window {
    fn unscheduled(&mut self, message: &NewMessage) -> u64 {
        if message.len <= self.eager_max {
            return message.len;
        }
        if message.pull { 0 } else { self.unscheduled }
    }

    fn grant(&mut self, demand: &Demand) -> u64 {
        let quantum = self.quantum.max(1);
        let room = self.window.saturating_sub(demand.in_flight);
        // Small grants would cost a frame each, so a grant waits until a whole quantum (or all that is
        // wanted) fits.
        if demand.peer_in_flight == 0 || room >= quantum.min(demand.wanted) { quantum } else { 0 }
    }
}
