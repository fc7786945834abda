//! `tasuki bench stripe`, `tasuki bench cross`

use super::{
    rate::rate,
    testbed::{LabsOnly, Results},
};
use crate::transport::Wanted;
use clap::{Args, ValueEnum, builder::PossibleValuesParser};
use tasuki_bench::{
    lab::{
        cross::NETWORKS,
        stripe::{self, StripeOptions},
    },
    nas::{Class, Kernel},
    stripe::{Cabling, Spreading},
};
use tasuki_cluster::Rate;

/// Options that are not for programs: where one of them is there, clap does not ask for `--kernel`.
const NO_KERNEL: [&str; 2] = ["bytes", "seconds"];

/// Explains `tasuki bench stripe`.
pub const STRIPE_HELP: &str = "\
Two hosts with 1 to 8 NICs each, one TCP stream of messages of one length from the first to the second, \
everything in turn, repetition by repetition. For each point: payload per second, processor time of both \
sides, segments out of order and sent again; beside it what the paper has (Fukunaga et al.: NIC \
distribution, figures 2 to 4). docs/reference/bench.md explains the figures. It makes its own \
labs (root), and ends them.

Ways (--way):
  shortest-delay, round-robin, byte-weighted, flow-hash   Tasuki's policies; the paper's scheme is round-robin
  bond-fixed      bonding as the paper's section 2.2 describes it: all frames to one NIC's address (on one \
  switch only)
  bond-one-mac    bonding as the kernel's balance-rr has it: one address on all NICs of a host
  mptcp           the kernel's Multipath TCP, each NIC a path
Networks (--network): cables, switch (one for all NICs), switches (one for each NIC index, without links \
between them).
A slow processor (--cpu slow) is a quota on both sides' processes: so much that two NICs are just possible, \
found by trying, or --quota.

Examples:
  tasuki bench stripe --output results                                # all of it, about 20 minutes
  tasuki bench stripe --network switch --bytes 1024 --cpu fast        # figure 4
  tasuki bench stripe --network cables --way round-robin --cpu slow   # figure 2
  tasuki bench stripe --network cables --way shortest-delay --cpu fast --rate 1G --mtu 9000 --bytes 65536
  tasuki bench stripe --network cables --way shortest-delay,mptcp --cpu fast --nics 1,4 --streams 64";

/// Explains `tasuki bench cross`.
pub const CROSS_HELP: &str = "\
The cross-connection paper's (a) to (d) between two hosts (Fukunaga et al.: Tuning of a small-scale PC \
cluster, figures 4 and 5): (a) through a switch, (b) by a cable, (c) the same without interrupt delay, (d) \
by two cables bonded; and as a control two cables that together have the rate of one. Bandwidth at 1,024 \
bytes, half a round trip of 4 bytes, processor time of both sides, everything in turn.
With --kernel parallel programs run instead on labs of two, four or eight hosts, verified, beside one host \
alone (section 4.2, figures 6 and 7):
  (a) switch       one NIC per host
  (b) cables       every host cabled to every other; control: cables that together have the rate of (a)'s NIC
  (c) delay off    (b) without interrupt delay
  (d) bonded       (c) with two cables for each; (d') striped by Tasuki instead; control: two cables of half \
  the rate
Every network is compared with (a) and with the one that differs in one thing, beside what the paper says. \
All hosts share this machine's processors: compare networks, and choose a rate at which the cables are the \
limit and not the processors, such as 100M.

Examples:
  tasuki bench cross --rate 1G --repetitions 6 --output results
  tasuki bench cross --rate 100M --kernel is,ep,cg,mg,lu --class S,W   # four hosts
  tasuki bench cross --rate 100M --kernel is,cg --class A --hosts 2    # (d) as the paper
  tasuki bench cross --rate 100M --kernel cg --network a,b             # only what (b) gains
  tasuki bench cross --rate 100M --kernel hpcc --class S               # all of HPCC's figures in which \
  messages have a part
  tasuki bench cross --rate 100M --kernel is --transport tcp,tasuki    # Tasuki beside TCP";

/// Speed of the processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Speed {
    /// As they are
    Fast,
    /// Both sides' processes have a quota
    Slow,
}

impl From<Speed> for stripe::Speed {
    fn from(speed: Speed) -> Self {
        match speed {
            Speed::Fast => Self::Fast,
            Speed::Slow => Self::Slow,
        }
    }
}

/// Options of `tasuki bench stripe`.
#[derive(Debug, Args)]
pub struct BenchStripe {
    /// What is between the hosts
    #[arg(long, value_delimiter = ',', default_values = ["cables", "switch", "switches"])]
    pub network: Vec<Cabling>,
    /// How the stream is spread (see below); one NIC is always measured
    #[arg(
        long = "way",
        value_name = "WAY",
        value_delimiter = ',',
        default_values = ["round-robin", "shortest-delay", "bond-fixed", "bond-one-mac", "mptcp"]
    )]
    pub spreadings: Vec<Spreading>,
    /// Numbers of NICs
    #[arg(long, value_delimiter = ',', default_values = ["1", "2", "3", "4"])]
    pub nics: Vec<u32>,
    /// Lengths of messages, in bytes: one call of the sender each
    #[arg(long, value_delimiter = ',', default_values = ["1024", "65536"])]
    pub bytes: Vec<u32>,
    /// Speeds of the processors
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["fast", "slow"])]
    pub cpu: Vec<Speed>,
    /// The slow processor, in per cent of one of this machine; none: found by trying
    #[arg(long)]
    pub quota: Option<f64>,
    /// Connections at once
    #[arg(long, default_value_t = 1)]
    pub streams: u32,
    /// Rate of every NIC
    #[arg(long, default_value = "100M", value_parser = rate)]
    pub rate: Rate,
    /// MTU of the NICs, in bytes
    #[arg(long, default_value_t = 1500)]
    pub mtu: u32,
    /// Frames that Tasuki's policies give to one NIC at once; none: by rate (docs/internals/striping.md)
    #[arg(long)]
    pub granularity: Option<u32>,
    /// Leave segmentation and checksum offloads on
    #[arg(long)]
    pub offloads: bool,
    /// How often everything is repeated; six or more give ratios with 95 % confidence
    #[arg(long, default_value_t = 3)]
    pub repetitions: usize,
    /// Time that counts at each point, in seconds; half of it passes before
    #[arg(long, default_value_t = 1.5)]
    pub seconds: f64,
    /// The option that names real machines, which is refused.
    #[command(flatten)]
    pub machines: LabsOnly,
    /// Where results are written.
    #[command(flatten)]
    pub results: Results,
}

impl BenchStripe {
    /// What is measured.
    pub fn options(&self) -> StripeOptions {
        StripeOptions {
            networks: self.network.clone(),
            spreadings: self.spreadings.clone(),
            nics: self.nics.clone(),
            bytes: self.bytes.clone(),
            speeds: self.cpu.iter().copied().map(Into::into).collect(),
            quota_percent: self.quota,
            streams: self.streams,
            rate: self.rate,
            mtu: self.mtu,
            granularity: self.granularity,
            offloads: self.offloads,
            repetitions: self.repetitions,
            seconds: self.seconds,
        }
    }
}

/// Options of `tasuki bench cross`.
#[derive(Debug, Args)]
pub struct BenchCross {
    /// Rate of every NIC but the control's, which have half of it
    #[arg(long, default_value = "1G", value_parser = rate)]
    pub rate: Rate,
    /// Interrupt delay of (a) and (b), in microseconds; the default is that of 8,000 interrupts a second
    #[arg(long, default_value_t = 125)]
    pub delay: u32,
    /// MTU of the NICs, in bytes
    #[arg(long, default_value_t = 1500)]
    pub mtu: u32,
    /// Length of messages, in bytes
    #[arg(long, default_value_t = 1024)]
    pub bytes: u32,
    /// How often everything is repeated; six or more give ratios with 95 % confidence
    #[arg(long, default_value_t = 6)]
    pub repetitions: usize,
    /// Time for bandwidth at each point, in seconds; latency takes a fifth of it
    #[arg(long, default_value_t = 1.5)]
    pub seconds: f64,
    /// Parallel programs instead of bandwidth and latency: is, ep, cg, mg, ft, lu, himeno,
    /// linpack, hpcc
    #[arg(long, value_delimiter = ',', conflicts_with_all = ["bytes", "seconds"])]
    pub kernel: Vec<Kernel>,
    /// Only these networks for the programs; (a) and the step before are compared with where they are
    /// measured
    #[arg(long, value_delimiter = ',', requires = "kernel", conflicts_with_all = NO_KERNEL,
          value_parser = PossibleValuesParser::new(NETWORKS.map(|(short, _)| short)))]
    pub network: Vec<String>,
    /// Sizes of the programs: S, W, A or B; for Himeno XS, S, M or L
    #[arg(
        long,
        value_delimiter = ',',
        default_values = ["W"],
        requires = "kernel",
        conflicts_with_all = NO_KERNEL
    )]
    pub class: Vec<Class>,
    /// Hosts for the programs, a rank on each: 2, 4 or 8
    #[arg(long, default_value_t = 4, requires = "kernel", conflicts_with_all = NO_KERNEL)]
    pub hosts: u32,
    /// The MPIs of the programs (openmpi-4.1, mpich-5.0, intel, or a prefix)
    #[arg(long, default_values = ["openmpi-4.1"], requires = "kernel", conflicts_with_all = NO_KERNEL)]
    pub mpi: Vec<String>,
    /// What carries the programs' messages; with several, each MPI runs over all of them in turn
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_values = ["tcp"],
        requires = "kernel",
        conflicts_with_all = NO_KERNEL
    )]
    pub transport: Vec<Wanted>,
    /// Longest time for one run of a program, in seconds
    #[arg(long, default_value_t = 300, requires = "kernel", conflicts_with_all = NO_KERNEL)]
    pub limit: u64,
    /// The option that names real machines, which is refused.
    #[command(flatten)]
    pub machines: LabsOnly,
    /// Where results are written.
    #[command(flatten)]
    pub results: Results,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        cross: BenchCross,
    }

    /// The options that these words are, or what is said to them.
    fn parse(words: &str) -> Result<BenchCross, String> {
        let words = std::iter::once("cross").chain(words.split_whitespace());
        Line::try_parse_from(words).map(|line| line.cross).map_err(|error| error.to_string())
    }

    #[test]
    fn options_of_programs_want_programs() {
        let line = parse("--kernel is,lu --class S,W --hosts 2 --transport tcp,tasuki").expect("parses");
        assert_eq!((line.kernel.len(), line.class.len(), line.hosts), (2, 2, 2));
        assert_eq!((line.mpi, line.delay), (vec!["openmpi-4.1".to_owned()], 125));
        for (words, said) in [
            ("--class S", "--kernel"),
            ("--hosts 2", "--kernel"),
            ("--network a", "--kernel"),
            ("--kernel is --network e", "possible values: a, b, b-control"),
            ("--kernel is --bytes 64", "cannot be used with"),
            ("--kernel bt", "there is no NAS kernel 'bt'"),
        ] {
            assert!(parse(words).is_err_and(|error| error.contains(said)), "{words}");
        }
    }
}
