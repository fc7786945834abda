//! `tasuki bench drain`, `tasuki bench rates`

use super::{
    rate::rate,
    testbed::{HostSource, Results},
};
use clap::{Args, ValueEnum};
use tasuki_cluster::Rate;
use tasuki_rate::Slow;

/// Explains `tasuki bench drain`.
const DRAIN_HELP: &str = "\
Sends bursts to a host that empties its buffer as fast as it can (or as it is told to), and asks for \
nothing: no credits, no acknowledgements. What it takes per second is R, what its buffer holds is B. From \
both follows at which rate S a message of M bytes can be sent to it without loss: S = R/(1 - B/M). What is \
lost at a higher rate is M - B - R M/S. docs/internals/rate-model.md has more.

With frames (packet-ring) B is exact, whole frames in a ring; with UDP it is the socket's, and measured by \
filling it. If R is the line's rate, then the line was the limit, not the host: --unshaped takes it away.

Examples:
  tasuki bench drain --shape full:2 --unshaped                       # this host's R, B and rates
  tasuki bench drain --shape full:2 --rate 1G --protocol packet-ring --slow steady:52M --buffer 65536 \\
                     --send-rate 135M --bursts 20                    # what a slow receiver loses, beside \
                     equation (1)
  tasuki bench drain --lab ring --slow quota:50%/10ms --json";

/// Explains `tasuki bench rates`.
pub const RATES_HELP: &str = "\
Without --drain: table 1 of the paper (Ooi, Osawa, Yuba: Improvement of MPI data transfer throughput on an \
ATM workstation cluster), computed from its R and B, beside what is printed there.

Examples:
  tasuki bench rates
  tasuki bench rates --drain 900M --buffer 4194304 --link 1G --bytes 1000000,10000000,100000000";

/// What bursts are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Packets {
    /// UDP datagrams into a socket
    Udp,
    /// Ethernet frames into a ring
    PacketRing,
}

/// Options of `tasuki bench drain`.
#[derive(Debug, Args)]
pub struct BenchDrain {
    /// Hosts to measure on, or a lab for the time of the measurement.
    #[command(flatten)]
    pub source: HostSource,
    /// Host that sends; otherwise the first
    #[arg(long, requires = "to")]
    pub from: Option<String>,
    /// Host that receives; otherwise the first that shares a cable or switch with it
    #[arg(long, requires = "from")]
    pub to: Option<String>,
    /// Bursts
    #[arg(
        long,
        default_value_t = tasuki_rate::paper::BURSTS,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    pub bursts: u32,
    /// Payload of a burst, in bytes
    #[arg(long, default_value_t = tasuki_rate::paper::BURST_BYTES)]
    pub bytes: u64,
    /// What they are made of
    #[arg(long, value_enum, default_value = "udp")]
    pub protocol: Packets,
    /// How the receiver is slowed: steady:52M, quota:50%/10ms, varying:20M-80M/10ms
    #[arg(long, default_value = "none")]
    pub slow: Slow,
    /// Payload sent per second; none: as fast as the sender can
    #[arg(long, value_parser = rate)]
    pub send_rate: Option<Rate>,
    /// The receiver's buffer in bytes: payload in its ring, or SO_RCVBUF; Tasuki's own sockets have 4 MiB
    #[arg(long, default_value_t = 4 << 20)]
    pub buffer: u64,
    /// Where results are written.
    #[command(flatten)]
    pub results: Results,
}

/// Options of `tasuki bench rates`.
#[derive(Debug, Args)]
pub struct BenchRates {
    /// R: what the receiver takes per second
    #[arg(long, value_parser = rate, requires_all = ["buffer", "link"])]
    pub drain: Option<Rate>,
    /// B: what its buffer holds, in bytes
    #[arg(long, requires = "drain")]
    pub buffer: Option<u64>,
    /// What the link carries
    #[arg(long, value_parser = rate, requires = "drain")]
    pub link: Option<Rate>,
    /// Lengths of messages, in bytes
    #[arg(long, value_delimiter = ',', default_values_t = tasuki_rate::paper::TABLE1_BYTES)]
    pub bytes: Vec<u64>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The explanation of the command, and the list of shapes.
pub fn drain_help() -> String {
    format!("{DRAIN_HELP}\n\n{}", crate::shape::help())
}
