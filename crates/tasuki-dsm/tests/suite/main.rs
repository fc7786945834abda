//! The protocol of shared memory, in a simulated network that lets messages overtake each other.

mod defects;
mod hostile;
mod messages;
mod program;
mod rules;
mod seeds;
mod world;
