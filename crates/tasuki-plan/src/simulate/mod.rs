//! Simulations of packets in a network: rate and latency under a load, barriers, the messages of a program.

mod barriers;
mod loads;
mod replay;
mod speed;

pub use barriers::BarrierTimes;
pub use loads::Point;
pub use replay::{Replayed, replay};
pub use speed::{Speed, speed};

use crate::PlanningError;
use serde::Serialize;
use tasuki_sim::fabric::{
    Settings,
    loads::{BarrierShape, Pattern},
};
use tasuki_topo::{Engine, Network, Tables};

/// Options of a simulation.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which hosts send to which.
    pub pattern: Pattern,
    /// The traffic.
    pub traffic: Traffic,
    /// Lengths of packets, headers included, bytes; each is simulated by itself.
    pub bytes: Vec<u32>,
    /// The engine that makes the routes.
    pub engine: Engine,
    /// Properties of switches and cables.
    pub settings: Settings,
    /// Time of a host for a packet or message that it sends, and for one that it receives, ps.
    pub host_ps: u64,
    /// Length of a run, as the number of packets that a host's cable could carry in it.
    pub packets: u64,
    /// Seed of everything random.
    pub seed: u64,
}

/// The traffic of a simulation.
#[derive(Clone, Debug)]
pub enum Traffic {
    /// Hosts offer packets at random times. The loads are in per cent of the rate of their cables; each is
    /// simulated by itself.
    Open(Vec<u16>),
    /// Each host keeps a window of packets that are not acknowledged yet.
    Closed {
        /// Largest number of packets of a host that are not acknowledged.
        window: u32,
        /// Length of an acknowledgement, bytes.
        ack_bytes: u32,
    },
    /// Barriers of all hosts.
    Barriers {
        /// The algorithm of the barrier.
        shape: BarrierShape,
        /// Number of random orders of the hosts over which barriers are made.
        lists: u32,
    },
}

impl Options {
    /// Number of steps that [`simulate`] reports.
    pub fn steps(&self) -> u64 {
        let loads = match &self.traffic {
            Traffic::Open(loads) => loads.len(),
            _ => 1,
        };
        (self.bytes.len() * loads) as u64
    }
}

/// The results of a simulation.
#[derive(Serialize)]
pub struct Simulation {
    /// Name of the network.
    pub network: String,
    /// Number of hosts.
    pub hosts: usize,
    /// Name of the engine that made the routes.
    pub engine: &'static str,
    /// Number of virtual channels in use.
    pub channels: u8,
    /// The seed.
    pub seed: u64,
    /// A point for each load and length of packets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<Point>,
    /// Barriers for each length of messages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub barriers: Vec<BarrierTimes>,
}

/// Runs a simulation. `step` is called after each step.
pub fn simulate(
    options: &Options,
    net: &Network,
    tables: &Tables,
    step: impl Fn(),
) -> Result<Simulation, PlanningError> {
    let (mut points, mut times) = (Vec::new(), Vec::new());
    for &bytes in &options.bytes {
        match &options.traffic {
            Traffic::Barriers { shape, lists } => {
                times.push(barriers::barriers(options, net, tables, (*shape, *lists), bytes)?);
                step();
            }
            Traffic::Closed { window, ack_bytes } => {
                points.push(loads::closed(options, net, tables, *window, (bytes, *ack_bytes))?);
                step();
            }
            Traffic::Open(loads) => {
                for &load in loads {
                    points.push(loads::open(options, net, tables, load, bytes)?.0);
                    step();
                }
            }
        }
    }
    Ok(Simulation {
        network: net.name().to_owned(),
        hosts: net.hosts().len(),
        engine: options.engine.name(),
        channels: tables.vcs(),
        seed: options.seed,
        points,
        barriers: times,
    })
}
