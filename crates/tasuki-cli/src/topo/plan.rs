//! `tasuki plan`

use super::{
    measure::{Measures, STEPS, measure},
    propose::{Proposal, proposals},
    range::{Range, digits},
};
use crate::{
    args::{Best, PlanArgs},
    failure::Failure,
    terminal::{print_json, progress_bar, table},
};
use indicatif::ProgressBar;
use serde::Serialize;
use std::{cmp::Ordering, fs, process::ExitCode};
use tasuki_cluster::{AddressPlan, Cluster};
use tasuki_topo::{
    LinkId, Network, NodeId,
    bounds::{Traffic, all_to_all_split, concurrent},
};

/// Relative width of the ranges of bandwidths to aim for, and the phases after which a wider one will do.
const WIDTH: f64 = 0.05;
const PHASES: u32 = 60;
/// Elementary steps that all single failures of a proposal may take: seconds.
const FAILURE_EFFORT: usize = 3_000_000_000;

/// A proposal and what it gives.
#[derive(Serialize)]
struct Ranked {
    number: usize,
    what: String,
    why: &'static str,
    /// What every host sends when all send to all over all shortest paths, split evenly as the routes do, bit/s.
    all_to_all_bits_per_second: f64,
    /// The same over the best routes that there could be.
    all_to_all_best_bits_per_second: Range,
    /// What every host sends to the next one when all do so at once, over the best routes.
    neighbour_bits_per_second: Range,
    /// All to all after the worst single cable or switch fails; 0 if that separates hosts, none if not computed.
    after_cable_bits_per_second: Option<f64>,
    after_switch_bits_per_second: Option<f64>,
    measures: Measures,
    cabling: Vec<[String; 2]>,
    #[serde(skip)]
    cluster: Cluster,
}

/// Proposes cablings, and writes the chosen one.
pub fn plan(arguments: &PlanArgs) -> Result<ExitCode, Failure> {
    let found = proposals(arguments)?;
    let bar = progress_bar(found.len() as u64 * (STEPS + 2)).with_prefix("plan");
    let ranked: Result<Vec<Ranked>, Failure> =
        found.into_iter().map(|proposal| rank(proposal, arguments, &bar)).collect();
    bar.finish_and_clear();
    let mut ranked = ranked?;
    ranked.sort_by(|a, b| order(a, b, arguments.best));
    (1..).zip(&mut ranked).for_each(|(number, one)| one.number = number);
    let choose = arguments.choose.or(arguments.output.as_ref().map(|_| 1));
    let chosen = choose.map(|number| {
        let one = number.checked_sub(1).and_then(|index| ranked.get(index));
        one.ok_or_else(|| {
            Failure::new(format!("there is no proposal {number}; choose 1 to {}", ranked.len()))
        })
    });
    let chosen = chosen.transpose()?;
    if let (Some(one), Some(path)) = (chosen, &arguments.output) {
        // What does not fit the address ranges is said now, not by `lab up`.
        AddressPlan::new(&one.cluster)?;
        fs::write(path, one.cluster.to_toml())
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))?;
    }
    if arguments.json {
        print_json(&ranked)?;
        return Ok(ExitCode::SUCCESS);
    }
    print(&ranked);
    if let Some(one) = chosen {
        print_cabling(one);
    }
    if let Some(path) = &arguments.output {
        println!("\nWritten to {0}; try it on this machine: tasuki lab up {0}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

fn rank(proposal: Proposal, arguments: &PlanArgs, bar: &ProgressBar) -> Result<Ranked, Failure> {
    let Proposal { what, why, cluster } = proposal;
    let net = Network::from_cluster(&cluster)?;
    let others = net.hosts().len() as f64 - 1.0;
    let best = |traffic: &Traffic, factor: f64| {
        let found = concurrent(&net, traffic, WIDTH, PHASES);
        Range { lower: found.lower_bps * factor, upper: found.upper_bps * factor }
    };
    bar.set_message("bandwidth");
    let all_to_all = best(&Traffic::all_to_all(&net), others);
    let neighbour = best(&Traffic::neighbour(&net), 1.0);
    bar.inc(1);
    let measures = measure(&net, &arguments.prices, bar);
    let split = measures.all_to_all_bits_per_second.unwrap_or(0.0);
    bar.set_message("failures");
    let [after_cable, after_switch] = after_failures(&net, split).map(|rate| rate.map(|rate| rate * others));
    bar.inc(1);
    let cabling = cluster.cables.iter().map(|cable| cable.ends.map(|end| cluster.end_name(end))).collect();
    Ok(Ranked {
        number: 0,
        what,
        why,
        all_to_all_bits_per_second: split * others,
        all_to_all_best_bits_per_second: all_to_all,
        neighbour_bits_per_second: neighbour,
        after_cable_bits_per_second: after_cable,
        after_switch_bits_per_second: after_switch,
        measures,
        cabling,
        cluster,
    })
}

/// What every pair still gets when all send to all, after the worst loss of one cable and of one switch; `whole` is what it
/// gets without any. A network without switches loses nothing by the second.
fn after_failures(net: &Network, whole: f64) -> [Option<f64>; 2] {
    let switches = (0..net.nodes().len() as u32).map(NodeId).filter(|&node| net.host_of(node).is_none());
    let switches: Vec<NodeId> = switches.collect();
    let losses = net.links().len() + switches.len();
    if losses.saturating_mul(net.channels()).saturating_mul(net.hosts().len()) > FAILURE_EFFORT {
        return [None, None];
    }
    let rate = |net: Network| all_to_all_split(&net).unwrap_or(0.0);
    let cables = (0..net.links().len() as u32).map(|link| rate(net.without(&[LinkId(link)], &[])));
    let after_cable = cables.fold(whole, f64::min);
    let after_switch = switches.iter().map(|&node| rate(net.without(&[], &[node]))).fold(whole, f64::min);
    [Some(after_cable), Some(after_switch)]
}

/// The better one first.
fn order(a: &Ranked, b: &Ranked, best: Best) -> Ordering {
    let bandwidth = || descending(a.all_to_all_bits_per_second, b.all_to_all_bits_per_second);
    let far = |one: &Ranked| one.measures.average_distance.unwrap_or(f64::INFINITY);
    let hops = || far(a).total_cmp(&far(b));
    let parts = |one: &Ranked| one.measures.cables + one.measures.switches;
    let price = |one: &Ranked| one.measures.cost.unwrap_or(parts(one) as f64);
    let cost = || price(a).total_cmp(&price(b));
    let left = |one: &Ranked| {
        let both = one.after_cable_bits_per_second.zip(one.after_switch_bits_per_second);
        both.map_or(0.0, |(cable, switch)| cable.min(switch))
    };
    let first = match best {
        Best::Bandwidth => Ordering::Equal,
        Best::Hops => hops(),
        Best::Failure => descending(left(a), left(b)),
        Best::Cost => cost(),
    };
    first.then_with(bandwidth).then_with(hops).then_with(cost)
}

/// More is better; rounding makes no difference.
fn descending(a: f64, b: f64) -> Ordering {
    if (a - b).abs() <= 1e-6 * a.max(b) { Ordering::Equal } else { b.total_cmp(&a) }
}

fn print(ranked: &[Ranked]) {
    let mut rows = table([
        "",
        "cabling",
        "all to all",
        "best",
        "next",
        "bisection",
        "cable fails",
        "switch fails",
        "hops",
        "most",
        "cables",
        "NICs",
        "switches",
        "cost",
    ]);
    let mega = |rate: f64| digits((rate / 1e5).round() / 10.0);
    let maybe = |value: Option<String>| value.unwrap_or_else(|| "-".into());
    for one in ranked {
        let measures = &one.measures;
        rows.add_row([
            one.number.to_string(),
            one.what.clone(),
            mega(one.all_to_all_bits_per_second),
            mega(one.all_to_all_best_bits_per_second.upper),
            mega(one.neighbour_bits_per_second.upper),
            measures.bisection_bits_per_second.scaled(1e6).show(""),
            maybe(one.after_cable_bits_per_second.map(mega)),
            maybe(one.after_switch_bits_per_second.filter(|_| measures.switches > 0).map(mega)),
            maybe(measures.average_distance.map(|mean| format!("{mean:.2}"))),
            maybe(measures.longest_distance.map(|most| most.to_string())),
            measures.cables.to_string(),
            measures.nics.to_string(),
            measures.switches.to_string(),
            maybe(measures.cost.map(|cost| format!("{cost:.2}"))),
        ]);
    }
    println!("{rows}\n");
    for one in ranked {
        println!("{}. {}: {}.", one.number, one.what, one.why);
    }
    println!(
        "\nMbit/s in one direction. all to all: what each host sends when all send to all, over the routes that Tasuki sets; \
         best: the most that any\nroutes could give. next: each host to the next one, over the best routes. bisection: \
         between the worst two halves. cable fails, switch fails:\nall to all after the worst such loss; 0 separates \
         hosts. hops, most: switches and hosts passed, on average and at most."
    );
}

fn print_cabling(one: &Ranked) {
    println!("\nCabling of proposal {}: {}", one.number, one.what);
    let mut rows = table(["cable", "from", "to"]);
    for (number, [from, to]) in (1..).zip(&one.cabling) {
        rows.add_row([format!("c{number}"), from.clone(), to.clone()]);
    }
    println!("{rows}");
}
