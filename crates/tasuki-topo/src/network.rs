//! The graph: nodes with numbered ports, cables between ports, and the two directed channels of every cable.

use crate::error::NetworkError;

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
    ports: Vec<Option<ChannelId>>,
    host: Option<HostId>,
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
    name: String,
    nodes: Vec<Node>,
    links: Vec<Link>,
    hosts: Vec<NodeId>,
    grid: Option<Grid>,
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

    /// The same network after the given cables and nodes failed. A failed node keeps its number, without cables;
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

/// Builds a [`Network`]; every mistake is reported by [`NetworkBuilder::build`].
#[derive(Clone, Debug, Default)]
pub struct NetworkBuilder {
    name: String,
    nodes: Vec<Node>,
    cables: Vec<(NodeId, Option<Port>, NodeId, Option<Port>, u64)>,
    grid: Option<Grid>,
}

impl NetworkBuilder {
    /// Starts an empty network.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Adds a switch; `ports` limits its number of ports.
    pub fn switch(&mut self, name: impl Into<String>, ports: Option<u32>) -> NodeId {
        self.node(name.into(), Kind::Switch, ports)
    }
    /// Adds a host that forwards nothing.
    pub fn host(&mut self, name: impl Into<String>) -> NodeId {
        self.node(name.into(), Kind::Host, None)
    }
    /// Adds a host that relays.
    pub fn relay(&mut self, name: impl Into<String>) -> NodeId {
        self.node(name.into(), Kind::Relay, None)
    }
    /// Adds a node of any kind.
    pub fn node(&mut self, name: String, kind: Kind, port_limit: Option<u32>) -> NodeId {
        self.nodes.push(Node { name, kind, port_limit, ports: Vec::new(), host: None });
        NodeId((self.nodes.len() - 1) as u32)
    }
    /// Adds a cable; each end takes the lowest port that is free once all ports given by number are taken.
    pub fn cable(&mut self, a: NodeId, b: NodeId, rate_bps: u64) {
        self.cables.push((a, None, b, None, rate_bps));
    }
    /// Adds a cable between two ports given by number.
    pub fn cable_at(&mut self, a: (NodeId, Port), b: (NodeId, Port), rate_bps: u64) {
        self.cables.push((a.0, Some(a.1), b.0, Some(b.1), rate_bps));
    }
    /// Says that nodes `0..grid.vertices()` have coordinates.
    pub(crate) fn set_grid(&mut self, grid: Grid) {
        self.grid = Some(grid);
    }

    /// Checks everything and makes the network.
    pub fn build(mut self) -> Result<Network, NetworkError> {
        self.check()?;
        let hosts = self.number_hosts();
        let fixed = self.take_fixed_ports()?;
        let mut links = Vec::with_capacity(self.cables.len());
        let mut lowest_free = vec![0usize; self.nodes.len()];
        for (i, &(a, _, b, _, rate_bps)) in self.cables.iter().enumerate() {
            let mut ends = [(a, Port(0)), (b, Port(0))];
            for (side, end) in ends.iter_mut().enumerate() {
                let node = &mut self.nodes[end.0.ix()];
                end.1 = match fixed[i][side] {
                    Some(port) => port,
                    None => free_port(node, &mut lowest_free[end.0.ix()])?,
                };
                node.ports[end.1.ix()] = Some(ChannelId((2 * i + side) as u32));
            }
            links.push(Link { ends, rate_bps, up: true });
        }
        for node in &self.nodes {
            let needed = node.ports.len() as u32;
            if let Some(ports) = node.port_limit.filter(|&limit| needed > limit) {
                return Err(NetworkError::TooFewPorts { node: node.name.clone(), ports, needed });
            }
        }
        Ok(Network { name: self.name, nodes: self.nodes, links, hosts, grid: self.grid })
    }

    fn check(&self) -> Result<(), NetworkError> {
        if self.nodes.len() >= (1 << 30) {
            return Err(NetworkError::TooLarge { what: "nodes", limit: 1 << 30 });
        }
        if self.cables.len() >= (1 << 30) {
            return Err(NetworkError::TooLarge { what: "cables", limit: 1 << 30 });
        }
        for (cable, &(a, _, b, _, rate)) in self.cables.iter().enumerate() {
            let unknown = [a, b].into_iter().find(|node| node.ix() >= self.nodes.len());
            if let Some(NodeId(node)) = unknown {
                return Err(NetworkError::NoSuchNode { cable, node, nodes: self.nodes.len() });
            }
            let name = |node: NodeId| self.nodes[node.ix()].name.clone();
            if a == b {
                return Err(NetworkError::SelfLoop { cable, node: name(a) });
            }
            if rate == 0 {
                return Err(NetworkError::NoRate { cable, a: name(a), b: name(b) });
            }
        }
        Ok(())
    }

    fn number_hosts(&mut self) -> Vec<NodeId> {
        let mut hosts = Vec::new();
        for (i, node) in self.nodes.iter_mut().enumerate() {
            if node.kind != Kind::Switch {
                node.host = Some(HostId(hosts.len() as u32));
                hosts.push(NodeId(i as u32));
            }
        }
        hosts
    }

    /// Reserves the ports given by number, so that cables without a number take others.
    fn take_fixed_ports(&mut self) -> Result<Vec<[Option<Port>; 2]>, NetworkError> {
        let mut fixed = Vec::with_capacity(self.cables.len());
        for (i, &(a, port_a, b, port_b, _)) in self.cables.iter().enumerate() {
            for (side, (node, port)) in [(a, port_a), (b, port_b)].into_iter().enumerate() {
                let Some(port) = port else { continue };
                let node = &mut self.nodes[node.ix()];
                if port.0 == u16::MAX {
                    return Err(NetworkError::TooLarge { what: "ports of a node", limit: 65_534 });
                }
                if node.ports.len() <= port.ix() {
                    node.ports.resize(port.ix() + 1, None);
                }
                if node.ports[port.ix()].is_some() {
                    return Err(NetworkError::PortTaken { node: node.name.clone(), port: port.0 });
                }
                node.ports[port.ix()] = Some(ChannelId((2 * i + side) as u32));
            }
            fixed.push([port_a, port_b]);
        }
        Ok(fixed)
    }
}

/// The lowest free port of a node at or above `from`, which moves on.
fn free_port(node: &mut Node, from: &mut usize) -> Result<Port, NetworkError> {
    while node.ports.get(*from).is_some_and(Option::is_some) {
        *from += 1;
    }
    // Port 65,535 stands for "no port" in tables.
    let port = u16::try_from(*from).ok().filter(|&p| p < u16::MAX);
    let port = port.ok_or(NetworkError::TooLarge { what: "ports of a node", limit: 65_534 })?;
    if node.ports.len() <= *from {
        node.ports.push(None);
    }
    Ok(Port(port))
}
