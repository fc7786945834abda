//! Tables 3 to 7: barriers of all hosts.

use super::barrier::{Times, times};
use super::claims::PARTS;
use super::irregular::Irregular;
use super::model::{BARRIER_HOST_US, LINK_BPS, SLOPE_US, SMALL};
use super::names::{CLOS, FAT_6, FAT_14, MESH, TORUS};
use super::networks::{Named, Routing, mesh, of_16, of_32, torus};
use super::{Effort, Model, Rhinet2Error};
use crate::cell::Findings;
use crate::lab::median;
use tasuki_topo::measure::{SelfPairs, distances};
use tasuki_topo::{Engine, Limits, Network, route};

/// Visit lists for each of the graphs that could be A or B at most: the paper's number.
const LISTS_OF_GRAPHS: u32 = 10;

/// What the barriers of the known networks took.
#[derive(Default)]
struct Known {
    all: Vec<(&'static str, &'static str, Times)>,
    formula: Vec<String>,
}

/// Tables 3 to 7, and what the text of 4.2 says of them.
pub(super) fn barriers(
    model: &Model,
    effort: Effort,
    [a, b]: [&Irregular; 2],
) -> Result<Findings, Rhinet2Error> {
    let mut found = Findings::default();
    let mut known = Known::default();
    for named in [mesh()?, torus()?] {
        of_known(model, effort, ["T3", "T4"], &named, &mut known, &mut found)?;
    }
    for named in of_32()? {
        of_known(model, effort, ["T5", "T6"], &named, &mut known, &mut found)?;
    }
    for named in of_16()? {
        of_known(model, effort, ["T7", ""], &named, &mut known, &mut found)?;
    }
    let (of_a, of_b) = (of_unknown(model, effort, a, &mut found)?, of_unknown(model, effort, b, &mut found)?);
    statements(&known, &mut found);
    over_a(&known, &of_a, &of_b, &mut found);
    let formula = known.formula.join(", ");
    found.notes.push(format!(
        "The paper's formula of 4.2.1, without any waiting (steps x (4.64 + 0.452 + 0.697 d) us), gives the \
         barriers of known networks without a simulation: {formula}. Only simulated waiting can explain what \
         T9 loses, F6, F8, and the waiting of T4 and T6."
    ));
    found.notes.push(one_channel(model, effort)?);
    Ok(found)
}

fn of_known(
    model: &Model,
    effort: Effort,
    [table, breakdown]: [&'static str; 2],
    named: &Named,
    known: &mut Known,
    found: &mut Findings,
) -> Result<(), Rhinet2Error> {
    let tables = model.tables(named)?;
    let of = times(model, &named.net, &tables, effort.lists, effort.seed)?;
    found.put(table, named.name, of.mean).note = format!("standard error of ten lists {:.2} us", of.error);
    let average = average(&named.net);
    found.put(table, format!("{}, average distance", named.name), average);
    if !breakdown.is_empty() {
        for (part, value) in PARTS.iter().zip(of.parts) {
            found.put(breakdown, format!("{}, {part}", named.name), value);
        }
    }
    let steps = f64::from(named.net.hosts().len().next_power_of_two().trailing_zeros());
    let inject = 2.0 * f64::from(SMALL) * 8e6 / LINK_BPS as f64;
    // The formula takes the average over different hosts or not as the printed averages do.
    let formula = steps * (BARRIER_HOST_US + inject + SLOPE_US * average);
    known.formula.push(format!("{} {formula:.2}", named.name));
    known.all.push((table, named.name, of));
    Ok(())
}

/// Mean number of switches between hosts as printed: pairs of a host with itself are in it, except for the
/// fat tree of 14 switches.
fn average(net: &Network) -> f64 {
    let own = if net.switches() == 14 { SelfPairs::Excluded } else { SelfPairs::Included };
    distances(net).average(own).unwrap_or(f64::NAN)
}

/// Each graph that could be A or B.
fn of_unknown(
    model: &Model,
    effort: Effort,
    irregular: &Irregular,
    found: &mut Findings,
) -> Result<Vec<Times>, Rhinet2Error> {
    let mut all = Vec::new();
    for &lost in &irregular.chosen {
        let net = irregular.network(lost)?;
        let tables = model.route(&net, Routing::Structured)?;
        all.push(times(model, &net, &tables, effort.lists.min(LISTS_OF_GRAPHS), effort.seed)?);
    }
    let name = format!("topology {}", irregular.name);
    let mean = |pick: &dyn Fn(&Times) -> f64| all.iter().map(pick).sum::<f64>() / all.len().max(1) as f64;
    found.put_each("T3", name.clone(), all.iter().map(|times| times.mean).collect());
    found.put("T3", format!("{name}, average distance"), irregular.printed_distance);
    for (at, part) in PARTS.iter().enumerate() {
        let cell = format!("{name}, {part}");
        match at {
            0 | 1 => found.put("T4", cell, mean(&|times| times.parts[at])),
            _ => found.put_each("T4", cell, all.iter().map(|times| times.parts[at]).collect()),
        };
    }
    Ok(all)
}

/// What the text says of the known networks.
fn statements(known: &Known, found: &mut Findings) {
    let of = |name: &str, table: &str| {
        let row = known.all.iter().find(|row| row.0 == table && row.1 == name);
        row.map_or(f64::NAN, |row| row.2.mean)
    };
    let holds = |holds: bool| f64::from(u8::from(holds));
    let fives: Vec<f64> = known.all.iter().filter(|row| row.0 == "T5").map(|row| row.2.mean).collect();
    found.put("T5", "order: ring, mesh, torus, Clos", holds(fives.is_sorted_by(|a, b| a > b)));
    let [large, small, clos] = [FAT_14, FAT_6, CLOS].map(|name| of(name, "T7"));
    found.put("T7", "fat tree of 14 over that of 6", (large / small - 1.0) * 100.0);
    found.put("T7", "fat tree of 6 not faster than Clos", holds(small >= clos - 1e-9));
    let share = |table: &str, of: &dyn Fn(&Times) -> f64| {
        let rows: Vec<f64> = known.all.iter().filter(|row| row.0 == table).map(|row| of(&row.2)).collect();
        100.0 * rows.iter().sum::<f64>() / rows.len().max(1) as f64
    };
    let packets = |times: &Times| 1.0 - times.parts[0] / times.mean;
    found.put("4.2", "64 hosts: packets' share of the time", share("T3", &packets));
    let varies = |times: &Times| (times.parts[2] + times.parts[3]) / times.mean;
    found.put("4.2", "64 hosts: hops and waiting", share("T3", &varies));
    found.put("4.2", "32 hosts: packets' share of the time", share("T5", &packets));
}

/// What the text says of A beside others.
fn over_a(known: &Known, of_a: &[Times], of_b: &[Times], found: &mut Findings) {
    let of = |name: &str| known.all.iter().find(|row| row.1 == name).map_or(f64::NAN, |row| row.2.mean);
    let (mesh, torus) = (of(MESH), of(TORUS));
    let b = median(of_b.iter().map(|times| times.mean).collect());
    let ordered =
        |times: &Times| f64::from(u8::from([torus, mesh, b, times.mean].is_sorted_by(|a, b| a < b)));
    found.put_each("T3", "order: torus, mesh, B, A", of_a.iter().map(ordered).collect());
    let spread = of_a.iter().map(|times| (times.mean / torus - 1.0) * 100.0);
    found.put_each("4.2", "64 hosts: A over torus", spread.collect());
    let hops = of_a.iter().map(|times| 100.0 * times.parts[2] / times.parts[1..].iter().sum::<f64>());
    found.put_each("4.2", "64 hosts: hops of packets' time, at most", hops.collect());
}

/// Clos with hosts on both tiers over one virtual channel, as the paper has it.
fn one_channel(model: &Model, effort: Effort) -> Result<String, Rhinet2Error> {
    let [.., clos] = of_32()?;
    let two = model.tables(&clos)?;
    let one = route(&clos.net, Engine::UpDown, Limits::lossless(1))?;
    let time =
        |tables| Ok::<_, Rhinet2Error>(times(model, &clos.net, tables, effort.lists, effort.seed)?.mean);
    let longest = |tables: &tasuki_topo::Tables| {
        let hosts = clos.net.hosts().len() as u32;
        let pairs = (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to)));
        let lengths = pairs.filter(|(from, to)| from != to).map(|(from, to)| {
            tables
                .path(&clos.net, tasuki_topo::HostId(from), tasuki_topo::HostId(to))
                .map_or(0, |path| path.len())
        });
        lengths.max().unwrap_or(0).saturating_sub(1)
    };
    Ok(format!(
        "Clos with hosts on both tiers: shortest paths that are spread over all switches need {} virtual \
         channels (a path down and up again closes a circle with those up and down); the paper says 1. \
         With 1 channel and up*/down* all traffic between hosts of the tier below the root turns at fewer \
         switches: {:.2} us for the barrier of T5 instead of {:.2}, paths over at most {} switches \
         instead of {}.",
        two.vcs(),
        time(&one)?,
        time(&two)?,
        longest(&one),
        longest(&two),
    ))
}
