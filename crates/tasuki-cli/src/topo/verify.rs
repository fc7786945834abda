//! `tasuki topo verify`

use super::{network::network, range::digits, tables::TablesFile};
use crate::{
    args::VerifyArgs,
    failure::Failure,
    terminal::{print_json, table},
};
use serde::Serialize;
use std::process::ExitCode;
use tasuki_topo::{Claims, LinkId, Network, NodeId, verify};

/// Faulty pairs that are listed.
const WITNESSES: usize = 20;

/// What was found.
#[derive(Debug, Serialize)]
struct Verdict {
    network: String,
    engine: String,
    /// Why the tables do not hold what is claimed; none if all is proven.
    refuted: Option<String>,
    lossless: bool,
    channels_used: u32,
    pairs: u64,
    delivered: u64,
    /// The first pairs that are not delivered.
    faults: Vec<Fault>,
    longer: u64,
    excess_max: u32,
    cables_max: u32,
    cables_mean: f64,
    /// What can wait for what, as (cable, channel) pairs.
    dependencies: u64,
    /// A smallest circle of cables in which packets can wait for each other.
    circle: Option<Vec<String>>,
}

#[derive(Debug, Serialize)]
struct Fault {
    from: String,
    to: String,
    what: String,
}

/// Reads tables and checks them.
pub fn run(arguments: &VerifyArgs) -> Result<ExitCode, Failure> {
    let net = fail(network(&arguments.network)?, &arguments.without)?;
    let tables = TablesFile::load(&arguments.tables)?.tables(&net, &arguments.tables)?;
    let claims = Claims {
        minimal: arguments.minimal,
        deadlock_free: !arguments.lossy,
        vcs: arguments.channels.unwrap_or(tables.vcs()),
        witnesses: WITNESSES,
    };
    let report = verify(&net, &tables, WITNESSES);
    let name = |host: tasuki_topo::HostId| net.label(net.hosts()[host.ix()]).to_owned();
    let faults = report.faults.iter();
    let channel = |&(channel, vc)| format!("{} channel {vc}", net.channel_label(channel));
    let verdict = Verdict {
        network: net.name().into(),
        engine: tables.engine().into(),
        refuted: report.check(&net, claims).err().map(|refutation| refutation.to_string()),
        lossless: !arguments.lossy,
        channels_used: report.vcs,
        pairs: report.pairs,
        delivered: report.delivered,
        faults: faults
            .map(|fault| Fault {
                from: name(fault.from),
                to: name(fault.to),
                what: fault.kind.describe(&net),
            })
            .collect(),
        longer: report.longer,
        excess_max: report.excess_max,
        cables_max: report.cables_max,
        cables_mean: report.cables as f64 / report.delivered.max(1) as f64,
        dependencies: report.dependencies,
        circle: report.circle.as_ref().map(|circle| circle.iter().map(channel).collect()),
    };
    if arguments.json {
        print_json(&verdict)?;
    } else {
        print(&verdict);
    }
    Ok(if verdict.refuted.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The network after failures.
fn fail(net: Network, without: &[String]) -> Result<Network, Failure> {
    let find = |name: &str| {
        let found = (0..net.nodes().len() as u32).map(NodeId).find(|&node| net.label(node) == name);
        found.ok_or_else(|| Failure::new(format!("--without: there is no {name:?} in {}", net.name())))
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
            return Err(Failure::new(format!("--without {what}: no cable joins {a} and {b}")));
        }
    }
    Ok(net.without(&links, &nodes))
}

fn print(verdict: &Verdict) {
    let by = if verdict.engine.is_empty() { "tables" } else { &verdict.engine };
    println!("{}, {by}", verdict.network);
    match (&verdict.refuted, verdict.lossless) {
        (None, true) => println!("PROVEN: every pair is delivered, and no deadlock can arise"),
        (None, false) => println!("PROVEN: every pair is delivered"),
        (Some(why), _) => println!("REFUTED: {why}"),
    }
    let mut rows = table(["", ""]);
    let mut row = |what: &str, value: String| {
        rows.add_row([what, &value]);
    };
    row("pairs delivered", format!("{} of {}", verdict.delivered, verdict.pairs));
    row("longer than necessary", format!("{}, by up to {} cables", verdict.longer, verdict.excess_max));
    let mean = digits(verdict.cables_mean);
    row("cables on a path", format!("{mean} on average, {} at most", verdict.cables_max));
    row("virtual channels in use", verdict.channels_used.to_string());
    row("waiting between cables", format!("{} pairs of (cable, channel)", verdict.dependencies));
    row("smallest circle of waiting", verdict.circle.as_ref().map_or("none".into(), |all| all.join(", ")));
    println!("{rows}");
    if !verdict.faults.is_empty() {
        let mut rows = table(["from", "to", "what happens"]);
        for Fault { from, to, what } in &verdict.faults {
            rows.add_row([from, to, what]);
        }
        println!("{rows}");
    }
}
