//! The messages between a checker and its agents: one line of JSON in each direction. NICs are given by their
//! index in the cluster file.

use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use tasuki_watch::Note;

/// An order to an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Order {
    /// The first order: tells the agent which host of which cluster it is on. Answer: [`Facts`].
    Begin {
        /// Text of the cluster file.
        cluster: String,
        /// The host's name in it.
        host: String,
        /// Whether to answer pings and count probes on NICs, which needs rights.
        listen: bool,
    },
    /// Send hellos on every NIC. Answer: [`Answer::Done`].
    Greet {
        /// Number that marks the hellos.
        run: u64,
        /// For how long to send them, ms.
        ms: u64,
    },
    /// Send fillers on NICs, all at once. Answer: one [`Sent`] per NIC.
    Fill {
        /// The NICs.
        nics: Vec<usize>,
        /// Number that marks the fillers.
        run: u64,
        /// Number of frames.
        frames: u32,
        /// Bytes behind the Ethernet header.
        bytes: usize,
        /// Pace, bit/s, including what Ethernet adds to a frame.
        bits_per_second: u64,
    },
    /// Send pings on every NIC. Answer: [`Pinged`].
    Ping {
        /// Number that marks the pings.
        run: u64,
        /// Number of pings.
        count: u32,
    },
    /// Report what has arrived in a run. Answer: [`Tally`].
    Tally {
        /// The run.
        run: u64,
    },
    /// Measure round-trip times over UDP. Answer: microseconds; lost echoes are left out.
    Latency {
        /// The other host's address.
        to: Ipv4Addr,
        /// Its port.
        port: u16,
        /// Number of echoes.
        count: u32,
    },
    /// Send a TCP stream to another host. Answer: bit/s, 0 if there is no connection.
    Throughput {
        /// The other host's address.
        to: Ipv4Addr,
        /// Its port.
        port: u16,
        /// Number of bytes.
        bytes: u64,
        /// Longest time, ms.
        ms: u64,
    },
    /// Exchange random messages with a group of hosts. Answer: [`RandomReport`].
    Random {
        /// Seed of the whole test.
        seed: u64,
        /// For how long, ms.
        ms: u64,
        /// The other hosts: name, address, port.
        peers: Vec<(String, Ipv4Addr, u16)>,
        /// Memory to be written and read meanwhile, megabytes.
        memory_mb: usize,
        /// Number of threads that do so, each in a part of the memory; 0: one for every core.
        workers: usize,
        /// Most bytes per second to send; 0: no limit.
        bytes_per_second: u64,
    },
    /// Report the state of the host. Answer: [`Facts`].
    Look,
}

/// The answer of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// It was done.
    Done,
    /// It was not done; the text says why.
    Failed(String),
    /// The state of the host.
    Facts(Box<Facts>),
    /// What was sent, by NIC.
    Sent(Vec<Sent>),
    /// Round-trip times, by NIC and answering NIC.
    Pinged(Vec<Pinged>),
    /// What arrived, by NIC.
    Tally(Vec<Tally>),
    /// Times in microseconds, ascending.
    Times(Vec<f64>),
    /// A rate in bit/s.
    Rate(f64),
    /// The report on random messages.
    Random(Box<RandomReport>),
}

/// The state of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Its cabled NICs.
    pub nics: Vec<NicFacts>,
    /// IPv4 addresses of all interfaces.
    pub addresses: Vec<AddressFacts>,
    /// Routes to single addresses.
    pub routes: Vec<RouteFacts>,
    /// Kernel settings that the plan contains: path, value.
    pub settings: Vec<(String, String)>,
    /// Processes that have used the processor since the last look, or waited for it without rest: cores,
    /// name.
    pub busy: Vec<(f64, String)>,
    /// Port of the UDP echo.
    pub udp_port: u16,
    /// Port of the TCP sink.
    pub tcp_port: u16,
    /// Port for random messages.
    pub random_port: u16,
    /// What the running `tasuki watch` says of itself.
    pub watch: Option<Note>,
    /// TCP segments that arrived with a wrong checksum, since the machine's start.
    pub tcp_damaged: u64,
    /// TCP segments that were retransmitted, since the machine's start.
    pub tcp_again: u64,
    /// PCIe devices with their NICs: device, Mbit/s of the bus as it runs, NICs.
    pub buses: Vec<(String, u64, Vec<String>)>,
    /// NICs on which the agent cannot listen, and why.
    pub problems: Vec<(usize, String)>,
}

/// The state of a NIC.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NicFacts {
    /// Index in the cluster file.
    pub index: usize,
    /// Whether there is such an interface.
    pub exists: bool,
    /// Whether it is administratively up.
    pub up: bool,
    /// Whether there is a signal from the other end.
    pub carrier: bool,
    /// MTU in bytes.
    pub mtu: u32,
    /// Rate that the two ends agreed on, Mbit/s; `None`: unknown.
    pub speed_mbits: Option<u64>,
    /// `full` or `half`.
    pub duplex: Option<String>,
    /// Longest time for which received frames are held back, microseconds; `None`: unknown.
    pub delay_us: Option<u64>,
    /// Error counters of sysfs that are not 0.
    pub errors: Vec<(String, u64)>,
}

/// An address of an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressFacts {
    /// The interface's name.
    pub interface: String,
    /// The address.
    pub address: Ipv4Addr,
    /// Bits of its network.
    pub prefix: u8,
}

/// A route to one address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteFacts {
    /// The destination.
    pub destination: Ipv4Addr,
    /// Next hops: interface, gateway.
    pub hops: Vec<(String, Option<Ipv4Addr>)>,
}

/// What was sent of fillers on a NIC.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    /// The NIC.
    pub nic: usize,
    /// Frames that the NIC has taken.
    pub frames: u32,
    /// Time from the first to the last, seconds.
    pub seconds: f64,
    /// Part of that time in which the sender waited because its NIC's queue was full, seconds.
    pub held: f64,
    /// Why the NIC took no more; `None`: it took all.
    pub problem: Option<String>,
}

/// Round-trip times between two NICs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pinged {
    /// The NIC that sent the pings.
    pub nic: usize,
    /// The host and NIC that answered, by their numbers from 1.
    pub peer: (u16, u16),
    /// Round-trip times, microseconds, ascending.
    pub times: Vec<f64>,
}

/// What has arrived on a NIC in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// The NIC.
    pub nic: usize,
    /// What has arrived, by sender.
    pub heard: Vec<Heard>,
    /// Probes with a wrong checksum since the last tally.
    pub damaged: u64,
    /// Frames that this host was too slow to take since the last tally.
    pub missed: u64,
}

/// What has arrived from one NIC.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Heard {
    /// Numbers of the sender's host and NIC, from 1.
    pub sender: (u16, u16),
    /// The sender's name, as `n1:eth1`.
    pub name: String,
    /// Whether the sender has the same cluster file.
    pub is_ours: bool,
    /// Counts of its frames.
    pub arrivals: Arrivals,
}

/// Counts of frames that have arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Arrivals {
    /// Different frames.
    pub frames: u64,
    /// Frames that had arrived before.
    pub again: u64,
    /// Time from the first to the last by the kernel's clock, seconds.
    pub seconds: f64,
}

/// The result of random messages at one host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RandomReport {
    /// Messages sent and bytes in them.
    pub sent: (u64, u64),
    /// Messages received and bytes in them.
    pub received: (u64, u64),
    /// Messages whose content was wrong: sender, number.
    pub wrong: Vec<(String, u64)>,
    /// Peers that could not be reached, or to which the connection broke, and why.
    pub broken: Vec<(String, String)>,
    /// Words of memory that were not as written, including wrong results of calculations.
    pub memory_errors: u64,
    /// Rounds through the memory.
    pub memory_rounds: u64,
}
