//! How fast a receiver can be sent to: the model of Ooi, Osawa, Yuba ("Improvement of MPI data transfer
//! throughput on an ATM workstation cluster"), the rates that follow from it, and receivers to try it on.
//!
//! A receiver is two numbers: its buffer B and the rate R at which it empties it.
//! [`Receiver::overflow_bytes`] is the paper's equation (1), [`Receiver::send_rate`] its equation (2),
//! [`Static`] its way to send. [`Tank`] is such a receiver, packet by packet; [`Slow`] says how a receiver is
//! slow: steadily, by quota, or now more and now less. [`Distribution`] is R as measured.
//!
//! Nothing here reads a clock or performs IO.
#![forbid(unsafe_code)]

mod burst;
mod distribution;
mod model;
pub mod paper;
mod slow;
mod tank;

pub use burst::{Pace, Path, Sent};
pub use distribution::{Bin, Distribution};
pub use model::{Paced, ParseReceiverError, Receiver, Static};
pub use slow::{ParseSlowError, Slow};
pub use tank::Tank;
