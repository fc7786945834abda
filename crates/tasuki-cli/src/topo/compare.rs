//! `tasuki topo compare`

use super::steps::steps;
use std::process::ExitCode;
use tasuki_args::CompareArgs;
use tasuki_plan::{COMPARE_STEPS, Compared, compare, compared_engines, digits};
use tasuki_terminal::{Failure, Rows, print_json, progress_bar, table};

/// Measures networks and prints them side by side.
pub fn run(arguments: &CompareArgs) -> Result<ExitCode, Failure> {
    let bar = progress_bar(arguments.networks.len() as u64 * COMPARE_STEPS).with_prefix("compare");
    let all = compare(&arguments.networks, &arguments.prices.into(), &mut steps(&bar));
    bar.finish_and_clear();
    let all = all?;
    if arguments.json {
        print_json(&all)?;
    } else {
        println!("{}", show(&all));
    }
    Ok(ExitCode::SUCCESS)
}

/// The table, with a column for each network.
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
    for name in compared_engines() {
        row(&format!("channels, {name}"), &|one| one.channels.get(name)?.map(|need| need.to_string()));
    }
    if all.iter().any(|one| one.measures.cost.is_some()) {
        row("cost", &|one| one.measures.cost.map(|cost| format!("{cost:.2}")));
    }
    rows
}
