//! Two hosts under load, for the interrupt delay of the first: a program that computes, asks and waits for answers, while a stream of packets
//! arrives. It is what `tasuki-tune` has as a model, with real parts.
//!
//! The program under test and its partner are processes, one in each host, each on a processor of its own: [`peer`] is either of them, a JSON text in,
//! a JSON text out. The program counts turns of known work, not time.

mod nic;
mod partner;
mod program;
mod setup;

pub use partner::set_delay;
pub use setup::{Polled, Steps};

use serde::{Deserialize, Serialize};
use std::{io, net::SocketAddrV4};
use thiserror::Error;

/// What a host does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Work between two exchanges: nanoseconds of an undisturbed processor, on average (exponentially distributed).
    pub compute_ns: f64,
    /// Whether it then asks its partner and waits for the answer; else it goes on computing.
    pub waits: bool,
    /// Packets per second that the partner sends besides, at random (Poisson).
    pub stream_rate: f64,
}

/// Whose timer keeps the interrupts of the host under test apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Timer {
    /// Its kernel's, which costs it processor time.
    #[default]
    Kernel,
    /// That of an emulated NIC, which costs it nothing: its partner's processor holds back what is on its way to it.
    Nic,
}

/// A load for some time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// The load.
    pub load: Load,
    /// Interrupt delay that is set before, microseconds, 0 for none; `None`: somebody else sets it.
    pub delay_us: Option<u32>,
    /// Time that does not count, seconds.
    pub warm_s: f64,
    /// Time that counts, seconds.
    pub seconds: f64,
}

/// The program under test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// Where its partner is.
    pub partner: SocketAddrV4,
    /// The NIC by which answers and stream arrive.
    pub interface: String,
    /// Processor to stay on.
    pub cpu: usize,
    /// What delays are set by.
    pub timer: Timer,
    /// Steps of work per microsecond, as [`Role::Calibrate`] found them.
    pub steps_per_us: f64,
    /// For the lengths of its turns.
    pub seed: u64,
    /// What to do, in this order.
    pub phases: Vec<Phase>,
}

/// What answers and sends the stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Partner {
    /// Where it is asked.
    pub listen: SocketAddrV4,
    /// Processor to stay on. It never sleeps.
    pub cpu: usize,
    /// For the gaps in its stream.
    pub seed: u64,
    /// Ends after so long at the latest, seconds.
    pub limit_s: f64,
}

/// One process inside of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "kebab-case")]
pub enum Role {
    /// Has the kernel poll this NIC by a thread; answers [`Polled`].
    SetUp {
        /// The NIC.
        interface: String,
    },
    /// Finds how fast this processor works; answers [`Steps`].
    Calibrate {
        /// Processor to stay on.
        cpu: usize,
    },
    /// The program under test; answers one [`Done`] per phase.
    Work(Work),
    /// Its partner; answers `null`.
    Partner(Partner),
}

/// What came of a phase, while it counted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// Turns: computed, and answered.
    pub turns: u64,
    /// Packets that the NIC received.
    pub packets: u64,
    /// Questions that were asked again, because no answer had come for 20 ms.
    pub asked_again: u64,
    /// Processor time of the program, its system calls included, seconds.
    pub program_s: f64,
    /// Begin and end, nanoseconds of CLOCK_MONOTONIC.
    pub window_ns: [u64; 2],
}

impl Done {
    /// Length, seconds.
    pub fn seconds(&self) -> f64 {
        self.window_ns[1].saturating_sub(self.window_ns[0]) as f64 * 1e-9
    }
}

/// Why it is not possible.
#[derive(Debug, Error)]
pub enum LoadError {
    /// Not the JSON text of a [`Role`].
    #[error("load peer: {0}")]
    Specification(#[from] serde_json::Error),
    /// The kernel refused.
    #[error("load peer: cannot {doing}: {source}")]
    Kernel {
        /// What.
        doing: &'static str,
        /// The error.
        source: io::Error,
    },
    /// The partner is not there.
    #[error("load peer: no answer to {tries} questions in a row")]
    Silent {
        /// How often it was asked.
        tries: u32,
    },
    /// The NIC is not polled, as far as the kernel tells.
    #[error("load peer: {interface} is not polled, or the kernel does not tell (Linux 6.8 or newer does)")]
    NotPolled {
        /// The NIC.
        interface: String,
    },
}

fn while_doing(doing: &'static str) -> impl Fn(io::Error) -> LoadError {
    move |source| LoadError::Kernel { doing, source }
}

/// Port of the packets of the stream.
const STREAM_PORT: u16 = 7120;

/// Runs what a JSON text describes ([`Role`]) and returns its answer as JSON.
pub fn peer(specification: &str) -> Result<String, LoadError> {
    Ok(match serde_json::from_str(specification)? {
        Role::SetUp { interface } => serde_json::to_string(&setup::set_up(&interface)?)?,
        Role::Calibrate { cpu } => serde_json::to_string(&setup::calibrate(cpu)?)?,
        Role::Work(work) => serde_json::to_string(&program::run(&work)?)?,
        Role::Partner(partner) => serde_json::to_string(&partner::run(&partner)?)?,
    })
}
