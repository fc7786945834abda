//! Commands that no user types: what other commands of Tasuki run, on hosts above all.

use clap::Subcommand;
use std::{ffi::OsString, path::PathBuf};

/// What commands of Tasuki run.
#[derive(Debug, Subcommand)]
pub enum InternalCommand {
    /// What runs on every host while a check is made
    #[command(hide = true)]
    CheckAgent,
    /// What runs on every host while is tried what gets through between them
    #[command(hide = true)]
    FirewallAgent,
    /// What runs on every host while cables are discovered
    #[command(hide = true)]
    DiscoverAgent,
    /// Sets NICs down again when its standard input ends
    #[command(hide = true)]
    DiscoverGuard {
        /// The NICs
        nics: Vec<String>,
    },
    /// Starts and watches the ranks of one job on this host
    #[command(hide = true)]
    Shepherd,
    /// What runs on every host of a job whose ranks `run --launcher none` starts
    #[command(name = tasuki_ranks::AGENT_COMMAND, hide = true)]
    RanksAgent,
    /// Manual pages and completions for packages
    #[command(hide = true)]
    Pages {
        /// Where to write them
        folder: PathBuf,
    },
    /// The statistics pages of one host, as JSON
    #[command(hide = true)]
    StatsPages,
    /// What one host does, as JSON for every line of input
    #[command(hide = true)]
    LoadAgent,
    /// Where one host's processes are in their programs, as JSON
    #[command(hide = true)]
    StacksAgent,
    /// Debuggers of one host's processes
    #[command(hide = true)]
    DebugAgent,
    /// A debugger on the terminal, for one process of this host
    #[command(hide = true)]
    DebugAlone {
        /// The process
        pid: u32,
    },
    /// What `doctor` must know of one host, as JSON
    #[command(hide = true)]
    DoctorFacts,
    /// What `run` must know of one host, as JSON
    #[command(hide = true)]
    JobFacts {
        /// Paths of which it is told whether they are missing
        paths: Vec<PathBuf>,
    },
    /// Gives the records of messages of one host, and removes them
    #[command(name = tasuki_job::PARTS_COMMAND, hide = true)]
    TraceParts {
        /// Where they are
        folder: PathBuf,
    },
    /// What runs on every host while files of a job are there
    #[command(hide = true)]
    CopyAgent,
    /// What runs on every host before and after a job whose core files are wanted
    #[command(hide = true)]
    CoresAgent,
    /// Loads libraries and says which libfabric is among them, and whether it takes the provider
    #[command(hide = true)]
    LibfabricProbe {
        /// The libraries, in the order in which they are loaded
        libraries: Vec<PathBuf>,
    },
    /// What `tasukid` starts on every host of a job whose ranks an Open MPI starts
    #[command(name = tasuki_openmpi::HOST_COMMAND, hide = true)]
    OpenMpiHost {
        /// The launcher's command
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        argv: Vec<OsString>,
    },
    /// What an Open MPI of such a job calls in the place of ssh
    #[command(name = tasuki_openmpi::AGENT_COMMAND, hide = true)]
    OpenMpiAgent {
        /// The host, and what is to run there
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        argv: Vec<OsString>,
    },
    /// Tells the user of the job whose record is on standard input of its end
    #[command(hide = true)]
    NotifyUser {
        /// The job's user
        user: String,
    },
    /// Says which MPI a library is
    #[command(hide = true)]
    MpiProbe {
        /// The library
        library: PathBuf,
    },
    /// A peer of `bench raw` inside a host
    #[command(hide = true)]
    RawPeer {
        /// What to do, as JSON
        specification: String,
    },
    /// A process of `bench tune` inside a host
    #[command(hide = true)]
    LoadPeer {
        /// What to do, as JSON
        specification: String,
    },
    /// What follows the load for an emulated NIC of `bench tune`
    #[command(hide = true)]
    LoadFollow {
        /// What to do, as JSON
        specification: String,
    },
    /// Makes NICs of a host as `bench stripe` wants them
    #[command(hide = true)]
    BundleHere {
        /// How, as JSON
        specification: String,
    },
}
