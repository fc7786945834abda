//! Builds networks node by node and cable by cable.

use crate::error::NetworkError;
use crate::network::{ChannelId, Grid, HostId, Kind, Link, Network, Node, NodeId, Port};

/// Builds a [`Network`]; every mistake is reported by [`NetworkBuilder::build`].
#[derive(Clone, Debug, Default)]
pub struct NetworkBuilder {
    name: String,
    nodes: Vec<Node>,
    cables: Vec<Cable>,
    grid: Option<Grid>,
}

/// A cable to be: its ends, with port numbers where they are given.
#[derive(Clone, Copy, Debug)]
struct Cable {
    ends: [(NodeId, Option<Port>); 2],
    rate_bps: u64,
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
        self.cables.push(Cable { ends: [(a, None), (b, None)], rate_bps });
    }
    /// Adds a cable between two ports given by number.
    pub fn cable_at(&mut self, a: (NodeId, Port), b: (NodeId, Port), rate_bps: u64) {
        self.cables.push(Cable { ends: [a, b].map(|(node, port)| (node, Some(port))), rate_bps });
    }
    /// Says that nodes `0..grid.vertices()` have coordinates.
    pub(crate) fn set_grid(&mut self, grid: Grid) {
        self.grid = Some(grid);
    }

    /// Checks everything and makes the network.
    pub fn build(mut self) -> Result<Network, NetworkError> {
        self.check()?;
        let hosts = self.number_hosts();
        self.take_fixed_ports()?;
        let mut links = Vec::with_capacity(self.cables.len());
        let mut lowest_free = vec![0usize; self.nodes.len()];
        for (i, cable) in self.cables.iter().enumerate() {
            let mut ends = cable.ends.map(|(node, port)| (node, port.unwrap_or(Port(0))));
            for (side, end) in ends.iter_mut().enumerate() {
                let node = &mut self.nodes[end.0.ix()];
                if cable.ends[side].1.is_none() {
                    end.1 = free_port(node, &mut lowest_free[end.0.ix()])?;
                    node.ports[end.1.ix()] = Some(ChannelId((2 * i + side) as u32));
                }
            }
            links.push(Link { ends, rate_bps: cable.rate_bps, up: true });
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
        for (cable, &Cable { ends: [(a, _), (b, _)], rate_bps }) in self.cables.iter().enumerate() {
            let unknown = [a, b].into_iter().find(|node| node.ix() >= self.nodes.len());
            if let Some(NodeId(node)) = unknown {
                return Err(NetworkError::NoSuchNode { cable, node, nodes: self.nodes.len() });
            }
            let name = |node: NodeId| self.nodes[node.ix()].name.clone();
            if a == b {
                return Err(NetworkError::SelfLoop { cable, node: name(a) });
            }
            if rate_bps == 0 {
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

    /// Takes the ports given by number, so that cables without a number take others.
    fn take_fixed_ports(&mut self) -> Result<(), NetworkError> {
        for (i, cable) in self.cables.iter().enumerate() {
            for (side, (node, port)) in cable.ends.into_iter().enumerate() {
                let Some(port) = port else { continue };
                let node = &mut self.nodes[node.ix()];
                if port.ix() >= MAX_PORTS {
                    return Err(TOO_MANY_PORTS);
                }
                if node.ports.len() <= port.ix() {
                    node.ports.resize(port.ix() + 1, None);
                }
                if node.ports[port.ix()].is_some() {
                    return Err(NetworkError::PortTaken { node: node.name.clone(), port: port.0 });
                }
                node.ports[port.ix()] = Some(ChannelId((2 * i + side) as u32));
            }
        }
        Ok(())
    }
}

/// The largest number of ports of a node: tables hold a rule for every pair of them.
const MAX_PORTS: usize = 4096;
const TOO_MANY_PORTS: NetworkError =
    NetworkError::TooLarge { what: "ports of a node", limit: MAX_PORTS as u64 };

/// The lowest free port of a node at or above `from`, which moves on.
fn free_port(node: &mut Node, from: &mut usize) -> Result<Port, NetworkError> {
    while node.ports.get(*from).is_some_and(Option::is_some) {
        *from += 1;
    }
    if *from >= MAX_PORTS {
        return Err(TOO_MANY_PORTS);
    }
    if node.ports.len() <= *from {
        node.ports.push(None);
    }
    Ok(Port(*from as u16))
}
