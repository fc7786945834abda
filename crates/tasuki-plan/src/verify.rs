//! Checks tables from a file on a network, whole or after failures.

use crate::{PlanningError, TablesFile};
use serde::Serialize;
use std::path::Path;
use tasuki_topo::{Claims, HostId, LinkId, Network, NodeId, verify};

/// Number of faulty pairs to list.
const WITNESSES: usize = 20;

/// Options of the check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyOptions {
    /// Number of virtual channels of every cable; `None`: as many as the tables claim.
    pub channels: Option<u8>,
    /// Whether the network drops packets instead of waiting, so that a circle of waiting is no fault.
    pub lossy: bool,
    /// Whether a path that is longer than necessary is a fault.
    pub minimal: bool,
    /// Failed parts: names of nodes, or of the two nodes that a cable joins (`a,b`).
    pub without: Vec<String>,
}

/// The findings of the check.
#[derive(Debug, Serialize)]
pub struct Verdict {
    /// Name of the network.
    pub network: String,
    /// Name of the engine that made the tables, as the file says.
    pub engine: String,
    /// Why the tables do not hold what is claimed; `None` if all is proven.
    pub refuted: Option<String>,
    /// Whether a circle of waiting is a fault.
    pub lossless: bool,
    /// Number of virtual channels in use.
    pub channels_used: u32,
    /// Number of ordered pairs of hosts.
    pub pairs: u64,
    /// Number of pairs whose packets arrive.
    pub delivered: u64,
    /// The first pairs that are not delivered.
    pub faults: Vec<TableFault>,
    /// Number of pairs with a path longer than necessary.
    pub longer: u64,
    /// Largest number of cables by which a path is longer than necessary.
    pub excess_max: u32,
    /// Number of cables on the longest path.
    pub cables_max: u32,
    /// Number of cables on a path, mean over delivered pairs.
    pub cables_mean: f64,
    /// Number of dependencies: pairs of (cable, virtual channel) of which the first can wait for the second.
    pub dependencies: u64,
    /// A smallest circle of cables in which packets can wait for each other.
    pub circle: Option<Vec<String>>,
}

/// A pair that is not delivered.
#[derive(Debug, Serialize)]
pub struct TableFault {
    /// The host that sends.
    pub from: String,
    /// The host that the packet is for.
    pub to: String,
    /// What happens to the packet.
    pub what: String,
}

/// Checks the tables of a file on a network.
pub fn verify_tables(net: Network, file: &Path, options: &VerifyOptions) -> Result<Verdict, PlanningError> {
    let net = fail(net, &options.without)?;
    let tables = TablesFile::load(file)?.tables(&net, file)?;
    let claims = Claims {
        minimal: options.minimal,
        deadlock_free: !options.lossy,
        vcs: options.channels.unwrap_or(tables.vcs()),
        witnesses: WITNESSES,
    };
    let report = verify(&net, &tables, WITNESSES);
    let name = |host: HostId| net.label(net.hosts()[host.ix()]).to_owned();
    let faults = report.faults.iter().map(|fault| TableFault {
        from: name(fault.from),
        to: name(fault.to),
        what: fault.kind.describe(&net),
    });
    let channel = |&(channel, vc)| format!("{} channel {vc}", net.channel_label(channel));
    Ok(Verdict {
        network: net.name().into(),
        engine: tables.engine().into(),
        refuted: report.check(&net, claims).err().map(|refutation| refutation.to_string()),
        lossless: !options.lossy,
        channels_used: report.vcs,
        pairs: report.pairs,
        delivered: report.delivered,
        faults: faults.collect(),
        longer: report.longer,
        excess_max: report.excess_max,
        cables_max: report.cables_max,
        cables_mean: report.cables as f64 / report.delivered.max(1) as f64,
        dependencies: report.dependencies,
        circle: report.circle.as_ref().map(|circle| circle.iter().map(channel).collect()),
    })
}

/// The network after failures, each written as for [`VerifyOptions::without`].
fn fail(net: Network, without: &[String]) -> Result<Network, PlanningError> {
    let find = |name: &str| {
        let found = (0..net.nodes().len() as u32).map(NodeId).find(|&node| net.label(node) == name);
        let unknown = || PlanningError::request(format!("--without: there is no {name:?} in {}", net.name()));
        found.ok_or_else(unknown)
    };
    let (mut links, mut nodes) = (Vec::new(), Vec::new());
    for what in without {
        let Some((a, b)) = what.split_once(',') else {
            nodes.push(find(what)?);
            continue;
        };
        let ends = [find(a)?, find(b)?];
        let between = |id: &LinkId| {
            let of = net.links()[id.ix()].ends.map(|(node, _)| node);
            of == ends || of == [ends[1], ends[0]]
        };
        let before = links.len();
        links.extend((0..net.links().len() as u32).map(LinkId).filter(between));
        if links.len() == before {
            return Err(PlanningError::request(format!("--without {what}: no cable joins {a} and {b}")));
        }
    }
    Ok(net.without(&links, &nodes))
}
