//! The suite of the message layer: random programs against a naive model, hand-written cases, hostile peers,
//! and promises about cost.

mod cases;
mod defects;
mod fast_path;
mod hostile;
mod random;
mod scenario;
mod steps;
mod world;
