//! Makes routes through a network by several engines, and checks each by the verifier.

use crate::{
    ENGINES, PlanningError, Steps, TablesFile, TrafficPattern, TrafficRates, traffic::Flows, write_file,
};
use serde::Serialize;
use std::path::PathBuf;
use tasuki_topo::{Claims, Engine, HostId, Limits, Network, NodeId, Report, Tables, route, verify};

/// Options of routes.
#[derive(Clone, Debug)]
pub struct RouteOptions {
    /// The engine; `None`: all engines.
    pub engine: Option<Engine>,
    /// Virtual channels of the network, and whether packets wait for room.
    pub limits: Limits,
    /// Traffic pattern whose rates over the tables are computed.
    pub pattern: Option<TrafficPattern>,
    /// Whether all entries of the tables are returned.
    pub entries: bool,
    /// File to write the tables to. If several engines make tables, those of the last one stay.
    pub output: Option<PathBuf>,
}

/// The routes of one network.
#[derive(Debug, Serialize)]
pub struct Routes {
    /// Name of the network.
    pub network: String,
    /// Number of hosts.
    pub hosts: usize,
    /// Whether packets wait if there is no room, so that they could wait in a circle.
    pub lossless: bool,
    /// Number of virtual channels of every cable.
    pub channels: u8,
    /// The result of each engine.
    pub engines: Vec<EngineRoutes>,
}

/// The result of one engine.
#[derive(Debug, Serialize)]
pub struct EngineRoutes {
    /// Name of the engine.
    pub engine: &'static str,
    /// Why there are no tables; `None` if there are.
    pub failed: Option<String>,
    /// The findings of the verifier.
    #[serde(flatten)]
    pub checked: Option<CheckedRoutes>,
}

/// The findings of the verifier about tables.
#[derive(Debug, Serialize)]
pub struct CheckedRoutes {
    /// Why the tables do not hold what is claimed; `None` if all is proven.
    pub refuted: Option<String>,
    /// Number of virtual channels in use, as the verifier counts them.
    pub channels_used: u32,
    /// Number of ordered pairs of hosts.
    pub pairs: u64,
    /// Number of pairs whose packets arrive.
    pub delivered: u64,
    /// Number of pairs with a path longer than necessary.
    pub longer: u64,
    /// Largest number of cables by which a path is longer than necessary.
    pub excess_max: u32,
    /// Number of cables on the longest path.
    pub cables_max: u32,
    /// Number of cables on a path, mean over delivered pairs.
    pub cables_mean: f64,
    /// A smallest circle of cables in which packets could wait if the same paths had one virtual channel.
    pub circle_with_one_channel: Option<Vec<String>>,
    /// Rates of the traffic pattern that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic: Option<TrafficRates>,
    /// All entries of the tables, if they were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<TableEntry>,
}

/// A row of a table at one node.
#[derive(Debug, Serialize)]
pub struct TableEntry {
    /// The node that has the table.
    pub node: String,
    /// The destination of a packet.
    pub to: String,
    /// The node that the packet goes to next.
    pub next: String,
    /// The port that leads there, counted from 1.
    pub port: u32,
    /// Virtual channel of a packet that enters the network here.
    pub channel: u8,
}

impl Routes {
    /// Whether there are tables, and all of them hold what is claimed.
    pub fn are_proven(&self) -> bool {
        let mut checked = self.engines.iter().filter_map(|made| made.checked.as_ref()).peekable();
        checked.peek().is_some() && checked.all(|checked| checked.refuted.is_none())
    }
}

/// Makes routes by engines, and checks them. An engine that fails is an error only if it is the one that was
/// asked for.
pub fn routes(net: &Network, options: &RouteOptions, step: Steps<'_>) -> Result<Routes, PlanningError> {
    step("bounds");
    let flows = options.pattern.map(|pattern| Flows::new(net, pattern)).transpose()?;
    let mut engines = Vec::new();
    for (name, engine) in ENGINES.into_iter().filter(|(_, e)| options.engine.is_none_or(|one| one == *e)) {
        step(name);
        let (failed, checked) = match check(net, engine, flows.as_ref(), options) {
            Ok(checked) => (None, Some(checked)),
            Err(error) if options.engine.is_none() => (Some(error.to_string()), None),
            Err(error) => return Err(error),
        };
        engines.push(EngineRoutes { engine: name, failed, checked });
    }
    Ok(Routes {
        network: net.name().to_owned(),
        hosts: net.hosts().len(),
        lossless: options.limits.lossless,
        channels: options.limits.vcs,
        engines,
    })
}

/// Makes tables by one engine and checks them.
fn check(
    net: &Network,
    engine: Engine,
    flows: Option<&Flows>,
    options: &RouteOptions,
) -> Result<CheckedRoutes, PlanningError> {
    let limits = options.limits;
    let claims = if limits.lossless { Claims::lossless(limits.vcs) } else { Claims::lossy() };
    let claims = if engine.is_minimal() { claims.minimal() } else { claims };
    let tables = route(net, engine, limits)?;
    if let Some(path) = &options.output {
        write_file(path, &TablesFile::new(net, &tables).to_json()?)?;
    }
    let report = verify(net, &tables, 1);
    let refuted = report.check(net, claims).err().map(|refutation| refutation.to_string());
    Ok(CheckedRoutes {
        refuted,
        channels_used: report.vcs,
        pairs: report.pairs,
        delivered: report.delivered,
        longer: report.longer,
        excess_max: report.excess_max,
        cables_max: report.cables_max,
        cables_mean: report.cables as f64 / report.delivered.max(1) as f64,
        circle_with_one_channel: circle_with_one_channel(net, &tables, &report),
        traffic: flows.map(|flows| flows.over(net, &tables)).transpose()?,
        tables: if options.entries { entries(net, &tables) } else { Vec::new() },
    })
}

/// The circle in which packets could wait if the same paths had one virtual channel.
fn circle_with_one_channel(net: &Network, tables: &Tables, report: &Report) -> Option<Vec<String>> {
    let names = |report: &Report| {
        let circle = report.circle.as_ref()?;
        Some(circle.iter().map(|&(channel, _)| net.channel_label(channel)).collect())
    };
    if report.vcs <= 1 {
        return names(report);
    }
    let nodes: Vec<NodeId> = rows(net, tables).map(|(node, _)| node).collect();
    let mut flat = Tables::new("one channel", net, &nodes);
    for (node, row) in rows(net, tables) {
        for host in (0..net.hosts().len() as u32).map(HostId) {
            if let Some(at) = flat.row(node) {
                flat.set_port(at, host, tables.port(row, host));
            }
        }
    }
    names(&verify(net, &flat, 1))
}

/// The nodes that have a row.
fn rows<'a>(net: &'a Network, tables: &'a Tables) -> impl Iterator<Item = (NodeId, usize)> + 'a {
    (0..net.nodes().len() as u32).map(NodeId).filter_map(|node| Some((node, tables.row(node)?)))
}

fn entries(net: &Network, tables: &Tables) -> Vec<TableEntry> {
    let mut entries = Vec::new();
    for (node, row) in rows(net, tables) {
        for (number, &goal) in net.hosts().iter().enumerate() {
            let to = HostId(number as u32);
            let Some(port) = tables.port(row, to) else { continue };
            let Some(channel) = net.channel_at(node, port) else { continue };
            entries.push(TableEntry {
                node: net.label(node).to_owned(),
                to: net.label(goal).to_owned(),
                next: net.label(net.to(channel)).to_owned(),
                port: u32::from(port.0) + 1,
                channel: tables.start(Some(row), to),
            });
        }
    }
    entries
}
