//! Thousands of seeds of the fault simulation, planted defects, and what the transport must carry at least.

mod defects;
mod perfect;
mod seeds;
mod throughput;
