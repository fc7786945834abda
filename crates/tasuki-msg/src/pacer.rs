//! The choice between the controllers, made when an endpoint is opened.

use crate::adaptive::Adaptive;
use crate::control::{Controller, Demand, Measured, NewMessage, Window};
use crate::ids::PeerId;

/// One of the two controllers of this crate, chosen when an endpoint is opened.
#[expect(clippy::large_enum_variant, reason = "an endpoint has one")]
#[derive(Clone, Debug)]
pub enum Pacer {
    /// Grants a fixed window.
    Fixed(Window),
    /// Grants at the measured rate.
    Adaptive(Adaptive),
}

impl Default for Pacer {
    fn default() -> Pacer {
        Pacer::Fixed(Window::default())
    }
}

impl From<Window> for Pacer {
    fn from(window: Window) -> Pacer {
        Pacer::Fixed(window)
    }
}

impl Pacer {
    /// Tells the time, ns of any clock that does not run backwards.
    #[inline]
    pub fn set_now(&mut self, now_ns: u64) {
        if let Pacer::Adaptive(adaptive) = self {
            adaptive.set_now(now_ns);
        }
    }

    /// What it has measured; `None` for a controller that does not measure.
    pub fn measured(&self) -> Option<Measured> {
        match self {
            Pacer::Fixed(_) => None,
            Pacer::Adaptive(adaptive) => Some(adaptive.measured()),
        }
    }
}

impl Controller for Pacer {
    #[inline]
    fn unscheduled(&mut self, message: &NewMessage) -> u64 {
        match self {
            Pacer::Fixed(window) => window.unscheduled(message),
            Pacer::Adaptive(adaptive) => adaptive.unscheduled(message),
        }
    }

    fn grant(&mut self, demand: &Demand) -> u64 {
        match self {
            Pacer::Fixed(window) => window.grant(demand),
            Pacer::Adaptive(adaptive) => adaptive.grant(demand),
        }
    }

    fn arrived(&mut self, peer: PeerId, bytes: u64) {
        if let Pacer::Adaptive(adaptive) = self {
            adaptive.arrived(peer, bytes);
        }
    }

    fn forgotten(&mut self, bytes: u64) {
        if let Pacer::Adaptive(adaptive) = self {
            adaptive.forgotten(bytes);
        }
    }

    #[inline]
    fn due(&self) -> Option<u64> {
        match self {
            Pacer::Fixed(_) => None,
            Pacer::Adaptive(adaptive) => adaptive.due(),
        }
    }

    #[inline]
    fn time_passed(&mut self, now_ns: u64) -> bool {
        match self {
            Pacer::Fixed(_) => false,
            Pacer::Adaptive(adaptive) => adaptive.time_passed(now_ns),
        }
    }
}
