//! `tasuki plan`

use super::steps::steps;
use std::{path::PathBuf, process::ExitCode};
use tasuki_args::{Best, PlanArgs};
use tasuki_cluster::{AddressPlan, Cluster};
use tasuki_plan::{
    GROW_STEPS, Inventory, OwnSwitch, Proposal, RANK_STEPS, Ranked, cabling_list, compare_ranked, digits,
    folder_files, grown, proposals, rank, write_file, write_folder,
};
use tasuki_terminal::{Failure, paragraph, print_json, progress_bar, table};

/// Proposes cablings, and writes the chosen one.
pub fn plan(arguments: &PlanArgs) -> Result<ExitCode, Failure> {
    let in_folder = arguments.folder.as_deref().map(folder_files).unwrap_or_default();
    arguments.overwrite.check(in_folder.iter().map(PathBuf::as_path))?;
    arguments.overwrite.check_file(arguments.output.as_deref())?;
    let inventory = arguments.inventory();
    let ranked = ranked(arguments, &inventory)?;
    let choose = arguments.choose.or(arguments.output.as_ref().or(arguments.folder.as_ref()).map(|_| 1));
    let chosen = choose.map(|number| {
        let one = number.checked_sub(1).and_then(|index| ranked.get(index));
        one.ok_or_else(|| {
            let there_are = match ranked.len() {
                1 => "only proposal 1".to_owned(),
                count => format!("only 1 to {count}"),
            };
            Failure::new(format!("there is no proposal {number}, {there_are}"))
        })
    });
    let chosen = chosen.transpose()?;
    if let (Some(one), Some(path)) = (chosen, &arguments.output) {
        // A cluster that does not fit the address ranges is refused now and not only by `lab up`.
        AddressPlan::new(&one.cluster)?;
        write_file(path, &one.cluster.to_toml())?;
    }
    let written = match (chosen, &arguments.folder) {
        (Some(one), Some(folder)) => {
            AddressPlan::new(&one.cluster)?;
            write_folder(folder, one, &inventory)?
        }
        _ => Vec::new(),
    };
    if arguments.json {
        print_json(&ranked)?;
        return Ok(ExitCode::SUCCESS);
    }
    print(&ranked);
    if let Some(one) = chosen {
        println!("\nProposal {}: {}", one.number, one.what);
        print!("{}", cabling_list(&one.cluster, one.moves.as_ref()));
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

/// All proposals with their measures, the best one first.
fn ranked(arguments: &PlanArgs, inventory: &Inventory) -> Result<Vec<Ranked>, Failure> {
    let found = found(arguments, inventory)?;
    let bar = progress_bar(found.len() as u64 * RANK_STEPS).with_prefix("plan");
    let ranked: Result<Vec<Ranked>, _> =
        found.into_iter().map(|proposal| rank(proposal, inventory, &mut steps(&bar))).collect();
    bar.finish_and_clear();
    let mut ranked = ranked?;
    ranked.sort_by(|a, b| compare_ranked(a, b, arguments.best.into()));
    (1..).zip(&mut ranked).for_each(|(number, one)| one.number = number);
    Ok(ranked)
}

/// All proposals; those for a cluster that grows are laid over the existing one.
fn found(arguments: &PlanArgs, inventory: &Inventory) -> Result<Vec<Proposal>, Failure> {
    let Some(path) = &arguments.grow else {
        return match arguments.best {
            Best::Moved => {
                Err(Failure::new("--best moved needs --grow FILE: without it no cable is there to move"))
            }
            _ => Ok(proposals(inventory)?),
        };
    };
    let old = Cluster::load(path)?;
    let there = old.switches.iter().map(|switch| OwnSwitch { ports: switch.ports, rate: Some(switch.rate) });
    let switches = there.chain(inventory.switches.iter().copied()).collect();
    // A cluster that cannot be cabled anew may still have room for another host.
    let fresh = proposals(&Inventory { switches, ..inventory.clone() }).unwrap_or_default();
    let bar = progress_bar(GROW_STEPS).with_prefix("grow");
    let grown = grown(&old, inventory, &fresh, &mut steps(&bar));
    bar.finish_and_clear();
    Ok(grown?)
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
    rows.keys(2).right_from(2).without_empty_columns();
    println!("{rows}\n");
    for one in ranked {
        let pcie = one.pcie.as_ref().map(|note| format!(" PCI Express: {note}.")).unwrap_or_default();
        println!("{}", paragraph(&format!("{}. {}: {}.{pcie}", one.number, one.what, one.why), 3));
    }
    println!("\n{}", paragraph(COLUMNS, 0));
}

/// What the columns of the table mean.
const COLUMNS: &str = "\
Mbit/s in one direction. all to all: what each host sends when all send to all, over the routes that Tasuki \
sets; best: the most that any routes could give. next: each host to the next one, over the best routes. \
bisection: between the worst two halves. cable fails, switch fails: all to all after the worst such loss; 0 \
separates hosts. hops, most: switches and hosts passed, on average and at most. moved: cables to unplug, of \
those that there are.";
