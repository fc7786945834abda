//! `tasuki topo route`

use super::{
    network::network,
    range::digits,
    tables::TablesFile,
    traffic::{Got, Wanted},
};
use crate::{
    args::{ENGINES, RouteArgs},
    failure::Failure,
    picture::write,
    terminal::{print_json, progress_bar, table},
};
use serde::Serialize;
use std::process::ExitCode;
use tasuki_topo::{Claims, Engine, HostId, Limits, Network, NodeId, Report, Tables, route, verify};

/// The routes of one network.
#[derive(Debug, Serialize)]
struct Routes {
    network: String,
    hosts: usize,
    /// Whether packets wait where there is no room, so that they could wait in a circle.
    lossless: bool,
    /// Virtual channels that every cable has.
    channels: u8,
    engines: Vec<Made>,
}

/// What one engine made.
#[derive(Debug, Serialize)]
struct Made {
    engine: &'static str,
    /// Why there are no tables.
    failed: Option<String>,
    #[serde(flatten)]
    checked: Option<Checked>,
}

/// Tables, as the verifier sees them.
#[derive(Debug, Serialize)]
struct Checked {
    /// Why the tables do not hold what is claimed; none if all is proven.
    refuted: Option<String>,
    /// Virtual channels in use, as the verifier counts them.
    channels_used: u32,
    pairs: u64,
    delivered: u64,
    /// Pairs with a path longer than necessary, and by how many cables at most.
    longer: u64,
    excess_max: u32,
    cables_max: u32,
    cables_mean: f64,
    /// With one virtual channel on the same paths: a smallest circle of cables in which packets can wait.
    circle_with_one_channel: Option<Vec<String>>,
    /// What the pattern asked for gets.
    #[serde(skip_serializing_if = "Option::is_none")]
    traffic: Option<Got>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tables: Vec<Entry>,
}

/// A row of a table at one node.
#[derive(Debug, Serialize)]
struct Entry {
    node: String,
    to: String,
    /// The next node.
    next: String,
    /// Port, counted from 1.
    port: u32,
    /// Virtual channel of a packet that enters the network here.
    channel: u8,
}

/// Makes routes, checks them and prints what was found; fails where the one engine asked for does, or the check.
pub fn run(arguments: &RouteArgs) -> Result<ExitCode, Failure> {
    let net = network(&arguments.network)?;
    let limits = match arguments.lossy {
        true => Limits::lossy(),
        false => Limits::lossless(arguments.channels),
    };
    let bar = progress_bar(ENGINES.len() as u64).with_prefix("route");
    bar.set_message("bounds");
    let wanted = arguments.pattern.map(|pattern| Wanted::new(&net, pattern)).transpose();
    let wanted = wanted.inspect_err(|_| bar.finish_and_clear())?;
    let mut engines = Vec::new();
    for (name, engine) in ENGINES.into_iter().filter(|(_, e)| arguments.engine.is_none_or(|one| one == *e)) {
        bar.set_message(name);
        match check(&net, engine, limits, wanted.as_ref(), arguments) {
            Ok(checked) => engines.push(Made { engine: name, failed: None, checked: Some(checked) }),
            Err(error) if arguments.engine.is_none() => {
                engines.push(Made { engine: name, failed: Some(error.message), checked: None });
            }
            Err(error) => {
                bar.finish_and_clear();
                return Err(error);
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let routes = Routes {
        network: net.name().to_owned(),
        hosts: net.hosts().len(),
        lossless: limits.lossless,
        channels: limits.vcs,
        engines,
    };
    if arguments.json {
        print_json(&routes)?;
    } else {
        print(&routes);
    }
    let refuted =
        routes.engines.iter().any(|made| made.checked.as_ref().is_some_and(|c| c.refuted.is_some()));
    let nothing = routes.engines.iter().all(|made| made.checked.is_none());
    Ok(if refuted || nothing { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Tables by one engine and what the verifier says of them.
fn check(
    net: &Network,
    engine: Engine,
    limits: Limits,
    wanted: Option<&Wanted>,
    arguments: &RouteArgs,
) -> Result<Checked, Failure> {
    let claims = if limits.lossless { Claims::lossless(limits.vcs) } else { Claims::lossy() };
    let claims = if engine.is_minimal() { claims.minimal() } else { claims };
    let tables = route(net, engine, limits)?;
    if let Some(path) = &arguments.output {
        write(path, &TablesFile::new(net, &tables).to_json()?)?;
    }
    let report = verify(net, &tables, 1);
    let refuted = report.check(net, claims).err().map(|refutation| refutation.to_string());
    Ok(Checked {
        refuted,
        channels_used: report.vcs,
        pairs: report.pairs,
        delivered: report.delivered,
        longer: report.longer,
        excess_max: report.excess_max,
        cables_max: report.cables_max,
        cables_mean: report.cables as f64 / report.delivered.max(1) as f64,
        circle_with_one_channel: circle_with_one(net, &tables, &report),
        traffic: wanted.map(|wanted| wanted.over(net, &tables)).transpose()?,
        tables: if arguments.tables { entries(net, &tables) } else { Vec::new() },
    })
}

/// The same paths without virtual channels.
fn circle_with_one(net: &Network, tables: &Tables, report: &Report) -> Option<Vec<String>> {
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

/// Nodes that have a row.
fn rows<'a>(net: &'a Network, tables: &'a Tables) -> impl Iterator<Item = (NodeId, usize)> + 'a {
    (0..net.nodes().len() as u32).map(NodeId).filter_map(|node| Some((node, tables.row(node)?)))
}

fn entries(net: &Network, tables: &Tables) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (node, row) in rows(net, tables) {
        for (number, &goal) in net.hosts().iter().enumerate() {
            let to = HostId(number as u32);
            let Some(port) = tables.port(row, to) else { continue };
            let Some(channel) = net.channel_at(node, port) else { continue };
            entries.push(Entry {
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

fn print(routes: &Routes) {
    println!("{}: {} hosts, {}\n", routes.network, routes.hosts, kind(routes));
    let header = ["engine", "verdict", "channels", "longer paths", "cables on a path", "with one channel"];
    let mut rows = table(header);
    for made in &routes.engines {
        rows.add_row(match (&made.checked, &made.failed) {
            (Some(checked), _) => [
                made.engine.into(),
                verdict(checked, routes.lossless),
                checked.channels_used.to_string(),
                longer(checked),
                format!("{} on average, {} at most", digits(checked.cables_mean), checked.cables_max),
                one_channel(checked),
            ],
            (None, failed) => {
                // The advice after the semicolon is for who asked for this one engine.
                let why = failed.as_deref().and_then(|why| why.split(';').next()).unwrap_or_default();
                [made.engine.into(), format!("no tables: {why}"), "".into(), "".into(), "".into(), "".into()]
            }
        });
    }
    rows.set_content_arrangement(comfy_table::ContentArrangement::Dynamic);
    println!("{rows}");
    print_traffic(routes);
    for made in &routes.engines {
        let Some(checked) = made.checked.as_ref().filter(|checked| !checked.tables.is_empty()) else {
            continue;
        };
        let mut rows = table(["at", "to", "next", "port", "channel"]);
        for entry in &checked.tables {
            let (port, channel) = (entry.port.to_string(), entry.channel.to_string());
            rows.add_row([&entry.node, &entry.to, &entry.next, &port, &channel]);
        }
        println!("\nTables of {}\n{rows}", made.engine);
    }
}

fn print_traffic(routes: &Routes) {
    let got = |made: &Made| Some((made.engine, made.checked.as_ref()?.traffic.as_ref()?.show()));
    let shown: Vec<(&str, String)> = routes.engines.iter().filter_map(got).collect();
    if !shown.is_empty() {
        let mut rows = table([
            "engine",
            "rate of a flow, Mbit/s, max-min fair; what the best routes could give all together",
        ]);
        for (engine, text) in &shown {
            rows.add_row([*engine, text]);
        }
        println!("\n{rows}");
    }
}

fn kind(routes: &Routes) -> String {
    match routes.lossless {
        true => format!("packets wait (lossless), {} virtual channels", routes.channels),
        false => "packets are dropped where there is no room (no deadlock can arise)".into(),
    }
}

fn verdict(checked: &Checked, lossless: bool) -> String {
    checked.refuted.clone().map_or_else(
        || match lossless {
            true => "proven: all delivered, no deadlock".into(),
            false => "proven: all delivered".into(),
        },
        |why| format!("REFUTED: {why}"),
    )
}

fn longer(checked: &Checked) -> String {
    match checked.longer {
        0 => "none".into(),
        count => format!("{count} of {}, by up to {}", checked.pairs, checked.excess_max),
    }
}

fn one_channel(checked: &Checked) -> String {
    match &checked.circle_with_one_channel {
        None => "no deadlock".into(),
        Some(circle) => format!("deadlock over {}", circle.join(", ")),
    }
}
