//! What a checker and its agents say to each other: one line of JSON each way. NICs go by their index in the cluster file.

use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use tasuki_watch::Note;

/// What an agent is to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Order {
    /// The first: which host of which cluster it is. Answer: [`Facts`].
    Begin {
        /// Text of the cluster file.
        cluster: String,
        /// The host's name in it.
        host: String,
        /// Answer pings and count probes on NICs; needs rights.
        listen: bool,
    },
    /// Send hellos on every NIC. Answer: [`Answer::Done`].
    Greet {
        /// Marks them.
        run: u64,
        /// For so long.
        ms: u64,
    },
    /// Send fillers on NICs, all at once. Answer: one [`Sent`] per NIC.
    Fill {
        /// The NICs.
        nics: Vec<usize>,
        /// Marks them.
        run: u64,
        /// How many.
        frames: u32,
        /// Bytes behind the Ethernet header.
        bytes: usize,
        /// Pace, with what Ethernet adds to a frame, bit/s.
        bits_per_second: u64,
    },
    /// Send pings on every NIC. Answer: [`Pinged`].
    Ping {
        /// Marks them.
        run: u64,
        /// How many.
        count: u32,
    },
    /// What came of a run. Answer: [`Tally`].
    Tally {
        /// The run.
        run: u64,
    },
    /// Round-trip times over UDP. Answer: microseconds, what was lost left out.
    Latency {
        /// The other host's address.
        to: Ipv4Addr,
        /// Its port.
        port: u16,
        /// How many.
        count: u32,
    },
    /// A TCP stream to another host. Answer: bit/s, 0 if there is no way.
    Throughput {
        /// The other host's address.
        to: Ipv4Addr,
        /// Its port.
        port: u16,
        /// So many bytes.
        bytes: u64,
        /// No longer than this.
        ms: u64,
    },
    /// Random messages to a group. Answer: [`RandomReport`].
    Random {
        /// Seed of the whole test.
        seed: u64,
        /// For so long.
        ms: u64,
        /// The others: name, address, port.
        peers: Vec<(String, Ipv4Addr, u16)>,
        /// Megabytes of memory to be written and read meanwhile.
        memory_mb: usize,
        /// Threads that do so, each in a part of it; 0: one for every core.
        workers: usize,
        /// Most bytes per second to send; 0: as many as pass.
        bytes_per_second: u64,
    },
    /// How it is now. Answer: [`Facts`].
    Look,
}

/// What an agent says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// Done.
    Done,
    /// Not done, and why.
    Failed(String),
    /// See [`Facts`].
    Facts(Box<Facts>),
    /// See [`Sent`].
    Sent(Vec<Sent>),
    /// See [`Pinged`].
    Pinged(Vec<Pinged>),
    /// See [`Tally`].
    Tally(Vec<Tally>),
    /// Microseconds, ascending.
    Times(Vec<f64>),
    /// bit/s.
    Rate(f64),
    /// See [`RandomReport`].
    Random(Box<RandomReport>),
}

/// How a host is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Its cabled NICs.
    pub nics: Vec<NicFacts>,
    /// IPv4 addresses of all interfaces.
    pub addresses: Vec<AddressFacts>,
    /// Routes to single addresses.
    pub routes: Vec<RouteFacts>,
    /// Kernel settings of the plan: path, value.
    pub settings: Vec<(String, String)>,
    /// Processes that used the processor since the last look, or waited for it without rest: cores, what.
    pub busy: Vec<(f64, String)>,
    /// Port of the UDP echo.
    pub udp_port: u16,
    /// Port of the TCP sink.
    pub tcp_port: u16,
    /// Port for random messages.
    pub random_port: u16,
    /// What the running `tasuki watch` says.
    pub watch: Option<Note>,
    /// TCP segments that came with a wrong checksum, and that were sent again, since the start.
    pub tcp_damaged: u64,
    /// TCP segments sent again.
    pub tcp_again: u64,
    /// PCIe devices with their NICs: device, Mbit/s of the bus as it runs, NICs.
    pub buses: Vec<(String, u64, Vec<String>)>,
    /// NICs that cannot be listened on, and why.
    pub problems: Vec<(usize, String)>,
}

/// How a NIC is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NicFacts {
    /// Index in the cluster file.
    pub index: usize,
    /// There is such an interface.
    pub exists: bool,
    /// Administratively up.
    pub up: bool,
    /// The other end answers.
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
    /// To where.
    pub destination: Ipv4Addr,
    /// Next hops: interface, gateway.
    pub hops: Vec<(String, Option<Ipv4Addr>)>,
}

/// What became of fillers, at the sender.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    /// The NIC.
    pub nic: usize,
    /// Frames that the NIC took.
    pub frames: u32,
    /// From the first to the last, seconds.
    pub seconds: f64,
    /// How much of that the sender waited because its NIC's queue was full, seconds.
    pub held: f64,
    /// Why it took no more.
    pub problem: Option<String>,
}

/// Round-trip times between two NICs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pinged {
    /// Own NIC.
    pub nic: usize,
    /// Host and NIC that answered, by their numbers from 1.
    pub peer: (u16, u16),
    /// Microseconds, ascending.
    pub times: Vec<f64>,
}

/// What came in on a NIC in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// The NIC.
    pub nic: usize,
    /// By sender.
    pub heard: Vec<Heard>,
    /// Probes with a wrong checksum since the last tally.
    pub damaged: u64,
    /// Frames that this host was too slow to take since the last tally.
    pub missed: u64,
}

/// What came from one NIC.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Heard {
    /// Number of the sender's host and NIC, from 1.
    pub sender: (u16, u16),
    /// Its name, as `n1:eth1`.
    pub name: String,
    /// It has the same cluster file.
    pub is_ours: bool,
    /// What came.
    pub arrivals: Arrivals,
}

/// Counts of what came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Arrivals {
    /// Different frames.
    pub frames: u64,
    /// Frames that had come already.
    pub again: u64,
    /// From the first to the last, seconds, by the kernel's clock.
    pub seconds: f64,
}

/// What came of random messages at one host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RandomReport {
    /// Messages sent and bytes in them.
    pub sent: (u64, u64),
    /// Messages received and bytes in them.
    pub received: (u64, u64),
    /// Messages whose content was wrong: from whom, how many.
    pub wrong: Vec<(String, u64)>,
    /// Peers that could not be reached, or with whom the connection broke, and why.
    pub broken: Vec<(String, String)>,
    /// Words of memory that were not as written, and calculations with another result.
    pub memory_errors: u64,
    /// Rounds through the memory.
    pub memory_rounds: u64,
}
