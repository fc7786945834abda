//! The message layer against a naive model, hand-written cases, hostile peers, and its promises about cost.

mod at_once;
mod cases;
mod defects;
mod hostile;
mod node;
mod random;
mod scenario;
mod steps;
mod world;
