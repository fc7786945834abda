//! The graph: nodes with numbered ports, cables between ports, and the two directed channels of every cable.

/// Index of a node (switch or host).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);
/// Index of a host in [`Network::hosts`]; routing tables are indexed by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u32);
/// Index of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);
/// A port of a node, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub u16);
/// One direction of a cable: `2 * link` runs from its first end to its second, `2 * link + 1` back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelId(pub u32);

impl NodeId {
    /// As an index.
    pub fn ix(self) -> usize {
        self.0 as usize
    }
}
impl HostId {
    /// As an index.
    pub fn ix(self) -> usize {
        self.0 as usize
    }
}
impl LinkId {
    /// As an index.
    pub fn ix(self) -> usize {
        self.0 as usize
    }
}
impl Port {
    /// As an index.
    pub fn ix(self) -> usize {
        usize::from(self.0)
    }
}
impl ChannelId {
    /// As an index.
    pub fn ix(self) -> usize {
        self.0 as usize
    }
    /// The cable that the channel is a direction of.
    pub fn link(self) -> LinkId {
        LinkId(self.0 / 2)
    }
    /// The other direction of the same cable.
    pub fn reverse(self) -> ChannelId {
        ChannelId(self.0 ^ 1)
    }
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A switch: forwards, is no source and no destination.
    Switch,
    /// A host that only sends and receives.
    Host,
    /// A host that also forwards for others.
    Relay,
}

/// A node of the network.
#[derive(Clone, Debug)]
pub struct Node {
    /// Name, for messages.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Number of ports, if limited.
    pub port_limit: Option<u32>,
    pub(crate) ports: Vec<Option<ChannelId>>,
    pub(crate) host: Option<HostId>,
}

/// A cable.
#[derive(Clone, Debug)]
pub struct Link {
    /// Both ends.
    pub ends: [(NodeId, Port); 2],
    /// Rate of each direction, bit/s.
    pub rate_bps: u64,
    /// Whether it works. A cable that is down keeps its number and its ports.
    pub up: bool,
}

/// Which way along a coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the next higher coordinate (or round to 0).
    Up,
    /// To the next lower coordinate (or round to the highest).
    Down,
}

/// The coordinates of a mesh, torus, ring or hypercube. Vertex `v` is node `v`; dimension 0 varies fastest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Size of every dimension.
    pub dims: Vec<u32>,
    /// Whether every dimension closes to a ring.
    pub wraps: bool,
    pub(crate) ports: Vec<Option<Port>>,
}

impl Grid {
    /// Number of vertices.
    pub fn vertices(&self) -> usize {
        self.dims.iter().map(|&d| d as usize).product()
    }

    /// Coordinate of a vertex in one dimension.
    pub fn coordinate(&self, vertex: usize, dim: usize) -> u32 {
        let stride: usize = self.dims[..dim].iter().map(|&d| d as usize).product();
        (vertex / stride % self.dims[dim] as usize) as u32
    }

    /// The port that leads one step along a dimension, if there is such a step.
    pub fn port(&self, vertex: usize, dim: usize, direction: Direction) -> Option<Port> {
        let side = usize::from(direction == Direction::Down);
        self.ports.get((vertex * self.dims.len() + dim) * 2 + side).copied().flatten()
    }
}

/// Nodes, cables and hosts; immutable. Failures make a new network in which everything keeps its number.
#[derive(Clone, Debug)]
pub struct Network {
    pub(crate) name: String,
    pub(crate) nodes: Vec<Node>,
    pub(crate) links: Vec<Link>,
    pub(crate) hosts: Vec<NodeId>,
    pub(crate) grid: Option<Grid>,
}

impl Network {
    /// Name of the network.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// All nodes, by [`NodeId`].
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }
    /// All cables, by [`LinkId`].
    pub fn links(&self) -> &[Link] {
        &self.links
    }
    /// The nodes that are hosts, by [`HostId`].
    pub fn hosts(&self) -> &[NodeId] {
        &self.hosts
    }
    /// Coordinates, where the network is a mesh, torus, ring or hypercube.
    pub fn grid(&self) -> Option<&Grid> {
        self.grid.as_ref()
    }
    /// Number of switches.
    pub fn switches(&self) -> usize {
        self.nodes.len() - self.hosts.len()
    }
    /// Number of channels: two per cable, those of cables that are down included.
    pub fn channels(&self) -> usize {
        self.links.len() * 2
    }
    /// The host number of a node, if it is a host.
    pub fn host_of(&self, node: NodeId) -> Option<HostId> {
        self.nodes.get(node.ix()).and_then(|n| n.host)
    }
    /// Whether a node forwards packets of others.
    pub fn forwards(&self, node: NodeId) -> bool {
        self.nodes[node.ix()].kind != Kind::Host
    }
    /// Where a channel starts.
    pub fn from(&self, channel: ChannelId) -> NodeId {
        self.links[channel.link().ix()].ends[(channel.0 & 1) as usize].0
    }
    /// Where a channel ends.
    pub fn to(&self, channel: ChannelId) -> NodeId {
        self.from(channel.reverse())
    }
    /// The port that a channel leaves by.
    pub fn out_port(&self, channel: ChannelId) -> Port {
        self.links[channel.link().ix()].ends[(channel.0 & 1) as usize].1
    }
    /// The port that a channel arrives at.
    pub fn in_port(&self, channel: ChannelId) -> Port {
        self.out_port(channel.reverse())
    }
    /// Rate of a channel, bit/s.
    pub fn rate_bps(&self, channel: ChannelId) -> u64 {
        self.links[channel.link().ix()].rate_bps
    }
    /// Number of ports that a node has cables (working or not) or gaps in.
    pub fn ports(&self, node: NodeId) -> usize {
        self.nodes[node.ix()].ports.len()
    }
    /// The channel that leaves by a port, if a working cable is plugged in there.
    pub fn channel_at(&self, node: NodeId, port: Port) -> Option<ChannelId> {
        let channel = self.nodes[node.ix()].ports.get(port.ix()).copied().flatten()?;
        self.links[channel.link().ix()].up.then_some(channel)
    }
    /// The working channels out of a node, in port order.
    pub fn out(&self, node: NodeId) -> impl Iterator<Item = ChannelId> + '_ {
        let ports = &self.nodes[node.ix()].ports;
        ports.iter().flatten().copied().filter(|c| self.links[c.link().ix()].up)
    }
    /// Name of a node, for messages.
    pub fn label(&self, node: NodeId) -> &str {
        &self.nodes[node.ix()].name
    }
    /// Name of a channel, for messages: both nodes and the port that it leaves by.
    pub fn channel_label(&self, channel: ChannelId) -> String {
        let (from, to) = (self.from(channel), self.to(channel));
        format!("{}[{}]->{}", self.label(from), self.out_port(channel).0, self.label(to))
    }

    /// This network after the given cables and nodes failed. A failed node keeps its number, without cables;
    /// a failed host remains in [`Network::hosts`]. Unknown numbers are ignored.
    pub fn without(&self, links: &[LinkId], nodes: &[NodeId]) -> Network {
        let mut net = self.clone();
        for link in links {
            if let Some(link) = net.links.get_mut(link.ix()) {
                link.up = false;
            }
        }
        for link in &mut net.links {
            if link.ends.iter().any(|(node, _)| nodes.contains(node)) {
                link.up = false;
            }
        }
        net
    }
}
