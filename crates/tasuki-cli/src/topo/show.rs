//! `tasuki topo show`

use super::steps::steps;
use serde::Serialize;
use std::{path::PathBuf, process::ExitCode};
use tasuki_args::ShowArgs;
use tasuki_cluster::{Cluster, RouteLoads};
use tasuki_plan::{
    MEASURE_STEPS, Named, Prices, measure, measure_rows, named,
    picture::{Page, Section, draw},
    write_file,
};
use tasuki_terminal::{Failure, print_json, progress_bar, table};
use tasuki_topo::{Kind, Network, NodeId};

/// A network, part by part.
#[derive(Debug, Serialize)]
struct Shown {
    network: String,
    nodes: Vec<Node>,
    cables: Vec<Cable>,
}

#[derive(Debug, Serialize)]
struct Node {
    name: String,
    /// `host` (sends and receives), `relay` (a host that also forwards) or `switch`.
    kind: &'static str,
    /// The other ends of its ports, from port 1 on; `None` for a port without a cable.
    ports: Vec<Option<String>>,
}

#[derive(Debug, Serialize)]
struct Cable {
    /// Names and ports (from 1) of both ends.
    ends: [(String, u32); 2],
    bits_per_second: u64,
}

/// Prints a network and draws it.
pub fn run(arguments: &ShowArgs) -> Result<ExitCode, Failure> {
    arguments
        .overwrite
        .check([&arguments.svg, &arguments.html].into_iter().flatten().map(PathBuf::as_path))?;
    if arguments.svg.is_some() && arguments.svg == arguments.html {
        return Err(Failure::usage("--svg and --html are one file; each needs its own"));
    }
    let Named { net, cluster } = named(&arguments.network)?;
    let shown = shown(&net);
    if let Some(path) = &arguments.svg {
        write_file(path, &draw(&net)?)?;
    }
    if let Some(path) = &arguments.html {
        write_file(path, &page(&net, cluster.as_ref(), &shown)?.html())?;
    }
    if arguments.json {
        print_json(&shown)?;
        return Ok(ExitCode::SUCCESS);
    }
    println!("{}: {}\n", net.name(), parts_of(&net));
    let mut rows = table(["", "kind", "ports lead to"]);
    for node in &shown.nodes {
        rows.add_row([node.name.as_str(), node.kind, &ports(node)]);
    }
    println!("{rows}");
    for path in arguments.svg.iter().chain(&arguments.html) {
        println!("Written: {}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

fn parts_of(net: &Network) -> String {
    let count =
        |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    [
        count(net.hosts().len(), "host", "hosts"),
        count(net.switches(), "switch", "switches"),
        count(net.links().len(), "cable", "cables"),
    ]
    .join(", ")
}

fn ports(node: &Node) -> String {
    let shown = node.ports.iter().map(|to| to.as_deref().unwrap_or("-"));
    shown.collect::<Vec<_>>().join(" ")
}

fn shown(net: &Network) -> Shown {
    let node = |id: NodeId| {
        let node = &net.nodes()[id.ix()];
        let ports = (0..net.ports(id) as u16).map(tasuki_topo::Port);
        Node {
            name: node.name.clone(),
            kind: match node.kind {
                Kind::Switch => "switch",
                Kind::Host => "host",
                Kind::Relay => "relay",
            },
            ports: ports.map(|port| Some(net.label(net.to(net.channel_at(id, port)?)).to_owned())).collect(),
        }
    };
    let cables = net.links().iter().map(|link| Cable {
        ends: link.ends.map(|(node, port)| (net.label(node).to_owned(), u32::from(port.0) + 1)),
        bits_per_second: link.rate_bps,
    });
    Shown {
        network: net.name().into(),
        nodes: (0..net.nodes().len() as u32).map(NodeId).map(node).collect(),
        cables: cables.collect(),
    }
}

/// The page with picture, measures, parts and cables.
fn page(net: &Network, cluster: Option<&Cluster>, shown: &Shown) -> Result<Page, Failure> {
    let bar = progress_bar(MEASURE_STEPS).with_prefix("measure");
    let routes = cluster.map(RouteLoads::new);
    let measures = measure(net, routes.as_ref(), &Prices::default(), &mut steps(&bar));
    bar.finish_and_clear();
    let text = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let parts = shown.nodes.iter().map(|node| vec![node.name.clone(), node.kind.into(), ports(node)]);
    let cables = shown.cables.iter().enumerate().map(|(i, cable)| {
        let end = |(name, port): &(String, u32)| format!("{name} port {port}");
        let rate = format!("{} Mbit/s", cable.bits_per_second as f64 / 1e6);
        vec![format!("c{}", i + 1), end(&cable.ends[0]), end(&cable.ends[1]), rate]
    });
    Ok(Page {
        title: net.name().into(),
        summary: parts_of(net),
        picture: draw(net)?,
        sections: vec![
            Section {
                heading: "What it gives".into(),
                note: "Definitions: docs/reference/topologies.md of Tasuki.".into(),
                columns: Vec::new(),
                rows: measure_rows(&measures).into_iter().map(Vec::from).collect(),
            },
            Section {
                heading: "Parts".into(),
                note: "Where the ports lead, from port 1 on.".into(),
                columns: text(&["part", "kind", "ports"]),
                rows: parts.collect(),
            },
            Section {
                heading: "Cables".into(),
                note: String::new(),
                columns: text(&["cable", "from", "to", "rate"]),
                rows: cables.collect(),
            },
        ],
    })
}
