//! Ranks of a program that has no MPI, on the hosts of a fleet, started by this process:
//! `tasuki run --launcher none`.
//!
//! On each host that has ranks an **agent** ([`agent_main`]) runs, over ssh, in a lab's host or here. It
//! starts the host's shepherd (`tasuki-shepherd`), which starts and watches the ranks, and passes on what the
//! shepherd and its owner, [`run`], say to each other over the agent's standard input and output. When that
//! way breaks, or nothing is heard over it for long, each side takes the other for gone: the agent ends the
//! ranks of its host, the owner those of all others. So a job ends as a whole, and leaves nothing, whatever
//! fails.
#![forbid(unsafe_code)]

#[macro_use]
extern crate tasuki_terminal;

mod agent;
mod connection;
mod course;
mod error;
mod input;
mod interrupt;
mod order;
mod owner;
mod run;

pub use agent::agent_main;
pub use error::RanksError;
pub use order::AGENT_COMMAND;
pub use run::{Ended, Options, run, run_job, show};

use std::time::Duration;

/// How often each side of a job says something to the other.
const PING: Duration = Duration::from_secs(10);
/// How many questions in a row a host may leave without an answer before it is taken for gone.
const PINGS: u32 = 6;
/// How long a host waits for a word of the owner before it ends its ranks: one that was stopped with Ctrl-Z
/// says nothing meanwhile.
const OWNER_SILENCE: Duration = Duration::from_secs(600);
