//! Open MPI's launcher and its daemons as processes of a job that the runtime has started, without ssh.
//!
//! Ranks of an Open MPI are started by its own launcher (`mpirun`), which has a daemon of its own on every
//! other host (`orted`, in version 5 `prted`) and starts those by a command that is called like ssh. Here the
//! runtime starts one process on each host of the job, [`host_main`], as it starts ranks of other MPIs:
//!
//! ```text
//!  first host                                   other hosts
//!  host_main ── mpirun ── openmpi-agent n2 ...  host_main ── orted
//!      ▲                        │                   ▲
//!      └──── socket: command ───┘                   │
//!      └───────── PMI-1: put, fence, get ───────────┘
//! ```
//!
//! On the first host it starts `mpirun` with [`agent_main`] in the place of ssh. The agent does not reach
//! another host: it hands the daemon's command to its own host's `host_main`, which puts all of them into the
//! job's key space. Those on the other hosts wait for that, and become the daemons' parents. So whatever
//! `mpirun` starts belongs to the job, has its user's rights and ends with it, and no host logs in to another
//! one.
//!
//! How it works, and what happens when something dies: `docs/internals/resident-start.md`.

mod agent;
mod door;
mod error;
mod follow;
mod host;
mod layout;
mod lead;
mod pmi;
mod spread;
mod tags;

pub use agent::agent_main;
pub use host::host_main;
pub use layout::Layout;
pub use tags::{Tags, Writer};

/// The hidden subcommand that runs [`host_main`].
pub const HOST_COMMAND: &str = "openmpi-host";
/// The hidden subcommand that runs [`agent_main`].
pub const AGENT_COMMAND: &str = "openmpi-agent";
