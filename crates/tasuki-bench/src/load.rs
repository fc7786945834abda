//! Two hosts under load, to find what the interrupt delay of the first one does: a program computes, asks its
//! partner and waits for the answer, while a stream of packets arrives. This is the model of `tasuki-tune`
//! with real parts.
//!
//! The program under test and its partner are processes, one in each host, each on a processor of its own.
//! [`peer`] runs either of them: it takes a JSON text and returns a JSON text. The program counts turns of
//! known work, not time.

mod nic;
mod partner;
mod program;
mod setup;

pub use partner::set_delay;
pub use setup::{Polled, Steps};

use serde::{Deserialize, Serialize};
use std::{io, net::SocketAddrV4};
use thiserror::Error;

/// The load of the host under test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Mean work between two exchanges, nanoseconds of an undisturbed processor (exponentially distributed).
    pub compute_ns: f64,
    /// Whether the program then asks its partner and waits for the answer; otherwise it goes on computing.
    pub waits: bool,
    /// Rate of the stream of packets that the partner sends besides, packets per second (a Poisson process).
    pub stream_rate: f64,
}

/// The timer that keeps the interrupts of the host under test apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Timer {
    /// The timer of its kernel, which takes processor time of the host.
    #[default]
    Kernel,
    /// The timer of an emulated NIC, which takes no processor time of the host: its partner's processor holds
    /// back the packets that are on their way to it.
    Nic,
}

/// A load that is kept up for some time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// The load.
    pub load: Load,
    /// Interrupt delay that is set at the beginning, microseconds, 0 for none; `None`: another process sets
    /// it.
    pub delay_us: Option<u32>,
    /// Time at the beginning that does not count, seconds.
    pub warm_s: f64,
    /// Time that counts, seconds.
    pub seconds: f64,
}

/// The program under test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// Address of the partner.
    pub partner: SocketAddrV4,
    /// The NIC at which answers and the stream arrive.
    pub interface: String,
    /// Processor to stay on.
    pub cpu: usize,
    /// The timer by which delays are set.
    pub timer: Timer,
    /// Steps of work per microsecond, as [`Role::Calibrate`] found them.
    pub steps_per_us: f64,
    /// Seed of the lengths of the turns.
    pub seed: u64,
    /// The phases, in this order.
    pub phases: Vec<Phase>,
}

/// The partner, which answers and sends the stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Partner {
    /// Address at which it is asked.
    pub listen: SocketAddrV4,
    /// Processor to stay on; the partner never sleeps.
    pub cpu: usize,
    /// Seed of the gaps in the stream.
    pub seed: u64,
    /// Time after which it ends at the latest, seconds.
    pub limit_s: f64,
}

/// What one process inside of a host does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "kebab-case")]
pub enum Role {
    /// Makes the kernel poll this NIC by a thread; returns [`Polled`].
    SetUp {
        /// The NIC.
        interface: String,
    },
    /// Measures how fast this processor works; returns [`Steps`].
    Calibrate {
        /// Processor to stay on.
        cpu: usize,
    },
    /// The program under test; returns one [`Done`] per phase.
    Work(Work),
    /// The partner of the program; returns `null`.
    Partner(Partner),
}

/// The result of a phase, over the time that counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// Number of turns: the program computed, and was answered if it waits for answers.
    pub turns: u64,
    /// Number of packets that the NIC received.
    pub packets: u64,
    /// Number of questions asked again because no answer had come within 20 ms.
    pub asked_again: u64,
    /// Processor time of the program, its system calls included, seconds.
    pub program_s: f64,
    /// Begin and end of the time that counts, nanoseconds of CLOCK_MONOTONIC.
    pub window_ns: [u64; 2],
}

impl Done {
    /// Length of the time that counts, seconds.
    pub fn seconds(&self) -> f64 {
        self.window_ns[1].saturating_sub(self.window_ns[0]) as f64 * 1e-9
    }
}

/// Why a load is not possible.
#[derive(Debug, Error)]
pub enum LoadError {
    /// Not the JSON text of a [`Role`].
    #[error("load peer: {0}")]
    Specification(#[from] serde_json::Error),
    /// The kernel refused something.
    #[error("load peer: cannot {doing}: {source}")]
    Kernel {
        /// What was being done.
        doing: &'static str,
        /// The error.
        source: io::Error,
    },
    /// The partner does not answer.
    #[error("load peer: no answer to {tries} questions in a row")]
    Silent {
        /// Number of times it was asked.
        tries: u32,
    },
    /// The kernel does not say that it polls the NIC.
    #[error("load peer: {interface} is not polled, or the kernel does not tell (Linux 6.8 or newer does)")]
    NotPolled {
        /// The NIC.
        interface: String,
    },
}

fn while_doing(doing: &'static str) -> impl Fn(io::Error) -> LoadError {
    move |source| LoadError::Kernel { doing, source }
}

/// UDP port of the packets of the stream.
const STREAM_PORT: u16 = 7120;

/// Runs the process that a JSON text describes ([`Role`]) and returns its result as JSON.
pub fn peer(specification: &str) -> Result<String, LoadError> {
    Ok(match serde_json::from_str(specification)? {
        Role::SetUp { interface } => serde_json::to_string(&setup::set_up(&interface)?)?,
        Role::Calibrate { cpu } => serde_json::to_string(&setup::calibrate(cpu)?)?,
        Role::Work(work) => serde_json::to_string(&program::run(&work)?)?,
        Role::Partner(partner) => serde_json::to_string(&partner::run(&partner)?)?,
    })
}
