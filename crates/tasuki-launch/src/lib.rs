//! Finds which MPI a program is linked with, and builds the command that drives that MPI's own launcher so
//! that the program's ranks run on the hosts of a cluster.
//!
//! - [`Detector`] answers "which MPI is it?" by asking the dynamic loader and the library itself, and lists
//!   what is installed.
//! - [`Job`] says what is to run where; [`Job::command`] turns it into a [`LaunchCommand`].
//! - [`environment`] gives the settings that a plain `mpirun` or `srun` needs.
//!
//! What each MPI is told, and why, is in `docs/reference/mpi-settings.md`.
//!
//! # Ends and signals
//!
//! A launcher passes SIGINT and SIGTERM on to its ranks (Open MPI, Hydra: SIGTERM, then SIGKILL to what is
//! left), so the caller forwards what it gets to the launcher alone and waits. Launchers may hang after an
//! abnormal end (see [`Mpi::pitfalls`]): after [`STOP_GRACE`] the caller kills the launcher; daemons and
//! ranks on other hosts end when their connection to it breaks.
//!
//! The launcher's exit code is the program's where ranks ended by themselves, and 0 only if all ranks ended
//! well. Of a rank that died by a signal Open MPI tells 128 + signal, Hydra on several hosts just 255.

mod detect;
mod elf;
mod env;
mod flavour;
mod front;
mod hydra;
mod imports;
mod installed;
mod job;
mod launcher;
mod libfabric;
mod libfabric_probe;
mod loader;
mod management;
mod misfit;
mod mpi;
mod nccl;
mod one_sided;
mod openmp;
mod openmpi4;
mod openmpi5;
mod origin;
mod placement;
mod probe;
mod program;
mod provider;
mod python;
mod query;
mod repairs;
mod setting;
mod torch;

pub use detect::{DetectError, Detected, Detector};
pub use env::environment;
pub use flavour::{Abi, Flavour, Version};
pub use job::{Job, JobError, JobHost, LaunchCommand};
pub use libfabric::LacksLibfabric;
pub use libfabric_probe::{Libfabric, libfabric_probe_main};
pub use loader::{Library, shared_libraries};
pub use management::Management;
pub use mpi::{Device, Mpi};
pub use nccl::NcclPlugin;
pub use openmp::{OpenMp, OpenMpError};
pub use origin::Origin;
pub use placement::{Placement, hosts_of_ranks};
pub use probe::probe_main;
pub use program::find as find_program;
pub use provider::{Provider, ProviderError};
pub use setting::{Binding, Facts, Scope, Setting, Transport};
pub use torch::torch_settings;

use std::{ffi::OsString, time::Duration};

/// Environment variables, in no order; a name occurs once.
pub type Environment = Vec<(OsString, OsString)>;

/// How long a launcher may take to end after a signal was forwarded to it, before it is killed. Open MPI
/// sends SIGTERM, waits `odls_base_sigkill_timeout` (1 s) and sends SIGKILL, which took 3 to 4 s on a busy
/// machine; Hydra ends its ranks at once.
pub const STOP_GRACE: Duration = Duration::from_secs(10);
