//! The command line of `tasuki`: its commands and options, their help, and what is made of the values given.

// `print` and its like never write what a terminal would obey.
#[macro_use]
extern crate tasuki_terminal;

mod apply;
mod bench;
mod bench_tune;
mod broker;
mod check;
mod checked;
mod checkpoints;
mod cluster;
mod dashboard;
mod debug;
mod discover;
mod drain;
mod hang;
mod help;
mod info;
mod install;
mod internal;
mod jobs;
mod lab;
mod metrics;
mod omp;
mod overwrite;
mod paper;
mod plan;
mod prices;
mod rate;
mod receivers;
mod remote;
mod results;
mod run;
pub mod shape;
mod sharing;
mod simulate;
mod slurm;
mod source;
mod stacks;
mod stats;
mod stripe;
mod terms;
mod testbed;
mod time;
mod tips;
mod top;
mod topo;
mod topo_tables;
pub mod transport;
mod tune;
mod up;

pub use self::apply::{ApplyArgs, HostsArgs, OnOff, StateArgs, WatchArgs};
pub use self::bench::{BenchCommand, BenchMpi, BenchNas, BenchRaw, BenchStartup, DemoArgs};
pub use self::bench_tune::BenchTune;
pub use self::broker::BrokerArgs;
pub use self::check::CheckArgs;
pub use self::checked::CheckedFile;
pub use self::checkpoints::{Checkpoints, seconds};
pub use self::cluster::{ClusterCommand, ClusterNew};
pub use self::dashboard::DashboardArgs;
pub use self::debug::{DebugArgs, DebugCommands};
pub use self::discover::DiscoverArgs;
pub use self::drain::{BenchDrain, BenchRates, Packets};
pub use self::hang::HangArgs;
pub use self::info::InfoArgs;
pub use self::install::{InstallArgs, SshArgs};
pub use self::internal::InternalCommand;
pub use self::jobs::{AttachArgs, ChangeArgs, DaemonArgs, HostsListArgs, JobsArgs, RestartArgs, SubmitArgs};
pub use self::lab::{FaultArgs, LabCommand, LabUp};
pub use self::metrics::MetricsArgs;
pub use self::omp::OmpArgs;
pub use self::overwrite::Overwrite;
pub use self::paper::{PaperArgs, PaperCommand, PaperData};
pub use self::plan::{Best, PlanArgs};
pub use self::rate::rate;
pub use self::receivers::ReceiversArgs;
pub use self::remote::RemoteArgs;
pub use self::results::{give, write_all};
pub use self::run::{EnvArgs, Library, ProgramArgs, RunArgs};
pub use self::simulate::{Rhinet2Args, SimulateArgs};
pub use self::slurm::{SlurmCommand, SlurmConf, SlurmProlog};
pub use self::stacks::StacksArgs;
pub use self::stats::{DoctorArgs, StatsArgs};
pub use self::stripe::{BenchCross, BenchStripe};
pub use self::terms::JobName;
pub use self::testbed::{HostSource, Results};
pub use self::top::{TopArgs, TopTable};
pub use self::topo::{MeasureArgs, RouteArgs, TopoCommand};
pub use self::topo_tables::{CompareArgs, ShowArgs, VerifyArgs};
pub use self::tune::{By, TuneChange, TuneCommand, TuneJson, TuneRun, TuneSet, TuneShow, TuneSimulate};
pub use self::up::{DownArgs, UpArgs};

use clap::{
    CommandFactory, FromArgMatches, Parser, Subcommand,
    builder::styling::{AnsiColor, Styles},
    error::ErrorKind,
};
use std::process::ExitCode;
use tasuki_terminal::{TEXT_COLUMNS, put, width};

/// The version of this build, with the commit that it is of where git knew it.
pub const VERSION: &str = env!("BUILT_VERSION");
/// Width of help where there is no terminal: clap's own, which sets the options.
const HELP_COLUMNS: usize = 100;

/// Colours of help and errors, on terminals that have them; NO_COLOR turns them off, as clap sees to.
const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Turns a handful of PCs, their Ethernet ports and some cables into one fast parallel machine.
#[derive(Debug, Parser)]
#[command(
    name = "tasuki",
    version = VERSION,
    styles = STYLES,
    arg_required_else_help = true,
    max_term_width = 110
)]
pub struct Tasuki {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

impl Tasuki {
    /// The arguments of this process. Its help fits the terminal; wrong arguments end the process.
    pub fn of_process() -> Self {
        // Setting the texts of all commands for the terminal takes a quarter of a short command's time, so it
        // is done where help is asked for.
        let matches = Self::command().try_get_matches().unwrap_or_else(|error| match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                let columns = width().unwrap_or(HELP_COLUMNS).min(TEXT_COLUMNS);
                let command = help::fitted(Self::command(), columns);
                command.try_get_matches().unwrap_or_else(|error| end(&error))
            }
            _ => end(&tips::with_tips(error, std::env::args_os().skip(1))),
        });
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }
}

/// Prints help, the version or what is wrong with the arguments, and ends the process.
fn end(error: &clap::Error) -> ! {
    if error.use_stderr() {
        error.exit();
    }
    put(|_| error.print());
    let ended = tasuki_terminal::end(Ok(ExitCode::SUCCESS));
    std::process::exit(if ended == ExitCode::SUCCESS { error.exit_code() } else { 1 })
}

/// Commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Cluster files: generate, check, and show what follows from them
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// Set hosts up: addresses, routes, settings, names, as the cluster file has them; `undo` restores
    /// everything
    Apply(Box<ApplyArgs>),
    /// What `apply` would change; exit code 1 if there is something
    Diff(Box<ApplyArgs>),
    /// Restore hosts as they were before `apply`
    Undo(StateArgs),
    /// Whether hosts are set up, and still as they were set up
    Status(StateArgs),
    /// Lead pairs of hosts around dead cables, and back when they heal: what `apply` starts on every host
    Watch(WatchArgs),
    /// The receive-interrupt delay of NICs: show it, set it, or have it follow the load
    #[command(subcommand)]
    Tune(TuneCommand),
    /// Prove cables and hosts, and name the part at fault: cable, NIC, switch port, host setting, memory
    Check(CheckArgs),
    /// Find out how hosts are cabled, and write the cluster file
    Discover(Box<DiscoverArgs>),
    /// From cabled machines to a running cluster: install, discover, apply, check, and show what it gives
    Up(Box<UpArgs>),
    /// Restore the hosts of a cluster file as they were before `up`
    Down(Box<DownArgs>),
    /// Put Tasuki on hosts that ssh reaches, or take it away again
    Install(Box<InstallArgs>),
    /// A cluster on this one machine: hosts as namespaces, cables and switches of a given rate (root)
    #[command(subcommand, after_help = self::lab::LAB_HELP)]
    Lab(LabCommand),
    /// Four hosts on this machine, on cables and through a switch, with a stock MPI: what `make run` shows
    /// (root)
    Demo(DemoArgs),
    /// Run an unmodified MPI program on a cluster: its own launcher, its own libmpi
    Run(Box<RunArgs>),
    /// Run an unmodified OpenMP program of gcc or clang on several hosts, whose memory becomes one
    Omp(Box<OmpArgs>),
    /// Queue a job for the hosts' resident runtime, and print its number
    Submit(Box<SubmitArgs>),
    /// Which jobs wait, run and are held, and why they wait
    Jobs(JobsArgs),
    /// The output of a job, until it is over, and its exit code
    Attach(AttachArgs),
    /// End jobs
    Cancel(ChangeArgs),
    /// Keep jobs from starting, or freeze those that run
    Hold(ChangeArgs),
    /// Let held jobs go on
    Resume(ChangeArgs),
    /// Save the processes of jobs on their hosts' disks, by CRIU; the jobs go on
    #[command(after_help = self::jobs::CHECKPOINT_HELP)]
    Checkpoint(ChangeArgs),
    /// Have a job that is over go on from its last checkpoint (root)
    Restart(RestartArgs),
    /// Which hosts take part in the resident runtime, and what runs on them
    Hosts(HostsListArgs),
    /// The resident runtime of one host: what `apply --runtime` starts on every host
    Daemon(DaemonArgs),
    /// Print what plain mpirun or srun needs to use the cables
    Env(EnvArgs),
    /// Where Slurm runs the jobs: its configuration of the cluster, and what tasks need
    #[command(subcommand)]
    Slurm(SlurmCommand),
    /// Measure: raw limits and MPIs, side by side
    #[command(subcommand, after_help = self::bench::BENCH_HELP)]
    Bench(BenchCommand),
    /// Counters of running processes: per peer and rail, with rates
    Stats(StatsArgs),
    /// Whether jobs go on, whom they wait for, and whether they ever can
    Hang(HangArgs),
    /// Where ranks are in their program: MPI function, file and line
    Stacks(StacksArgs),
    /// A debugger on any rank, where it runs; or on all of them, at one prompt
    Debug(DebugArgs),
    /// What hosts, NICs and ranks count, as OpenMetrics text for Prometheus and others
    Metrics(MetricsArgs),
    /// What hosts, NICs, ranks and jobs do now, live on the terminal
    Top(TopArgs),
    /// The cabling with its load, timelines, ranks, jobs and problems, live in a browser
    Dashboard(DashboardArgs),
    /// Topologies: what a cabling gives, and routes with a proof that they work
    #[command(subcommand)]
    Topo(TopoCommand),
    /// What five papers state, beside what runs here: inputs, predictions, verdicts
    #[command(subcommand, after_help = self::paper::PAPER_HELP)]
    Paper(PaperCommand),
    /// How to cable so many hosts with so many ports, and what each way gives
    Plan(Box<PlanArgs>),
    /// Which MPI, provider, lane and rails would be used, why, and what improves it
    Doctor(DoctorArgs),
    /// Every constant of the data path and every environment variable: what it is, why, what it gains
    Info(InfoArgs),
    /// A service that opens raw lanes for programs without privileges
    Broker(Box<BrokerArgs>),
    /// What commands of Tasuki run, on hosts above all
    #[command(flatten)]
    Internal(InternalCommand),
}

#[cfg(test)]
mod tests;
