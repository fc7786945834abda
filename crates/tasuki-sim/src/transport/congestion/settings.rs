//! What a run of [`Congestion`] simulates, and its result.

use tasuki_msg::{Adaptive, AdaptiveConfig, Pacer, Window};

/// How receivers grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granting {
    /// A fixed window.
    Window,
    /// Everything at once, for senders that know how fast they may send.
    Open,
    /// At the rate at which bytes arrive.
    Adaptive(AdaptiveConfig),
}

/// The two policies that grant by demand, with their defaults.
pub const ALL_GRANTING: [Granting; 2] = [Granting::Window, Granting::Adaptive(AdaptiveConfig::DEFAULT)];

impl Granting {
    /// Name of the policy in reports.
    pub fn name(self) -> &'static str {
        match self {
            Granting::Window => "window",
            Granting::Open => "open",
            Granting::Adaptive(_) => "adaptive",
        }
    }

    pub(in crate::transport) fn pacer(self) -> Pacer {
        match self {
            Granting::Window => Pacer::default(),
            Granting::Open => Window::OPEN.into(),
            Granting::Adaptive(knobs) => Pacer::Adaptive(Adaptive::new(knobs)),
        }
    }
}

/// The pattern of traffic: which hosts send to which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// All other hosts send to host 0.
    Incast,
    /// Every host sends to every other one, beginning with the next one.
    AllToAll,
}

/// A switch with hosts, all of which send.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// Which hosts send to which.
    pub traffic: Traffic,
    /// Number of senders; an incast has one host more.
    pub senders: usize,
    /// Rate of every cable, Mbit/s.
    pub rate_mbps: u64,
    /// What a port of the switch holds, bytes.
    pub queue_bytes: u32,
    /// Length of a message, bytes.
    pub len: u64,
    /// Messages from each sender to each of its receivers.
    pub messages: usize,
    /// How receivers grant.
    pub granting: Granting,
    /// Interval, ns, at which a further host sends messages of 64 bytes to host 0 meanwhile.
    pub ping_every_ns: u64,
    /// Lane of short messages; streams go over UDP.
    pub short: ShortLane,
    /// Time that the software of both hosts adds to the delivery of every packet, ns.
    pub host_ns: u64,
    /// Seed of all random choices of the endpoints.
    pub seed: u64,
}

/// The lane of short messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShortLane {
    /// UDP, like everything else.
    Udp,
    /// Raw frames.
    Raw,
    /// Raw frames with a tag, through switch ports that send tagged frames first.
    Tagged,
}

/// All of them.
pub const ALL_SHORT_LANES: [ShortLane; 3] = [ShortLane::Udp, ShortLane::Raw, ShortLane::Tagged];

impl ShortLane {
    /// Name of the lane in reports.
    pub fn name(self) -> &'static str {
        match self {
            ShortLane::Udp => "udp",
            ShortLane::Raw => "raw",
            ShortLane::Tagged => "raw, first",
        }
    }
}

impl Congestion {
    /// 16 senders at 1 Gbit/s; ports hold 16 x 64 KiB.
    pub fn new(traffic: Traffic, granting: Granting) -> Congestion {
        let messages = if traffic == Traffic::Incast { 8 } else { 1 };
        Congestion {
            traffic,
            senders: 16,
            rate_mbps: 1000,
            queue_bytes: 16 * (64 << 10),
            len: 1 << 20,
            messages,
            granting,
            ping_every_ns: 500_000,
            short: ShortLane::Udp,
            host_ns: HOST_NS,
            seed: 1,
        }
    }
}

/// Time that hosts add to the delivery of 8 bytes, ns: half a round trip between two MPI programs over the
/// raw lane, measured on a cable that takes no time (docs/results/messages.md). A real NIC and its bus add to
/// that.
pub const HOST_NS: u64 = 1830;

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct CongestionResult {
    /// Payload rate until the last message was received, as a share of what the receivers' cables carry of
    /// payload: 0 to 1.
    pub goodput: f64,
    /// Jain's index of fairness of the bytes that each sender had delivered when the first sender was done: 1
    /// is perfectly fair.
    pub fairness: f64,
    /// Payload sent again, as a share of all payload.
    pub resent: f64,
    /// Packets that the switch dropped, as a share of all packets sent.
    pub dropped: f64,
    /// Time of a 64-byte message from post to receipt on the idle network: median, ns.
    pub idle_ns: u64,
    /// Time of a 64-byte message from post to receipt while the others send: 99th percentile, ns.
    pub p99_ns: u64,
    /// Number of 64-byte messages on the loaded network.
    pub pings: usize,
}
