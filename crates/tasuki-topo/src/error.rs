//! Errors of networks and of routing, each with what to do about it.

use thiserror::Error;

/// Why a network cannot be built as asked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NetworkError {
    /// A node number that does not exist.
    #[error("cable {cable}: there is no node {node}; the network has {nodes} nodes")]
    NoSuchNode {
        /// Index of the cable in the order of addition.
        cable: usize,
        /// The unknown node.
        node: u32,
        /// Number of nodes that exist.
        nodes: usize,
    },
    /// Both ends of a cable are at the same node.
    #[error("cable {cable}: both ends are at {node}; plug one end into another node")]
    SelfLoop {
        /// Index of the cable in the order of addition.
        cable: usize,
        /// Name of the node.
        node: String,
    },
    /// Two cables in one port.
    #[error("{node}: port {port} would hold two cables; move one to a free port")]
    PortTaken {
        /// Name of the node.
        node: String,
        /// The port, counted from 0.
        port: u16,
    },
    /// More cables than ports.
    #[error("{node} has {ports} ports, but needs {needed}; use a larger switch or fewer cables")]
    TooFewPorts {
        /// Name of the node.
        node: String,
        /// Ports that exist.
        ports: u32,
        /// Ports that the cables need.
        needed: u32,
    },
    /// A cable with rate zero.
    #[error("cable {cable} between {a} and {b} has rate 0; give its rate in bit/s")]
    NoRate {
        /// Index of the cable in the order of addition.
        cable: usize,
        /// Name of one end.
        a: String,
        /// Name of the other end.
        b: String,
    },
    /// The parameters of a shape do not fit together.
    #[error("{shape}: {problem}")]
    Shape {
        /// The shape, with its parameters.
        shape: String,
        /// What does not fit and what would.
        problem: String,
    },
    /// Too large for 32-bit indices.
    #[error("{what}: more than {limit} of them; build a smaller network")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
}

/// Why an engine gives no tables.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RouteError {
    /// There is no path between two hosts, whatever the routing.
    #[error(
        "no path from {from} to {to}: the network is disconnected (or only a host that does not relay joins \
         them); add a cable"
    )]
    Disconnected {
        /// Name of the source.
        from: String,
        /// Name of the destination.
        to: String,
    },
    /// The network has fewer than two hosts.
    #[error("the network has {0} hosts; routes need at least two")]
    TooFewHosts(usize),
    /// The engine would need more virtual channels than allowed.
    #[error(
        "{engine} needs {need} virtual channels here, {have} are allowed; allow {need}, or take another \
         engine ({hint})"
    )]
    NeedsChannels {
        /// The engine.
        engine: &'static str,
        /// Virtual channels that it would take.
        need: u32,
        /// Virtual channels allowed.
        have: u8,
        /// What else would do.
        hint: &'static str,
    },
    /// Zero virtual channels were allowed.
    #[error("0 virtual channels allowed; every network has at least 1")]
    NoChannels,
    /// Dimension order on a network that is no mesh, torus or hypercube.
    #[error("dimension order needs a mesh, torus, ring or hypercube; {network} is none of them")]
    NotAGrid {
        /// Name of the network.
        network: String,
    },
    /// Dimension order meets a cable that is missing or down.
    #[error(
        "dimension order needs the cable from {from} in dimension {dimension} ({direction}), which is \
         missing or down; take an engine for irregular networks"
    )]
    GridCableMissing {
        /// Name of the node.
        from: String,
        /// Dimension, from 0.
        dimension: usize,
        /// "up" or "down" the coordinate.
        direction: &'static str,
    },
}
