//! Measurements: that they measure what they say, and say what they measured.

#[path = "../support/mod.rs"]
mod support;

mod bandwidth;
mod bench_cross;
mod bench_machines;
mod bench_nas;
mod bench_startup;
mod bench_stripe;
mod bench_tune;
mod transport;
