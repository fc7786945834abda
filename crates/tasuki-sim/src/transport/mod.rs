//! The fault simulation of the transport: real message and packet layers, random programs, rails with all
//! kinds of faults, and an oracle that sees everything. `docs/internals/fault-simulation.md`.

mod carrier_reports;
mod congestion;
mod defect;
mod doubts;
mod engine;
mod event;
mod fast_path;
mod finish;
mod host;
mod inspect;
mod laziness;
mod mishap;
mod network;
mod profile;
mod program;
mod rails_faults;
mod receivers;
mod rest;
mod run;
mod sample;
mod scenario;
mod score3;
mod switched;
mod throughput;
mod upcalls;
mod verdicts;
mod world;

pub use congestion::{
    ALL_GRANTING, ALL_SHORT_LANES, Congestion, CongestionResult, Granting, HOST_NS, ShortLane, Traffic,
};
#[cfg(feature = "defects")]
pub use defect::Defect;
pub use defect::Plant;
pub use receivers::{
    ALL_PACINGS, PAYLOAD_OF_PACKET, Pacing, Receivers, SS5_SENDS, SS20_SENDS, SlowReceiver, VAIN_PERMILLE,
};
pub use run::{Failure, Options, Outcome, fails, run};
pub use score3::{Carried, Exchange, Score3};
pub use tasuki_testkit::{Coverage, Text};
pub use throughput::{Measured, PAYLOAD_SHARE, Stream};
pub use world::Carriage;
