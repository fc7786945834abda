//! The proof of routing tables. The verifier reads tables as a switch would and finds everything that is
//! wrong with them. It shares no code with the engines, so that the tables may come from anywhere.
//!
//! A pair of hosts is faulty if its packet stops, goes round in circles, reaches a wrong host, or gets beyond
//! the last virtual channel. Paths longer than necessary are counted. All waiting that packets can cause
//! between pairs (channel, virtual channel) makes the channel dependency graph; tables are free of deadlock
//! if it has no circle (Dally and Seitz 1987). Every dependency is caused by a real pair, so a circle is no
//! artefact of unused entries.

mod cycle;
mod distance;
mod flat;
mod groups;
mod walk;

use crate::network::{ChannelId, HostId, Network, NodeId, Port};
use crate::tables::Tables;
use thiserror::Error;

/// What is wrong with the path of a pair. If one of the first four holds, the others are not looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// A node has no entry for the destination (or no row, and not exactly one cable).
    NoEntry {
        /// The node.
        node: NodeId,
    },
    /// An entry names a port without a working cable.
    DeadPort {
        /// The node.
        node: NodeId,
        /// The port.
        port: Port,
    },
    /// The packet comes to a host that is not its destination and does not relay.
    WrongHost {
        /// The host's node.
        node: NodeId,
    },
    /// The packet goes round for ever.
    Loop,
    /// The path uses a virtual channel beyond those that the tables claim.
    ChannelExceeded {
        /// The channel where it does so.
        channel: ChannelId,
        /// The virtual channel.
        vc: u32,
    },
    /// No path exists in the network, whatever the tables say.
    Disconnected,
}

/// A faulty pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// Source.
    pub from: HostId,
    /// Destination.
    pub to: HostId,
    /// What happens.
    pub kind: FaultKind,
}

/// Everything found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Ordered pairs of different hosts.
    pub pairs: u64,
    /// Pairs without fault.
    pub delivered: u64,
    /// Number of faulty pairs.
    pub faulty: u64,
    /// The first faulty pairs, by destination and source; as many as [`Claims::witnesses`] allows.
    pub faults: Vec<Fault>,
    /// Delivered pairs whose path is longer than necessary.
    pub longer: u64,
    /// The largest number of cables that a path has beyond a shortest one.
    pub excess_max: u32,
    /// Cables over all delivered pairs.
    pub cables: u64,
    /// Cables on the longest delivered path.
    pub cables_max: u32,
    /// Virtual channels in use.
    pub vcs: u32,
    /// Edges of the channel dependency graph, between cables that join forwarding nodes.
    pub dependencies: u64,
    /// A smallest circle of the channel dependency graph: packets on each (channel, virtual channel) can wait
    /// for the next one, and those on the last for the first. Begins with the smallest pair.
    pub circle: Option<Vec<(ChannelId, u8)>>,
}

/// What is claimed of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claims {
    /// All paths are shortest.
    pub minimal: bool,
    /// No deadlock can arise.
    pub deadlock_free: bool,
    /// Virtual channels that the network has.
    pub vcs: u8,
    /// Faulty pairs to list.
    pub witnesses: usize,
}

impl Claims {
    /// The claims of a lossless network with `vcs` virtual channels: delivered, free of deadlock.
    pub fn lossless(vcs: u8) -> Self {
        Self { minimal: false, deadlock_free: true, vcs, witnesses: 10 }
    }
    /// The claims of a network that drops packets: delivered.
    pub fn lossy() -> Self {
        Self { minimal: false, deadlock_free: false, vcs: 1, witnesses: 10 }
    }
    /// Claims shortest paths as well.
    pub fn minimal(self) -> Self {
        Self { minimal: true, ..self }
    }
}

/// Why tables do not hold what is claimed. If there are several reasons, the first in this order is returned.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refutation {
    /// Tables of another network.
    #[error(
        "the tables have {tables} destinations, the network has {network} hosts; make tables for this network"
    )]
    OtherNetwork {
        /// Destinations in the tables.
        tables: usize,
        /// Hosts of the network.
        network: usize,
    },
    /// Packets do not arrive.
    #[error("{count} of {pairs} pairs are not delivered; {from} to {to}: {what}")]
    Undelivered {
        /// Faulty pairs.
        count: u64,
        /// All pairs.
        pairs: u64,
        /// Source of the first.
        from: String,
        /// Destination of the first.
        to: String,
        /// What happens to it.
        what: String,
    },
    /// More virtual channels than there are.
    #[error("the tables use {used} virtual channels, the network has {have}")]
    Channels {
        /// In use.
        used: u32,
        /// Available.
        have: u8,
    },
    /// Longer paths than claimed.
    #[error("{count} paths are longer than necessary, by up to {excess} cables")]
    NotMinimal {
        /// Number of paths.
        count: u64,
        /// The largest number of cables beyond a shortest path.
        excess: u32,
    },
    /// Packets can wait for each other in a circle.
    #[error("deadlock is possible: packets can wait in a circle over {}", .0.join(", "))]
    Deadlock(Vec<String>),
}

/// Examines tables.
pub fn verify(net: &Network, tables: &Tables, witnesses: usize) -> Report {
    let walked = walk::Walk::new(net, tables, witnesses).run();
    let mut report = walked.report;
    report.circle = cycle::smallest(&walked.graph);
    report
}

/// Examines tables and checks claims about them; returns the report if they hold.
pub fn prove(net: &Network, tables: &Tables, claims: Claims) -> Result<Report, Refutation> {
    if tables.hosts() != net.hosts().len() {
        return Err(Refutation::OtherNetwork { tables: tables.hosts(), network: net.hosts().len() });
    }
    let report = verify(net, tables, claims.witnesses.max(1));
    report.check(net, claims)?;
    Ok(report)
}

impl Report {
    /// Checks claims about the tables that were examined, on the network that they are of.
    pub fn check(&self, net: &Network, claims: Claims) -> Result<(), Refutation> {
        if let Some(fault) = self.faults.first() {
            let name = |host: HostId| net.label(net.hosts()[host.ix()]).to_owned();
            return Err(Refutation::Undelivered {
                count: self.faulty,
                pairs: self.pairs,
                from: name(fault.from),
                to: name(fault.to),
                what: fault.kind.describe(net),
            });
        }
        if self.vcs > u32::from(claims.vcs) {
            return Err(Refutation::Channels { used: self.vcs, have: claims.vcs });
        }
        if claims.minimal && self.longer > 0 {
            return Err(Refutation::NotMinimal { count: self.longer, excess: self.excess_max });
        }
        match &self.circle {
            Some(circle) if claims.deadlock_free => {
                let names = circle.iter().map(|&(c, vc)| format!("{} vc {vc}", net.channel_label(c)));
                Err(Refutation::Deadlock(names.collect()))
            }
            _ => Ok(()),
        }
    }
}

impl FaultKind {
    /// Says what happens to the packet, with the names of nodes.
    pub fn describe(self, net: &Network) -> String {
        match self {
            FaultKind::NoEntry { node } => format!("{} has no entry", net.label(node)),
            FaultKind::DeadPort { node, port } => {
                format!(
                    "{} sends it to its port number {}, which has no working cable",
                    net.label(node),
                    port.0 + 1
                )
            }
            FaultKind::WrongHost { node } => format!("it ends at {}, which does not relay", net.label(node)),
            FaultKind::Loop => "it goes round for ever".to_owned(),
            FaultKind::ChannelExceeded { channel, vc } => {
                format!("it needs virtual channel {vc} on {}", net.channel_label(channel))
            }
            FaultKind::Disconnected => "no path exists".to_owned(),
        }
    }
}
