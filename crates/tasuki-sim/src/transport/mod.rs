//! The fault simulation of the transport: real message and packet layers, random programs, rails on which everything
//! goes wrong, and an oracle that sees all of it. `docs/fault-simulation.md`.

mod actions;
mod audit;
mod calls;
mod carriers;
mod congestion;
mod content;
mod core;
mod coverage;
mod defect;
mod doubts;
mod engine;
mod fast_path;
mod finish;
mod frames;
mod host;
mod inspect;
mod joint;
mod network;
mod node;
mod profile;
mod program;
mod rails_faults;
mod receivers;
mod run;
mod sample;
mod scenario;
mod score3;
mod switched;
mod throughput;
mod trace;
mod world;

pub use congestion::{
    ALL_GRANTING, ALL_SHORT_LANES, Congestion, CongestionResult, Granting, HOST_NS, ShortLane, Traffic,
};
pub use coverage::Coverage;
#[cfg(feature = "defects")]
pub use defect::Defect;
pub use defect::Plant;
pub use receivers::{ALL_PACINGS, PAYLOAD_OF_PACKET, Pacing, Receivers, SlowReceiver};
pub use run::{Failure, Options, Outcome, fails, run};
pub use score3::{Carried, Exchange, Score3};
pub use throughput::{Measured, PAYLOAD_SHARE, Stream};
pub use trace::Text;
pub use world::Carriage;
