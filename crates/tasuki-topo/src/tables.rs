//! Routing tables indexed by destination. Engines emit them, the verifier reads them, and switches are loaded
//! with them.
//!
//! A packet carries its destination and its virtual channel. A node that has a row looks the destination up
//! and gets an output port; a host without a row sends everything over its only cable. The virtual channel of
//! the first cable is chosen at the source, and at every node a rule for the pair (port in, port out) keeps,
//! raises or sets it.

use crate::network::{ChannelId, HostId, Network, NodeId, Port};
use thiserror::Error;

/// Stands for "no port".
const NONE: u16 = Tables::NO_PORT;

/// Virtual channel of a packet on its first cable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// Always 0.
    Zero,
    /// The destination decides: `[host]`.
    Destination(Vec<u8>),
    /// The destination and the row where the packet enters decide: `[host * rows + row]`. The row of entry is
    /// the source's own, or the row of its only neighbour.
    Entry(Vec<u8>),
}

/// What happens to the virtual channel as a packet passes a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TurnRule {
    /// It stays.
    Keep,
    /// It grows by 1.
    Raise,
    /// It becomes this number.
    Set(u8),
}

impl TurnRule {
    /// The virtual channel after the turn; more than 255 only if the tables are wrong.
    pub fn apply(self, vc: u32) -> u32 {
        match self {
            TurnRule::Keep => vc,
            TurnRule::Raise => vc + 1,
            TurnRule::Set(to) => u32::from(to),
        }
    }
}

/// The routing tables of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    engine: String,
    hosts: usize,
    row_of: Vec<u32>,
    rows: usize,
    /// `[host * rows + row]`: the output port. Engines and the verifier go destination by destination, so
    /// that the rows of one destination are next to each other.
    next: Vec<u16>,
    vcs: u8,
    start: Start,
    /// `[row]`: number of ports, and a rule for every pair of ports, `[port in * ports + port out]`. Empty if
    /// all rules are [`TurnRule::Keep`].
    turns: Vec<(usize, Vec<TurnRule>)>,
    escaped: u32,
}

impl Tables {
    /// Stands for "no port" in [`Tables::column`].
    pub(crate) const NO_PORT: u16 = u16::MAX;

    /// Empty tables with rows for the given nodes, one virtual channel and no entries.
    pub fn new(engine: impl Into<String>, net: &Network, nodes: &[NodeId]) -> Self {
        let mut row_of = vec![u32::MAX; net.nodes().len()];
        for (row, node) in nodes.iter().enumerate() {
            if let Some(slot) = row_of.get_mut(node.ix()) {
                *slot = row as u32;
            }
        }
        let hosts = net.hosts().len();
        let next = vec![NONE; nodes.len() * hosts];
        let rows = nodes.len();
        let turns = Vec::new();
        Self {
            engine: engine.into(),
            hosts,
            row_of,
            rows,
            next,
            vcs: 1,
            start: Start::Zero,
            turns,
            escaped: 0,
        }
    }

    /// Name of what made the tables.
    pub fn engine(&self) -> &str {
        &self.engine
    }
    /// Number of destinations.
    pub fn hosts(&self) -> usize {
        self.hosts
    }
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }
    /// Number of virtual channels that the tables claim to use.
    pub fn vcs(&self) -> u8 {
        self.vcs
    }
    /// Number of destinations that are reached over the spanning tree because no other routes fitted; see
    /// [`crate::Engine::AnyChannels`].
    pub fn escaped(&self) -> u32 {
        self.escaped
    }
    /// Row of a node, if it has one.
    pub fn row(&self, node: NodeId) -> Option<usize> {
        self.row_of.get(node.ix()).filter(|&&row| row != u32::MAX).map(|&row| row as usize)
    }
    /// Output port for a destination.
    pub fn port(&self, row: usize, to: HostId) -> Option<Port> {
        let entry = self.next.get(to.ix() * self.rows + row).filter(|_| row < self.rows);
        entry.filter(|&&port| port != NONE).map(|&port| Port(port))
    }
    /// Output ports for a destination by row.
    pub(crate) fn column(&self, to: HostId) -> &[u16] {
        let begin = to.ix() * self.rows;
        self.next.get(begin..begin + self.rows).unwrap_or_default()
    }
    /// First virtual channel of a packet that enters by a row.
    pub fn start(&self, row: Option<usize>, to: HostId) -> u8 {
        match (&self.start, row) {
            (Start::Zero, _) | (Start::Entry(_), None) => 0,
            (Start::Destination(by_host), _) => by_host.get(to.ix()).copied().unwrap_or(0),
            (Start::Entry(by_entry), Some(row)) => {
                by_entry.get(to.ix() * self.rows + row).copied().unwrap_or(0)
            }
        }
    }
    /// How the first virtual channel is chosen.
    pub fn starts(&self) -> &Start {
        &self.start
    }
    /// Rule for a pair of ports of a row.
    pub fn turn(&self, row: usize, port_in: Port, port_out: Port) -> TurnRule {
        let Some((ports, rules)) = self.turns.get(row) else { return TurnRule::Keep };
        if port_in.ix() >= *ports || port_out.ix() >= *ports {
            return TurnRule::Keep;
        }
        rules.get(port_in.ix() * ports + port_out.ix()).copied().unwrap_or(TurnRule::Keep)
    }
    /// Whether every turn keeps the virtual channel.
    pub fn keeps_vcs(&self) -> bool {
        self.turns.iter().all(|(_, rules)| rules.iter().all(|&rule| rule == TurnRule::Keep))
    }

    /// Sets the output port for a destination; `None` removes the entry. Ignores rows and hosts out of range.
    pub fn set_port(&mut self, row: usize, to: HostId, port: Option<Port>) {
        if row < self.rows
            && let Some(entry) = self.next.get_mut(to.ix() * self.rows + row)
        {
            *entry = port.map_or(NONE, |p| p.0);
        }
    }
    /// Sets the number of virtual channels.
    pub fn set_vcs(&mut self, vcs: u8) {
        self.vcs = vcs;
    }
    /// Sets how the first virtual channel is chosen.
    pub fn set_starts(&mut self, start: Start) {
        self.start = start;
    }
    /// Sets the rule for a pair of ports of a row that has `ports` ports.
    pub fn set_turn(&mut self, row: usize, ports: usize, port_in: Port, port_out: Port, rule: TurnRule) {
        if row >= self.rows || port_in.ix() >= ports || port_out.ix() >= ports {
            return;
        }
        if self.turns.is_empty() {
            self.turns = vec![(0, Vec::new()); self.rows];
        }
        let (size, rules) = &mut self.turns[row];
        if rules.is_empty() {
            (*size, *rules) = (ports, vec![TurnRule::Keep; ports * ports]);
        }
        if port_in.ix() < *size && port_out.ix() < *size {
            rules[port_in.ix() * *size + port_out.ix()] = rule;
        }
    }
    pub(crate) fn set_escaped(&mut self, escaped: u32) {
        self.escaped = escaped;
    }

    /// The channels that a packet takes.
    pub fn path(&self, net: &Network, from: HostId, to: HostId) -> Result<Vec<ChannelId>, PathError> {
        let host = |h: HostId| net.hosts().get(h.ix()).copied().ok_or(PathError::NoSuchHost(h.0));
        let (mut node, goal) = (host(from)?, host(to)?);
        let mut path = Vec::new();
        while node != goal {
            let stopped = || PathError::Stops {
                at: net.label(node).to_owned(),
                from: net.label(net.hosts()[from.ix()]).to_owned(),
                to: net.label(goal).to_owned(),
            };
            let passable = path.is_empty() || net.forwards(node);
            if path.len() > net.nodes().len() || !passable {
                return Err(stopped());
            }
            let channel = match self.row(node) {
                Some(row) => self.port(row, to).and_then(|port| net.channel_at(node, port)),
                None => net.out(node).next(),
            };
            let channel = channel.ok_or_else(stopped)?;
            path.push(channel);
            node = net.to(channel);
        }
        Ok(path)
    }
}

/// Why tables give no path.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PathError {
    /// A host number out of range.
    #[error("there is no host number {0}")]
    NoSuchHost(u32),
    /// The tables lead nowhere, round in circles, or through a host that does not relay.
    #[error("packets from {from} to {to} do not get beyond {at}; verify the tables")]
    Stops {
        /// Node where the packet stops.
        at: String,
        /// Source.
        from: String,
        /// Destination.
        to: String,
    },
}
