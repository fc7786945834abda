//! The events of a run.

use tasuki_msg::Frame;

use super::mishap::Mishap;

/// An event of the simulation.
pub(crate) enum Event {
    /// The program of some node takes a step.
    Step,
    /// A packet arrives at a place.
    Arrive { to: usize, packet: Vec<u8> },
    /// A frame goes straight to its receiver, which is the sender itself, or is reached by a carrier without
    /// faults.
    Direct { from: usize, to: usize, frame: Frame, payload: Vec<u8> },
    /// A node polls: it looks at its socket and its deadlines.
    Poll(usize),
    /// A mishap of rails or processes happens.
    Mishap(Mishap),
    /// `node` is told that `dead` is gone.
    Tell { node: usize, dead: usize },
    /// `node` is told the address of `there`.
    Meet { node: usize, there: usize },
}
