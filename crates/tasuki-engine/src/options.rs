//! The options of an endpoint.

mod environment;

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use tasuki_msg::{Adaptive, AdaptiveConfig, Pacer, Window};
use tasuki_tuning::{credit, leaving, liveness, raw_lanes};
use tasuki_wire::JobKey;

use crate::address::Address;
use crate::net::rails::{RailTable, RailsError};
use crate::net::static_rate::Receivers;
use crate::wait::siblings::Siblings;

pub use environment::VariableError;

/// The lanes that carry packets between hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// UDP only.
    Udp,
    /// Raw Ethernet frames where they are permitted and pass; UDP for long messages and everywhere else.
    RawUdp,
}

/// How a receiver grants the messages that are too long to be sent unasked.
#[derive(Clone, Debug, PartialEq)]
pub enum Rate {
    /// A window of fixed size, whatever the network and this host carry.
    Window,
    /// At the rate at which granted bytes arrive, which is measured in operation and shared among all
    /// senders.
    Adaptive,
    /// Everything at once: senders are told the rates of their receivers, and keep to them (the ATM paper's
    /// static mode).
    Static(Receivers),
}

/// How long messages between hosts are framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// As [`Framing::Streams`] where packets arrive fast and one by one (MTU 1500, not joined by the kernel,
    /// one rail), elsewhere as [`Framing::Frames`].
    Auto,
    /// In packets with headers, over all rails.
    Frames,
    /// By TCP, over one rail, from the sender's memory into the receiver's.
    Streams,
    /// In datagrams of which the length alone tells what they are, over one rail, straight into the program's
    /// memory.
    Length,
}

/// Whether the sender of a long message inside a host copies some of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderCopies {
    /// The receiver copies everything.
    Never,
    /// The sender copies a part if it waits and has a processor of its own.
    Idle,
    /// The sender copies a part if it waits, without asking for a processor.
    Always,
}

/// The options of an endpoint.
#[derive(Clone, Debug)]
pub struct Options {
    /// Identity address of the host. `None`: that of the interface `tasuki0`, or the best that the host has.
    pub identity: Option<IpAddr>,
    /// The file that describes the host's rails. `None`: `/run/tasuki/rails.json`, if there is one.
    pub rails: Option<PathBuf>,
    /// Messages inside the host go through shared memory where that is possible.
    pub shm: bool,
    /// Whether senders of long messages inside the host copy a part.
    pub sender_copies: SenderCopies,
    /// The lanes that carry packets between hosts.
    pub lanes: Lanes,
    /// Priority of raw frames (IEEE 802.1Q, 0 to 7), which then carry short messages only: switches that know
    /// the tag send them before others. `None`: frames have no tag.
    pub priority: Option<u8>,
    /// Socket of the broker that opens raw lanes for programs without CAP_NET_RAW. `None`: no broker is
    /// asked.
    pub broker: Option<PathBuf>,
    /// Memory for the receive rings of the raw lanes of a whole host, bytes. Each process takes its share of
    /// it as if there were one process per processor.
    pub ring_bytes: u64,
    /// Most memory for unexpected messages, bytes: those for which no receive is posted yet.
    pub pool_bytes: u64,
    /// Most of that memory that one peer may hold, bytes.
    pub peer_bytes: u64,
    /// The controller of grants.
    pub rate: Rate,
    /// How long messages are framed.
    pub framing: Framing,
    /// The key of the job. With a key every packet between hosts carries a keyed tag, packets without the
    /// right one are dropped, and `framing` is [`Framing::Frames`].
    pub job_key: Option<JobKey>,
    /// Number of peers among which credit is divided from the start.
    pub expected_peers: u32,
    /// Longest time that closing waits for the last acknowledgements.
    pub linger: Duration,
    /// A peer that has not answered a first greeting for so long counts as failed; zero: never.
    pub greeting: Duration,
    /// The endpoint keeps a statistics page, which `tasuki stats` reads.
    pub stats: bool,
    /// The endpoint is for one-sided transfers alone: what it does is shown as a part of what the process
    /// does.
    pub one_sided: bool,
    /// On SIGUSR2 the endpoint prints its state to stderr.
    pub dump: bool,
    /// The process's endpoints that one program polls in turn: clones of one.
    pub siblings: Siblings,
    /// Called, from any thread, when a peer with which something was exchanged has died or broken the
    /// protocol, before operations with it fail. It must not call the endpoint.
    pub on_failure: Option<OnFailure>,
}

/// A function that is given the address of a peer that has failed.
pub type OnFailure = fn(&Address);

impl Default for Options {
    fn default() -> Options {
        Options {
            identity: None,
            rails: None,
            shm: true,
            sender_copies: SenderCopies::Idle,
            lanes: Lanes::RawUdp,
            priority: None,
            broker: Some(PathBuf::from(tasuki_link::broker::SOCKET)),
            ring_bytes: mebibytes(raw_lanes::HOST_MIB),
            pool_bytes: mebibytes(credit::POOL_MIB),
            peer_bytes: credit::PEER_MAX,
            rate: Rate::Adaptive,
            framing: Framing::Auto,
            job_key: None,
            expected_peers: 1,
            linger: seconds(leaving::LINGER_S),
            greeting: seconds(liveness::GREETING_S),
            stats: true,
            dump: false,
            one_sided: false,
            siblings: Siblings::default(),
            on_failure: None,
        }
    }
}

impl Options {
    /// Rate of all NICs of this host's rails together, Mbit/s; `None` if there are none, or if that of one is
    /// not known. Reads the file of the rails.
    pub fn rate_mbits(&self) -> Result<Option<u32>, RailsError> {
        Ok(RailTable::load(self.rails.as_deref())?.rate_mbits())
    }

    /// The controller of grants.
    pub(crate) fn pacer(&self) -> Pacer {
        match &self.rate {
            Rate::Window => Pacer::default(),
            Rate::Adaptive => Pacer::Adaptive(Adaptive::new(AdaptiveConfig::default())),
            Rate::Static(_) => Window::OPEN.into(),
        }
    }
}

/// Converts a count of MiB to bytes.
fn mebibytes(count: u32) -> u64 {
    u64::from(count) << 20
}

fn seconds(count: u32) -> Duration {
    Duration::from_secs(count.into())
}
