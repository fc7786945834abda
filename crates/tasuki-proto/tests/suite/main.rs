//! Two endpoints over simulated rails.

mod app;
mod basics;
mod net;
mod rng;
mod throughput;
