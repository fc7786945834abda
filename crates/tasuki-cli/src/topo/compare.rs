//! `tasuki topo compare`

use super::{
    measure::{Measures, STEPS, measure},
    network::network,
    range::digits,
};
use crate::{
    args::{CompareArgs, ENGINES},
    failure::Failure,
    terminal::{Rows, print_json, progress_bar, table},
};
use serde::Serialize;
use std::{collections::BTreeMap, process::ExitCode};
use tasuki_topo::{Engine, Limits, Network, PathRule, RouteError, route};

/// Engines whose need of channels tells networks apart; more hosts than this take long.
const COMPARED: [Engine; 4] = [
    Engine::Minimal(PathRule::SpreadPerHost),
    Engine::Structured(PathRule::SpreadPerHost),
    Engine::Lash,
    Engine::Dfsssp,
];
const HOSTS_MAX: usize = 2048;

/// A network among others.
#[derive(Debug, Serialize)]
struct Compared {
    /// As given on the command line.
    given: String,
    #[serde(flatten)]
    measures: Measures,
    /// Virtual channels that engines need; none where there is no way at all, or where it would take long.
    channels: BTreeMap<&'static str, Option<u32>>,
}

/// Measures networks and prints them side by side.
pub fn run(arguments: &CompareArgs) -> Result<ExitCode, Failure> {
    let bar = progress_bar(arguments.networks.len() as u64 * (STEPS + 1)).with_prefix("compare");
    let one = |given: &String| {
        let net = network(given)?;
        let measures = measure(&net, &arguments.prices, &bar);
        bar.set_message("channels");
        let channels = channels(&net);
        bar.inc(1);
        Ok(Compared { given: given.clone(), measures, channels })
    };
    let all: Result<Vec<Compared>, Failure> = arguments.networks.iter().map(one).collect();
    bar.finish_and_clear();
    let all = all?;
    if arguments.json {
        print_json(&all)?;
    } else {
        println!("{}", show(&all));
    }
    Ok(ExitCode::SUCCESS)
}

fn channels(net: &Network) -> BTreeMap<&'static str, Option<u32>> {
    let need = |engine: Engine| match route(net, engine, Limits::lossless(1)) {
        _ if net.hosts().len() > HOSTS_MAX => None,
        Ok(_) => Some(1),
        Err(RouteError::NeedsChannels { need, .. }) => Some(need),
        Err(_) => None,
    };
    let compared = ENGINES.into_iter().filter(|(_, engine)| COMPARED.contains(engine));
    compared.map(|(name, engine)| (name, need(engine))).collect()
}

/// Networks as columns.
fn show(all: &[Compared]) -> Rows {
    let mut rows = table([""]);
    rows.set_header(std::iter::once("").chain(all.iter().map(|one| one.given.as_str())));
    let mut row = |what: &str, value: &dyn Fn(&Compared) -> Option<String>| {
        let values = all.iter().map(|one| value(one).unwrap_or_else(|| "-".into()));
        rows.add_row(std::iter::once(what.to_owned()).chain(values));
    };
    row("hosts, switches", &|one| Some(format!("{}, {}", one.measures.hosts, one.measures.switches)));
    row("cables", &|one| Some(one.measures.cables.to_string()));
    row("NICs, switch ports", &|one| Some(format!("{}, {}", one.measures.nics, one.measures.switch_ports)));
    row("diameter (cables)", &|one| one.measures.diameter.map(|d| d.to_string()));
    row("distance, mean", &|one| one.measures.average_distance.map(digits));
    row("distance, most", &|one| one.measures.longest_distance.map(|d| d.to_string()));
    row("bisection, Gbit/s", &|one| Some(one.measures.bisection_bits_per_second.scaled(1e9).show("")));
    row("effective bisection, Gbit/s", &|one| {
        Some(one.measures.effective_bisection_bits_per_second?.scaled(1e9).show(""))
    });
    row("all to all, a pair, Mbit/s", &|one| {
        one.measures.all_to_all_bits_per_second.map(|rate| digits(rate / 1e6))
    });
    row("weak switches, relays", &|one| Some(one.measures.weak_nodes.len().to_string()));
    row("weak cables", &|one| Some(one.measures.weak_cables.len().to_string()));
    for (name, engine) in ENGINES.into_iter().filter(|(_, engine)| COMPARED.contains(engine)) {
        let _ = engine;
        row(&format!("channels, {name}"), &|one| one.channels.get(name)?.map(|need| need.to_string()));
    }
    if all.iter().any(|one| one.measures.cost.is_some()) {
        row("cost", &|one| one.measures.cost.map(|cost| format!("{cost:.2}")));
    }
    rows
}
