//! What the page says: the records and a snapshot of all of them.

use serde::{Deserialize, Serialize};

/// How a peer is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Carrier {
    /// Not decided yet.
    #[default]
    None,
    /// Shared memory.
    Shm,
    /// UDP packets.
    Udp,
    /// Raw Ethernet frames, and UDP packets beside them.
    Raw,
    /// The endpoint itself.
    Own,
}

/// Whether a rail is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RailState {
    /// Not yet known to work.
    #[default]
    Probing,
    /// In use.
    Up,
    /// Held to be dead.
    Down,
}

/// A datapath on a rail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lane {
    /// UDP.
    #[default]
    Udp,
    /// Ethernet frames of their own type.
    Raw,
}

/// What does not change while the endpoint lives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The endpoint's address as text (at most 128 bytes are kept).
    pub address: String,
    /// The lanes in use, e.g. "shm+udp" (at most 32 bytes are kept).
    pub lanes: String,
}

/// Totals of the endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointRecord {
    /// Messages sent.
    pub messages_sent: u64,
    /// Messages received.
    pub messages_received: u64,
    /// Bytes of messages sent.
    pub bytes_sent: u64,
    /// Bytes of messages received.
    pub bytes_received: u64,
    /// Receives posted and not yet matched.
    pub receives_posted: u64,
    /// Unexpected messages held now.
    pub unexpected: u64,
    /// Bytes held for unexpected messages now.
    pub pool_held: u64,
    /// Bytes that may be held for unexpected messages.
    pub pool_limit: u64,
    /// Completions not yet read by the application.
    pub completions_waiting: u64,
    /// Times that progress was made by the application.
    pub progress_calls: u64,
    /// Times that the helper thread stepped in.
    pub helper_calls: u64,
    /// Granted bytes that arrive per second; 0 if that is not measured (`TASUKI_RATE=window`).
    pub granted_rate: u64,
    /// Bytes that may be granted and not arrived, all peers together; 0 likewise.
    pub grant_window: u64,
    /// Grants made; 0 likewise.
    pub grants: u64,
    /// Times that less was granted because bytes took long.
    pub slowed: u64,
    /// How many operations the page lists: none while messages move.
    pub operations_listed: u64,
    /// Whether these are all that are not over.
    pub operations_complete: bool,
}

/// What is not over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// A receive that no message has matched.
    #[default]
    Receive,
    /// A send that is not complete.
    Send,
    /// A message that no receive has matched.
    Unexpected,
}

/// One operation or message that is not over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationRecord {
    /// What it is.
    pub operation: Operation,
    /// Whether it is matched by tag; if not, the tag says nothing.
    pub tagged: bool,
    /// Place on the page of the peer that it comes from or goes to; `None`: a receive from any.
    pub peer: Option<u32>,
    /// Tag.
    pub tag: u64,
    /// Bits of the tag that do not matter to a receive.
    pub ignore: u64,
    /// Bytes of the message, or of the receive's buffer.
    pub bytes: u64,
}

/// One peer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerRecord {
    /// Host name and address as text (at most 96 bytes are kept).
    pub name: String,
    /// How it is reached.
    pub carrier: Carrier,
    /// Whether it is held to be dead.
    pub dead: bool,
    /// Messages sent to it.
    pub messages_sent: u64,
    /// Messages received from it.
    pub messages_received: u64,
    /// Bytes sent to it.
    pub bytes_sent: u64,
    /// Bytes received from it.
    pub bytes_received: u64,
    /// Messages from it that found no posted receive, since it was met.
    pub unexpected: u64,
    /// Bytes of payload that may be sent to it now without asking.
    pub credit: u64,
    /// Bytes held here for its unexpected messages.
    pub pool_held: u64,
    /// Sends to it not yet complete.
    pub sends_pending: u64,
}

/// One lane of one rail to one peer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RailRecord {
    /// Number of the rail.
    pub rail: u8,
    /// Datapath on it.
    pub lane: Lane,
    /// Name of the NIC (at most 16 bytes).
    pub nic: String,
    /// Whether it is used.
    pub state: RailState,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets received.
    pub packets_received: u64,
    /// Bytes sent.
    pub bytes_sent: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Bytes of content that were sent again.
    pub resent: u64,
    /// Packets held to be lost.
    pub lost: u64,
    /// Smoothed round-trip time, ns.
    pub srtt_ns: u64,
    /// Rate, bytes per second.
    pub rate: u64,
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Bytes in flight.
    pub inflight: u64,
}

/// Everything on a page. A record that could not be read consistently, because it was being written at every
/// try, is left out and counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The writer's process id, as its own PID namespace has it.
    pub pid: u32,
    /// The process id of the writer as the kernel says it, in the PID namespace of whoever has read the page;
    /// `None`: that namespace does not have it. Unlike all else on a page it cannot be another process's.
    #[serde(default)]
    pub process: Option<u32>,
    /// The user whose page it is, as the kernel says it.
    #[serde(default)]
    pub user: Option<u32>,
    /// Number of the page among those that its process has made, by the name of its file.
    #[serde(default)]
    pub number: Option<u32>,
    /// When the page was made, seconds since 1970.
    pub started: u64,
    /// The program's name.
    pub program: String,
    /// Its rank, if a launcher has set one.
    pub rank: Option<u32>,
    /// The host's name.
    pub host: String,
    /// Whether the writer is gone.
    pub stale: bool,
    /// What does not change.
    pub identity: Identity,
    /// Totals.
    pub endpoint: EndpointRecord,
    /// Bytes of messages that streams and length-coded bulk have carried, both ways. They grow while a long
    /// message is under way that the totals count once it is whole, and are no addition to these.
    #[serde(default)]
    pub carried: u64,
    /// Drops by reason.
    pub drops: Vec<(String, u64)>,
    /// Operations that are not over, if no message has moved for a fifth of a second.
    #[serde(default)]
    pub operations: Vec<OperationRecord>,
    /// Peers, by index.
    pub peers: Vec<PeerSnapshot>,
    /// Peers for which the page has no room.
    pub peers_beyond: u64,
    /// Records that could not be read consistently.
    pub torn: u64,
}

impl Snapshot {
    /// Sends to all peers that are not complete.
    pub fn sends_pending(&self) -> u64 {
        self.peers.iter().map(|peer| peer.peer.sends_pending).sum()
    }

    /// Peers that are held to be dead.
    pub fn dead_peers(&self) -> usize {
        self.peers.iter().filter(|peer| peer.peer.dead).count()
    }
}

/// A peer and its rails.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerSnapshot {
    /// Index on the page.
    pub index: usize,
    /// The peer.
    #[serde(flatten)]
    pub peer: PeerRecord,
    /// Its rails.
    pub rails: Vec<RailRecord>,
}
