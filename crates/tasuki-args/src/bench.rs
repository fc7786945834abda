//! `tasuki bench ...`

use super::{
    bench_tune::BenchTune,
    drain::{BenchDrain, BenchRates},
    rate::rate,
    stripe::{BenchCross, BenchStripe},
    testbed::{HostSource, Results},
};
use crate::transport::Wanted;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use tasuki_bench::{
    CALLS,
    lab::mpi::Setting,
    nas::{Class, Kernel},
};
use tasuki_cluster::Rate;

/// Text below the options.
pub(crate) const BENCH_HELP: &str = "Labs need root, those that are up, too. `raw`, `mpi`, `nas` \
and `drain` measure machines of a --cluster file without it, and `rates` only computes.";

/// What to measure.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Every MPI installed, over its own TCP and over Tasuki, in interleaved repetitions
    Mpi(BenchMpi),
    /// NAS kernels, Himeno and Linpack: over TCP and over Tasuki, beside one host alone
    Nas(BenchNas),
    /// How long an MPI program takes to start, 2 to 64 ranks, over TCP and over Tasuki, and what takes the
    /// time
    Startup(BenchStartup),
    /// TCP, UDP and bare frames between two hosts, without any MPI: the ceilings
    Raw(BenchRaw),
    /// How fast a host takes bursts and what its buffer holds: the rates at which it can be sent to
    #[command(after_help = super::drain::drain_help())]
    Drain(BenchDrain),
    /// One TCP stream over several NICs: striping, bonding and Multipath TCP; bandwidth, processor time,
    /// order
    #[command(after_help = super::stripe::STRIPE_HELP)]
    Stripe(BenchStripe),
    /// Two hosts through a switch, by a cable, without interrupt delay, by two cables: the cross-connection
    /// paper
    #[command(after_help = super::stripe::CROSS_HELP)]
    Cross(BenchCross),
    /// The interrupt delay's controller against every fixed delay, at eight levels of load and at two in turn
    #[command(after_help = super::bench_tune::TUNE_HELP)]
    Tune(BenchTune),
    /// At which rate a message can be sent without loss, computed; and table 1 of the ATM paper
    #[command(after_help = super::drain::RATES_HELP)]
    Rates(BenchRates),
}

/// Which MPIs are measured, and over what.
#[derive(Debug, Args)]
pub struct MpiChoice {
    /// Only this MPI (openmpi-4.1, mpich-5.0, intel, or a prefix); several are measured in turn
    #[arg(long)]
    pub mpi: Vec<String>,
    /// What carries the messages; with several, each MPI runs over all of them in turn
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["tcp", "tasuki"])]
    pub transport: Vec<Wanted>,
}

/// Options of `tasuki bench raw`.
#[derive(Debug, Args)]
pub struct BenchRaw {
    /// Hosts to measure on, or a lab for the time of the measurement.
    #[command(flatten)]
    pub source: HostSource,
    /// Host that measures; otherwise the first
    #[arg(long, requires = "to")]
    pub from: Option<String>,
    /// Host that answers; otherwise the first that shares a cable or switch with it
    #[arg(long, requires = "from")]
    pub to: Option<String>,
    /// Time for each throughput, in seconds
    #[arg(long, default_value_t = 1.0)]
    pub seconds: f64,
    /// Leave the ping-pongs away
    #[arg(long)]
    pub no_latency: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `tasuki bench mpi`.
#[derive(Debug, Args)]
pub struct BenchMpi {
    /// Hosts to measure on, or a lab for the time of the measurement.
    #[command(flatten)]
    pub source: HostSource,
    /// Which MPIs are measured.
    #[command(flatten)]
    pub mpis: MpiChoice,
    /// Each MPI over Tasuki once more with this variable in its ranks, as TASUKI_RATE=window, compared with
    /// Tasuki as it is
    #[arg(long, value_name = "NAME=VALUE")]
    pub variant: Vec<Setting>,
    /// Each MPI over Tasuki once more with the provider of this folder (that of another build), compared with
    /// this one's
    #[arg(long, value_name = "FOLDER")]
    pub other_provider: Vec<PathBuf>,
    /// Tests with two ranks, with sizes in bytes
    #[arg(long, default_values = ["pingpong:8,64,1k,8k,64k,1M,4M", "stream:8,1k,8k,64k,1M,4M"])]
    pub pair: Vec<String>,
    /// Tests with a rank on every host
    #[arg(long, default_values = ["barrier", "allreduce:8,8k,1M", "alltoall:8,1k,64k", "heat:4k,16k"])]
    pub all: Vec<String>,
    /// Instead: pingpong, stream, away, allreduce, alltoall and halo at 0 bytes, every power of two and 3/2
    /// of each, up to 16 MiB; the worst ratio of each test comes first, and --output has the curves
    #[arg(long, conflicts_with_all = ["pair", "all"])]
    pub sweep: bool,
    /// All ranks on the first host, two for each test: inside a host `tcp` means the MPI's own shared memory,
    /// and --transport shm is libfabric's
    #[arg(long)]
    pub one_host: bool,
    /// Ranks over Tasuki run as an ordinary user, who gets the raw lane from a broker on every host; MPICH
    /// and Intel MPI, in labs
    #[arg(long)]
    pub as_user: bool,
    /// How often everything is repeated; six or more give ratios with 95 % confidence
    #[arg(long, default_value_t = 6)]
    pub repetitions: usize,
    /// Time for one test at one size in one repetition, in seconds
    #[arg(long, default_value_t = 0.3)]
    pub seconds: f64,
    /// Time so many calls of each test one by one instead of batches, and tell what one of a thousand exceeds
    /// (p99.9)
    #[arg(
        long,
        value_parser = clap::value_parser!(u32).range(i64::from(*CALLS.start())..=i64::from(*CALLS.end()))
    )]
    pub calls: Option<u32>,
    /// Where results are written.
    #[command(flatten)]
    pub results: Results,
}

/// Options of `tasuki bench nas`.
#[derive(Debug, Args)]
pub struct BenchNas {
    /// Hosts to measure on, or a lab for the time of the measurement.
    #[command(flatten)]
    pub source: HostSource,
    /// Kernels: is, ep, cg, mg, ft, lu, himeno, linpack (of the installed hpcc)
    #[arg(long, value_delimiter = ',', default_values = ["is", "cg"])]
    pub kernel: Vec<Kernel>,
    /// Sizes: S, W, A or B; for Himeno XS, S, M or L
    #[arg(long, value_delimiter = ',', default_values = ["S"])]
    pub class: Vec<Class>,
    /// Numbers of ranks, powers of two up to 64; none: one on every host
    #[arg(short = 'n', long, value_delimiter = ',')]
    pub ranks: Vec<u32>,
    /// Which MPIs are measured.
    #[command(flatten)]
    pub mpis: MpiChoice,
    /// How often everything is repeated; six or more give ratios with 95 % confidence
    #[arg(long, default_value_t = 3)]
    pub repetitions: usize,
    /// Longest time for one run, in seconds
    #[arg(long, default_value_t = 300)]
    pub limit: u64,
    /// Where results are written.
    #[command(flatten)]
    pub results: Results,
}

/// Options of `tasuki bench startup`.
#[derive(Debug, Args)]
#[command(mut_arg("cluster", |argument| argument.hide(true)))]
pub struct BenchStartup {
    /// Hosts to measure on, or a lab for the time of the measurement.
    #[command(flatten)]
    pub source: HostSource,
    /// Numbers of ranks, one on every host as far as there are hosts
    #[arg(short = 'n', long, value_delimiter = ',', default_values = ["2", "4", "8", "16", "32", "64"])]
    pub ranks: Vec<u32>,
    /// Which MPIs are measured.
    #[command(flatten)]
    pub mpis: MpiChoice,
    /// How often everything is repeated; six or more give ratios with 95 % confidence
    #[arg(long, default_value_t = 3)]
    pub repetitions: usize,
    /// Longest time for one start, in seconds
    #[arg(long, default_value_t = 120)]
    pub limit: u64,
    /// Where results are written.
    #[command(flatten)]
    pub results: Results,
}

/// Options of `tasuki demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// The MPI to show
    #[arg(long)]
    pub mpi: Option<String>,
    /// Rate of the cables
    #[arg(long, default_value = "100M", value_parser = rate)]
    pub rate: Rate,
    /// How often everything is repeated; ratios need three
    #[arg(long, default_value_t = 3)]
    pub repetitions: usize,
    /// Print JSON: the records of `bench mpi` and of `bench nas`
    #[arg(long)]
    pub json: bool,
}
