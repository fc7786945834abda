//! Network and tables as flat arrays: the verifier visits every node once per destination.

use super::FaultKind;
use crate::network::{ChannelId, HostId, Network, NodeId, Port};
use crate::tables::{Tables, TurnRule};

/// Stands for "no channel" and "no row".
pub(super) const NONE: u32 = u32::MAX;

pub(super) struct Flat<'a> {
    pub net: &'a Network,
    pub tables: &'a Tables,
    /// For node `n`, `at_port[first_port[n]..first_port[n + 1]]` holds the working channel at each of its
    /// ports, or `NONE`.
    first_port: Vec<u32>,
    at_port: Vec<u32>,
    /// `[channel]`: the node that it leads to.
    to: Vec<u32>,
    /// `[channel]`: the port that it leaves by.
    port: Vec<u16>,
    /// `[node]`: whether it forwards.
    pub passes: Vec<bool>,
    /// `[node]`: its row, or `NONE`.
    row: Vec<u32>,
    /// `[node]`: its only working channel, or `NONE` if it has none or several.
    only: Vec<u32>,
    /// Whether no turn changes the virtual channel.
    keeps_vcs: bool,
    /// `[channel]`: number of the turn from it to port 0 of the node that it leads to.
    first_turn: Vec<u32>,
    /// Number of turns: pairs of a channel and a port of the node that it leads to.
    pub turns: usize,
}

impl<'a> Flat<'a> {
    pub fn new(net: &'a Network, tables: &'a Tables) -> Self {
        let nodes = || (0..net.nodes().len() as u32).map(NodeId);
        let channels = || (0..net.channels() as u32).map(ChannelId);
        let (mut first_port, mut at_port) = (vec![0], Vec::new());
        for node in nodes() {
            let ports = (0..net.ports(node)).map(|port| net.channel_at(node, Port(port as u16)));
            at_port.extend(ports.map(|channel| channel.map_or(NONE, |c| c.0)));
            first_port.push(at_port.len() as u32);
        }
        let only = |node: NodeId| {
            let mut cables = net.out(node);
            cables.next().filter(|_| cables.next().is_none()).map_or(NONE, |c| c.0)
        };
        let mut turns = 0;
        let first_turn = channels().map(|channel| {
            let first = turns as u32;
            turns += net.ports(net.to(channel));
            first
        });
        Self {
            first_turn: first_turn.collect(),
            turns,
            net,
            tables,
            to: channels().map(|c| net.to(c).0).collect(),
            port: channels().map(|c| net.out_port(c).0).collect(),
            passes: nodes().map(|n| net.forwards(n)).collect(),
            row: nodes().map(|n| tables.row(n).map_or(NONE, |row| row as u32)).collect(),
            only: nodes().map(only).collect(),
            keeps_vcs: tables.keeps_vcs(),
            first_port,
            at_port,
        }
    }

    /// The node that a channel leads to.
    pub fn to(&self, channel: u32) -> u32 {
        self.to[channel as usize]
    }
    /// The node that a channel comes from.
    pub fn from(&self, channel: u32) -> u32 {
        self.to[(channel ^ 1) as usize]
    }
    /// The only working channel of a node that does not forward and has no other.
    pub fn leaf(&self, node: u32) -> Option<u32> {
        let only = self.only[node as usize];
        (only != NONE && !self.passes[node as usize]).then_some(only)
    }
    /// The working channels out of a node.
    pub fn out(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let ports = self.first_port[node as usize] as usize..self.first_port[node as usize + 1] as usize;
        self.at_port[ports].iter().copied().filter(|&channel| channel != NONE)
    }

    /// The channel that a node sends packets over; `column` is the column of the tables for the destination.
    pub fn hop(&self, node: u32, column: &[u16]) -> Result<u32, FaultKind> {
        let row = self.row[node as usize];
        let missing = FaultKind::NoEntry { node: NodeId(node) };
        if row == NONE {
            let only = self.only[node as usize];
            return if only == NONE { Err(missing) } else { Ok(only) };
        }
        let port =
            column.get(row as usize).copied().filter(|&port| port != Tables::NO_PORT).ok_or(missing)?;
        let dead = FaultKind::DeadPort { node: NodeId(node), port: Port(port) };
        let at = self.first_port[node as usize] + u32::from(port);
        if at >= self.first_port[node as usize + 1] {
            return Err(dead);
        }
        let channel = self.at_port[at as usize];
        if channel == NONE { Err(dead) } else { Ok(channel) }
    }

    /// The virtual channel on which a path begins.
    pub fn start(&self, source: u32, first: u32, to: HostId) -> u32 {
        let row = |node: u32| Some(self.row[node as usize]).filter(|&row| row != NONE);
        let entry = row(source).or_else(|| row(self.to(first)));
        u32::from(self.tables.start(entry.map(|row| row as usize), to))
    }

    /// The rule for the virtual channel between one channel and the next.
    pub fn turn(&self, channel: u32, next: u32) -> TurnRule {
        let row = self.row[self.to(channel) as usize];
        if self.keeps_vcs || row == NONE {
            return TurnRule::Keep;
        }
        let [port_in, port_out] = [channel ^ 1, next].map(|c| Port(self.port[c as usize]));
        self.tables.turn(row as usize, port_in, port_out)
    }

    /// Number of the pair of a channel and the next one.
    pub fn turn_number(&self, channel: u32, next: u32) -> usize {
        self.first_turn[channel as usize] as usize + usize::from(self.port[next as usize])
    }

    /// Whether the wait of a channel for the next one can be part of a circle: nothing waits for a cable out
    /// of a host that does not relay, and a cable into one waits for nothing.
    pub fn inner(&self, channel: u32, next: u32) -> bool {
        self.passes[self.from(channel) as usize] && self.passes[self.to(next) as usize]
    }
}
