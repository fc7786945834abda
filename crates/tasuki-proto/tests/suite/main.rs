//! Two endpoints over simulated rails.

mod app;
mod attacker;
mod away;
mod basics;
mod bounds;
mod carrier;
mod closing;
mod defects;
mod doubts;
mod given_up;
mod given_up_rails;
mod handshake;
mod hostile;
mod lanes;
mod net;
mod rails;
mod random;
mod throughput;
