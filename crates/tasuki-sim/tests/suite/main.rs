//! Thousands of seeds of the fault simulation, planted defects, the rates that the transport must reach,
//! packets in fabrics, and a published evaluation run again.

mod congestion;
mod defects;
mod fabric;
mod perfect;
mod score3;
mod seeds;
mod throughput;
