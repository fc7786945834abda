//! Files of routing tables.

use crate::{PlanningError, files::read_file};
use serde::{Deserialize, Serialize};
use std::{collections::HashMap, path::Path};
use tasuki_topo::{HostId, Network, NodeId, Port, Start, Tables, TurnRule};

/// Version of the format.
const FORMAT: u32 = 1;

/// Tables of a whole network.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TablesFile {
    format: u32,
    /// Name for the reader; the check does not use it.
    #[serde(default)]
    network: String,
    #[serde(default)]
    engine: String,
    /// Number of virtual channels in use.
    channels: u8,
    nodes: Vec<NodeTable>,
}

/// The table of a node.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeTable {
    node: String,
    to: Vec<Entry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    turns: Vec<Turn>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    host: String,
    /// Output port, from 1.
    port: u16,
    /// First virtual channel of packets that enter the network here.
    #[serde(default, skip_serializing_if = "is_zero")]
    channel: u8,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Turn {
    r#in: u16,
    out: u16,
    rule: Rule,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Rule {
    Raise,
    Set(u8),
}

fn is_zero(channel: &u8) -> bool {
    *channel == 0
}

impl TablesFile {
    /// The file of the tables of a network.
    pub fn new(net: &Network, tables: &Tables) -> Self {
        let nodes = (0..net.nodes().len() as u32).map(NodeId);
        let nodes = nodes.filter_map(|node| Some(node_table(net, tables, node, tables.row(node)?))).collect();
        Self {
            format: FORMAT,
            network: net.name().into(),
            engine: tables.engine().into(),
            channels: tables.vcs(),
            nodes,
        }
    }

    /// The text of the file.
    pub fn to_json(&self) -> Result<String, PlanningError> {
        Ok(format!("{}\n", serde_json::to_string_pretty(self)?))
    }

    /// Reads a file.
    pub fn load(path: &Path) -> Result<Self, PlanningError> {
        let wrong = |why: String| PlanningError::Contents { path: path.into(), why };
        let file: Self = serde_json::from_str(&read_file(path)?)
            .map_err(|error| wrong(format!("{error}; see tasuki topo verify --help")))?;
        match file.format {
            FORMAT => Ok(file),
            other => Err(wrong(format!("format {other}; this Tasuki reads format {FORMAT}"))),
        }
    }

    /// The tables for a network whose parts have the names of the file; `path` is for error messages.
    pub fn tables(&self, net: &Network, path: &Path) -> Result<Tables, PlanningError> {
        let wrong = |why: String| PlanningError::Contents { path: path.into(), why };
        let by_name: HashMap<&str, NodeId> =
            (0..net.nodes().len() as u32).map(NodeId).map(|node| (net.label(node), node)).collect();
        let find = |name: &str| {
            let no =
                || wrong(format!("there is no {name:?} in {}; were the tables made for it?", net.name()));
            by_name.get(name).copied().ok_or_else(no)
        };
        let mut nodes = Vec::new();
        for table in &self.nodes {
            let node = find(&table.node)?;
            if nodes.contains(&node) {
                return Err(wrong(format!("{} has two tables; join them", table.node)));
            }
            nodes.push(node);
        }
        let mut tables = Tables::new(self.engine.clone(), net, &nodes);
        tables.set_vcs(self.channels);
        let mut start = vec![0; nodes.len() * net.hosts().len()];
        for (row, table) in self.nodes.iter().enumerate() {
            for entry in &table.to {
                let host = net.host_of(find(&entry.host)?);
                let host = host.ok_or_else(|| wrong(format!("{} is a switch, no host", entry.host)))?;
                let port = from_one(entry.port, &table.node).map_err(wrong)?;
                tables.set_port(row, host, Some(port));
                start[host.ix() * nodes.len() + row] = entry.channel;
            }
            for turn in &table.turns {
                let [a, b] = [turn.r#in, turn.out].map(|port| from_one(port, &table.node));
                let rule = match turn.rule {
                    Rule::Raise => TurnRule::Raise,
                    Rule::Set(channel) => TurnRule::Set(channel),
                };
                tables.set_turn(row, net.ports(nodes[row]), a.map_err(wrong)?, b.map_err(wrong)?, rule);
            }
        }
        if start.iter().any(|&channel| channel > 0) {
            tables.set_starts(Start::Entry(start));
        }
        Ok(tables)
    }
}

/// A port of a file, which counts from 1.
fn from_one(port: u16, node: &str) -> Result<Port, String> {
    port.checked_sub(1).map(Port).ok_or_else(|| format!("{node}: port 0; ports count from 1"))
}

fn node_table(net: &Network, tables: &Tables, node: NodeId, row: usize) -> NodeTable {
    let hosts = net.hosts().iter().enumerate().map(|(number, &goal)| (HostId(number as u32), goal));
    let entries = hosts.filter_map(|(to, goal)| {
        let port = tables.port(row, to)?;
        Some(Entry { host: net.label(goal).into(), port: port.0 + 1, channel: tables.start(Some(row), to) })
    });
    let ports = || (0..net.ports(node) as u16).map(Port);
    let turns = ports().flat_map(|a| ports().map(move |b| (a, b))).filter_map(|(a, b)| {
        let rule = match tables.turn(row, a, b) {
            TurnRule::Keep => return None,
            TurnRule::Raise => Rule::Raise,
            TurnRule::Set(channel) => Rule::Set(channel),
        };
        Some(Turn { r#in: a.0 + 1, out: b.0 + 1, rule })
    });
    let turns = if tables.keeps_vcs() { Vec::new() } else { turns.collect() };
    NodeTable { node: net.label(node).into(), to: entries.collect(), turns }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ENGINES;
    use tasuki_topo::{Limits, route, shapes, verify};

    /// To the verifier, tables that are read back are equal to those that were written.
    #[test]
    fn tables_read_back() -> Result<(), PlanningError> {
        let fit = shapes::Fit::switches(2);
        let nets = [
            shapes::torus(&[4, 4], shapes::PairRing::OneCable, &fit)?,
            shapes::ring(5, &shapes::Fit::relays())?,
        ];
        for net in nets {
            for (name, engine) in ENGINES {
                let tables = route(&net, engine, Limits::lossless(16))?;
                let text = TablesFile::new(&net, &tables).to_json()?;
                let file: TablesFile = serde_json::from_str(&text)?;
                let read = file.tables(&net, Path::new("file"))?;
                assert_eq!(verify(&net, &read, 9), verify(&net, &tables, 9), "{}, {name}", net.name());
            }
        }
        Ok(())
    }
}
