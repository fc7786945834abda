//! The network as the engines see it: nodes with table rows, arcs between them, and destinations grouped by
//! the row that their paths end in.

use crate::error::RouteError;
use crate::network::{ChannelId, HostId, Network, NodeId, Port};
use crate::tables::Tables;

/// Stands for "no row", "no level" and "no channel".
pub(super) const NONE: u32 = u32::MAX;

/// A working channel between two rows, seen from one of them.
#[derive(Clone, Copy)]
pub(super) struct Arc {
    /// The row at the other end.
    pub row: u32,
    pub channel: ChannelId,
}

/// Hosts whose paths end in the same row.
pub(super) struct Class {
    /// The row of the host itself, or of the node that it hangs on.
    pub root: u32,
    /// Whether paths may pass through the root. False only if the root is a host that does not relay and the
    /// class has a host without a row.
    pub open: bool,
    /// The hosts, each with the port that leads from the root to it (`None` if the host is the root).
    pub hosts: Vec<(HostId, Option<Port>)>,
}

/// Rows, arcs and classes. Rows belong to nodes that forward and to hosts with several cables.
pub(super) struct Fabric<'n> {
    pub net: &'n Network,
    /// `[row]`: the node.
    pub routers: Vec<NodeId>,
    /// `[row]`: whether the node forwards.
    pub forwards: Vec<bool>,
    /// `[row]`: the arcs that lead to other rows, in port order.
    pub out: Vec<Vec<Arc>>,
    /// `[row]`: the arcs that lead here from other rows; `Arc::row` is where each comes from.
    pub into: Vec<Vec<Arc>>,
    pub classes: Vec<Class>,
    /// `[row]`: number of hosts whose packets enter there.
    pub sources: Vec<u32>,
    /// `[channel]`: the row at its head, or `NONE`.
    pub head: Vec<u32>,
    /// For row `r`, `at_port[first_port[r]..first_port[r + 1]]` holds the working channel at each of its
    /// ports, or `NONE`.
    first_port: Vec<u32>,
    at_port: Vec<u32>,
    /// `[channel]`: whether both ends forward. Only such channels can wait for each other in a circle.
    pub inner: Vec<bool>,
}

impl<'n> Fabric<'n> {
    pub fn new(net: &'n Network) -> Result<Self, RouteError> {
        if net.hosts().len() < 2 {
            return Err(RouteError::TooFewHosts(net.hosts().len()));
        }
        let has_row = |n: NodeId| net.forwards(n) || net.out(n).nth(1).is_some();
        let routers: Vec<NodeId> =
            (0..net.nodes().len() as u32).map(NodeId).filter(|&n| has_row(n)).collect();
        let mut row = vec![NONE; net.nodes().len()];
        for (i, node) in routers.iter().enumerate() {
            row[node.ix()] = i as u32;
        }
        let channels = (0..net.channels() as u32).map(ChannelId);
        let head: Vec<u32> = channels.clone().map(|c| row[net.to(c).ix()]).collect();
        let inner = channels.map(|c| net.forwards(net.from(c)) && net.forwards(net.to(c))).collect();
        let mut out = vec![Vec::new(); routers.len()];
        let mut into = vec![Vec::new(); routers.len()];
        for (i, &node) in routers.iter().enumerate() {
            for channel in net.out(node).filter(|c| head[c.ix()] != NONE) {
                out[i].push(Arc { row: head[channel.ix()], channel });
                into[head[channel.ix()] as usize].push(Arc { row: i as u32, channel });
            }
        }
        let (mut first_port, mut at_port) = (vec![0], Vec::new());
        for &node in &routers {
            let channels = (0..net.ports(node) as u16).map(|port| net.channel_at(node, Port(port)));
            at_port.extend(channels.map(|channel| channel.map_or(NONE, |c| c.0)));
            first_port.push(at_port.len() as u32);
        }
        let forwards = routers.iter().map(|&n| net.forwards(n)).collect();
        let sources = vec![0; routers.len()];
        let classes = Vec::new();
        let mut fabric =
            Self { net, routers, forwards, out, into, classes, sources, head, first_port, at_port, inner };
        fabric.classify(&row)?;
        Ok(fabric)
    }

    /// Sorts the hosts into classes and counts sources.
    fn classify(&mut self, row: &[u32]) -> Result<(), RouteError> {
        let net = self.net;
        let mut class_at = vec![usize::MAX; self.routers.len()];
        for (i, &node) in net.hosts().iter().enumerate() {
            let host = HostId(i as u32);
            if row[node.ix()] != NONE {
                let root = row[node.ix()];
                self.sources[root as usize] += 1;
                self.classes.push(Class { root, open: true, hosts: vec![(host, None)] });
                continue;
            }
            let Some(channel) = net.out(node).next() else { return Err(self.apart(host)) };
            let root = self.head[channel.ix()];
            let passes = net.forwards(net.to(channel));
            if !passes && net.hosts().len() > 2 {
                return Err(self.apart(host));
            }
            if root == NONE {
                continue;
            }
            let at = &mut class_at[root as usize];
            if *at == usize::MAX {
                *at = self.classes.len();
                self.classes.push(Class { root, open: passes, hosts: Vec::new() });
            }
            self.classes[*at].hosts.push((host, Some(net.in_port(channel))));
            self.sources[root as usize] += u32::from(passes);
        }
        Ok(())
    }

    /// The error for a host that no host except perhaps its only neighbour can reach.
    fn apart(&self, host: HostId) -> RouteError {
        let node = self.net.hosts()[host.ix()];
        let neighbour = self.net.out(node).next().map(|c| self.net.to(c));
        let other =
            self.net.hosts().iter().find(|&&n| n != node && Some(n) != neighbour).or(neighbour.as_ref());
        let name = |n: NodeId| self.net.label(n).to_owned();
        RouteError::Disconnected { from: other.map_or_else(String::new, |&n| name(n)), to: name(node) }
    }

    /// Empty tables with all rows.
    pub fn tables(&self, engine: &str) -> Tables {
        Tables::new(engine, self.net, &self.routers)
    }

    /// Counts the hops from every row to the root of a class. It is an error if a row where packets enter is
    /// not reached.
    pub fn levels(&self, class: &Class, levels: &mut Levels) -> Result<(), RouteError> {
        levels.level.clear();
        levels.level.resize(self.routers.len(), NONE);
        levels.order.clear();
        levels.level[class.root as usize] = 0;
        levels.order.push(class.root);
        let mut head = 0;
        while let Some(&row) = levels.order.get(head) {
            head += 1;
            let passes = if row == class.root { class.open } else { self.forwards[row as usize] };
            if !passes {
                continue;
            }
            for arc in &self.into[row as usize] {
                if levels.level[arc.row as usize] == NONE {
                    levels.level[arc.row as usize] = levels.level[row as usize] + 1;
                    levels.order.push(arc.row);
                }
            }
        }
        self.check_reached(class, |row| levels.level[row] != NONE)
    }

    /// Fails if packets enter at a row that is not reached.
    pub fn check_reached(&self, class: &Class, reached: impl Fn(usize) -> bool) -> Result<(), RouteError> {
        let missing = (0..self.routers.len()).find(|&row| self.sources[row] > 0 && !reached(row));
        let Some(row) = missing else { return Ok(()) };
        let node = self.routers[row];
        let at = self.net.out(node).map(|c| self.net.to(c)).find(|&n| self.net.host_of(n).is_some());
        let from = if self.net.host_of(node).is_some() { node } else { at.unwrap_or(node) };
        let to = self.net.hosts()[class.hosts[0].0.ix()];
        Err(RouteError::Disconnected { from: self.net.label(from).into(), to: self.net.label(to).into() })
    }

    /// The arcs of a row that lead one hop nearer to the root.
    pub fn nearer<'a>(
        &'a self,
        class: &'a Class,
        levels: &'a Levels,
        row: u32,
    ) -> impl Iterator<Item = Arc> + 'a {
        let level = levels.level[row as usize];
        self.out[row as usize].iter().copied().filter(move |arc| {
            let passes = arc.row == class.root || self.forwards[arc.row as usize];
            passes && levels.level[arc.row as usize].wrapping_add(1) == level
        })
    }

    /// The channel that the tables give at a row.
    pub fn next(&self, tables: &Tables, row: u32, host: HostId) -> Option<ChannelId> {
        self.next_in(tables.column(host), row)
    }

    /// The channel that a column of the tables, that of one destination, gives at a row.
    #[inline]
    pub fn next_in(&self, column: &[u16], row: u32) -> Option<ChannelId> {
        let port = column[row as usize];
        let [first, end] = [row, row + 1].map(|row| self.first_port[row as usize]);
        let at = first + u32::from(port);
        if port == Tables::NO_PORT || at >= end {
            return None;
        }
        Some(self.at_port[at as usize]).filter(|&channel| channel != NONE).map(ChannelId)
    }

    /// Sets the entries of the root itself: delivery to every host of the class.
    pub fn deliver(&self, class: &Class, tables: &mut Tables) {
        for &(host, port) in &class.hosts {
            if let Some(port) = port {
                tables.set_port(class.root as usize, host, Some(port));
            }
        }
    }
}

/// Distances of the rows from the root of a class.
#[derive(Default)]
pub(super) struct Levels {
    /// `[row]`: hops, or `NONE`.
    pub level: Vec<u32>,
    /// The rows that are reached, in ascending order of levels.
    pub order: Vec<u32>,
}

/// Numbers the pairs (channel, channel after it) densely.
pub(super) struct Dependencies {
    /// `[channel]`: number of the pair with the channel behind port 0.
    base: Vec<u32>,
    /// `[number]`: the pair.
    pairs: Vec<(ChannelId, ChannelId)>,
}

impl Dependencies {
    pub fn new(net: &Network) -> Self {
        let mut base = Vec::with_capacity(net.channels());
        let mut pairs = Vec::new();
        for first in (0..net.channels() as u32).map(ChannelId) {
            base.push(pairs.len() as u32);
            let node = net.to(first);
            // No channel follows by a port without a working cable; the number of that pair stays unused.
            let ports = (0..net.ports(node) as u16).map(|port| net.channel_at(node, Port(port)));
            pairs.extend(ports.map(|second| (first, second.unwrap_or(first))));
        }
        Self { base, pairs }
    }
    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }
    /// Number of the pair.
    pub fn id(&self, net: &Network, first: ChannelId, second: ChannelId) -> usize {
        self.base[first.ix()] as usize + net.out_port(second).ix()
    }
    /// Number of the pair of a channel and the one that leaves its head by a port.
    #[inline]
    pub fn by_port(&self, first: ChannelId, port: u16) -> usize {
        self.base[first.ix()] as usize + usize::from(port)
    }
    /// The pair of a number.
    pub fn pair(&self, id: usize) -> (ChannelId, ChannelId) {
        self.pairs[id]
    }
    /// The pairs that begin with a channel: their numbers and the channels that follow.
    pub fn after<'a>(
        &'a self,
        net: &'a Network,
        first: ChannelId,
    ) -> impl Iterator<Item = (usize, ChannelId)> + 'a {
        net.out(net.to(first)).map(move |second| (self.id(net, first, second), second))
    }
}
