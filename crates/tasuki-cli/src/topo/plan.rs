//! `tasuki plan`

use super::{
    folder::write_all,
    grow::{Moves, grown},
    measure::{Measures, STEPS, measure},
    propose::{Proposal, proposals},
    racks::{furnish, list},
    range::{Range, digits},
};
use crate::{
    args::{Best, OwnSwitch, PlanArgs},
    failure::Failure,
    picture::write,
    terminal::{print_json, progress_bar, table},
};
use indicatif::ProgressBar;
use serde::Serialize;
use std::{cmp::Ordering, process::ExitCode};
use tasuki_cluster::{AddressPlan, Cluster};
use tasuki_topo::{
    LinkId, Network, NodeId,
    bounds::{Traffic, all_to_all_within, concurrent},
};

/// Relative width of the ranges of bandwidths to aim for, and the phases after which a wider one will do.
const WIDTH: f64 = 0.05;
const PHASES: u32 = 60;
/// Elementary steps that all single failures of a proposal may take: seconds.
const FAILURE_EFFORT: usize = 3_000_000_000;

/// A proposal and what it gives.
#[derive(Serialize)]
pub struct Ranked {
    pub number: usize,
    pub what: String,
    pub why: &'static str,
    /// What every host sends when all send to all over all shortest paths, split evenly as the routes do, bit/s.
    pub all_to_all_bits_per_second: f64,
    /// The same over the best routes that there could be.
    pub all_to_all_best_bits_per_second: Range,
    /// What every host sends to the next one when all do so at once, over the best routes.
    pub neighbour_bits_per_second: Range,
    /// All to all after the worst single cable or switch fails; 0 if that separates hosts, none if not computed.
    pub after_cable_bits_per_second: Option<f64>,
    pub after_switch_bits_per_second: Option<f64>,
    pub measures: Measures,
    pub cabling: Vec<[String; 2]>,
    /// Where the hosts' PCI Express slots hold back what their ports could carry.
    pub pcie: Option<String>,
    /// What becomes of the cables that there are, where a cluster grows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moves: Option<Moves>,
    #[serde(skip)]
    pub cluster: Cluster,
}

/// Proposes cablings, and writes the chosen one.
pub fn plan(arguments: &PlanArgs) -> Result<ExitCode, Failure> {
    let found = found(arguments)?;
    let bar = progress_bar(found.len() as u64 * (STEPS + 2)).with_prefix("plan");
    let ranked: Result<Vec<Ranked>, Failure> =
        found.into_iter().map(|proposal| rank(proposal, arguments, &bar)).collect();
    bar.finish_and_clear();
    let mut ranked = ranked?;
    ranked.sort_by(|a, b| order(a, b, arguments.best));
    (1..).zip(&mut ranked).for_each(|(number, one)| one.number = number);
    let choose = arguments.choose.or(arguments.output.as_ref().or(arguments.folder.as_ref()).map(|_| 1));
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
        write(path, &one.cluster.to_toml())?;
    }
    let written = match (chosen, &arguments.folder) {
        (Some(one), Some(folder)) => {
            AddressPlan::new(&one.cluster)?;
            write_all(folder, one, arguments)?
        }
        _ => Vec::new(),
    };
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
    if !written.is_empty() {
        let mut rows = table(["written", ""]);
        written.iter().for_each(|file| {
            rows.add_row(file);
        });
        println!("\n{rows}");
    }
    Ok(ExitCode::SUCCESS)
}

/// All proposals; where a cluster grows, laid over what is there.
fn found(arguments: &PlanArgs) -> Result<Vec<Proposal>, Failure> {
    let Some(path) = &arguments.grow else {
        return match arguments.best {
            Best::Moved => {
                Err(Failure::new("--best moved needs --grow FILE: without it no cable is there to move"))
            }
            _ => proposals(arguments),
        };
    };
    let old = Cluster::load(path)?;
    let there = old.switches.iter().map(|switch| OwnSwitch { ports: switch.ports, rate: Some(switch.rate) });
    let switches = there.chain(arguments.switches.iter().copied()).collect();
    let all = PlanArgs { switches, ..arguments.clone() };
    // What cannot be cabled anew may still take one host more.
    grown(&old, arguments, proposals(&all).unwrap_or_default())
}

fn rank(proposal: Proposal, arguments: &PlanArgs, bar: &ProgressBar) -> Result<Ranked, Failure> {
    let Proposal { what, why, mut cluster, moves } = proposal;
    furnish(&mut cluster, arguments);
    let net = Network::from_cluster(&cluster)?;
    let others = net.hosts().len() as f64 - 1.0;
    let slot = arguments.pcie.map_or(f64::INFINITY, |slot| slot.bits_per_second());
    let best = |traffic: &Traffic, factor: f64| {
        let found = concurrent(&net, traffic, WIDTH, PHASES);
        within_slot(Range { lower: found.lower_bps * factor, upper: found.upper_bps * factor }, &net, slot)
    };
    bar.set_message("bandwidth");
    let all_to_all = best(&Traffic::all_to_all(&net), others);
    let neighbour = best(&Traffic::neighbour(&net), 1.0);
    bar.inc(1);
    let mut measures = measure(&net, &arguments.prices, bar);
    let whole = measures.all_to_all_bits_per_second.unwrap_or(0.0);
    let split = all_to_all_within(&net, slot).unwrap_or(0.0);
    measures.all_to_all_bits_per_second = measures.all_to_all_bits_per_second.map(|_| split);
    let metres: f64 = cluster.cables.iter().filter_map(|cable| cable.length_m).sum();
    if let Some(price) = arguments.prices.price_metre {
        measures.cost = Some(measures.cost.unwrap_or(0.0) + price * metres);
    }
    let pcie = arguments.pcie.map(|_| match split < whole * (1.0 - 1e-9) {
        true => format!(
            "{} Gbit/s each way hold back all to all by {:.0} %",
            digits(slot / 1e9),
            (1.0 - split / whole) * 100.0
        ),
        false => format!("{} Gbit/s each way are enough", digits(slot / 1e9)),
    });
    bar.set_message("failures");
    let [after_cable, after_switch] =
        after_failures(&net, split, slot).map(|rate| rate.map(|rate| rate * others));
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
        pcie,
        moves,
        cluster,
    })
}

/// A range of what a host sends, as far as its slot lets it. The slot also carries what the host relays, which the lower end
/// takes into account as if all ports were full.
fn within_slot(range: Range, net: &Network, slot: f64) -> Range {
    let ports = |&node: &NodeId| net.out(node).map(|channel| net.rate_bps(channel) as f64).sum::<f64>();
    let most = net.hosts().iter().map(ports).fold(0.0, f64::max);
    Range { lower: range.lower * (slot / most).min(1.0), upper: range.upper.min(slot) }
}

/// What every pair still gets when all send to all, after the worst loss of one cable and of one switch; `whole` is what it
/// gets without any. A network without switches loses nothing by the second.
fn after_failures(net: &Network, whole: f64, slot: f64) -> [Option<f64>; 2] {
    let switches = (0..net.nodes().len() as u32).map(NodeId).filter(|&node| net.host_of(node).is_none());
    let switches: Vec<NodeId> = switches.collect();
    let losses = net.links().len() + switches.len();
    if losses.saturating_mul(net.channels()).saturating_mul(net.hosts().len()) > FAILURE_EFFORT {
        return [None, None];
    }
    let rate = |net: Network| all_to_all_within(&net, slot).unwrap_or(0.0);
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
        Best::Moved => {
            let moved = |one: &Ranked| one.moves.as_ref().map_or(0, |moves| moves.moved);
            moved(a).cmp(&moved(b))
        }
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
        "moved",
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
            maybe(one.moves.as_ref().map(|moves| format!("{} of {}", moves.moved, moves.moved + moves.kept))),
        ]);
    }
    println!("{rows}\n");
    for one in ranked {
        let pcie = one.pcie.as_ref().map(|note| format!(" PCI Express: {note}.")).unwrap_or_default();
        println!("{}. {}: {}.{pcie}", one.number, one.what, one.why);
    }
    println!(
        "\nMbit/s in one direction. all to all: what each host sends when all send to all, over the routes that Tasuki sets; \
         best: the most that any\nroutes could give. next: each host to the next one, over the best routes. bisection: \
         between the worst two halves. cable fails, switch fails:\nall to all after the worst such loss; 0 separates \
         hosts. hops, most: switches and hosts passed, on average and at most. moved: cables to unplug, of those that \
         there are."
    );
}

fn print_cabling(one: &Ranked) {
    println!("\nProposal {}: {}", one.number, one.what);
    print!("{}", list(&one.cluster, one.moves.as_ref()));
}
