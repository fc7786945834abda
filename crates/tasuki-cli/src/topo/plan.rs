//! `tasuki plan`

use super::steps::steps;
use std::{path::PathBuf, process::ExitCode};
use tasuki_args::{Best, PlanArgs};
use tasuki_cluster::{AddressPlan, Cluster};
use tasuki_plan::{
    GROW_STEPS, Inventory, OwnSwitch, PLAN_COLUMNS, PROGRAM_COLUMNS, PlanningError, Program, Proposal,
    RANK_STEPS, Ranked, cabling_list, compare_programs, compare_ranked, folder_files, grown, plan_rows,
    program_rows, program_why, proposals, rank, write_file, write_folder,
};
use tasuki_terminal::{Failure, Rows, paragraph, print_json, progress_bar, table};

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
            Failure::usage(format!("there is no proposal {number}, {there_are}"))
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
    match arguments.program {
        Some(_) => print_for_program(&ranked),
        None => print(&ranked),
    }
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
    let program =
        arguments.program.as_deref().map(|file| Program::read(file, inventory.hosts)).transpose()?;
    let mut found = found(arguments, inventory)?;
    if let Some(program) = &program {
        let [own, grow] = [&arguments.compare, &arguments.grow].map(Option::as_deref);
        program.add_proposals(inventory, own, grow, &mut found)?;
    }
    let bar =
        progress_bar(found.len() as u64 * (RANK_STEPS + u64::from(program.is_some()))).with_prefix("plan");
    let mut step = steps(&bar);
    let mut one = |proposal| {
        let mut ranked = rank(proposal, inventory, &mut step)?;
        if let Some(program) = &program {
            step("program");
            ranked.program = Some(program.on(&ranked.cluster)?);
        }
        Ok::<_, PlanningError>(ranked)
    };
    let ranked: Result<Vec<Ranked>, _> = found.into_iter().map(&mut one).collect();
    bar.finish_and_clear();
    let mut ranked = ranked?;
    ranked.sort_by(|a, b| compare_programs(a, b, compare_ranked(a, b, arguments.best.into())));
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

/// A table of cablings.
fn rows<const N: usize>((head, lines): ([&'static str; N], Vec<[String; N]>)) -> Rows {
    let mut rows = table(head);
    lines.into_iter().for_each(|line| {
        rows.add_row(line);
    });
    rows.keys(2);
    rows
}

/// Prints what each proposal gives to a program.
fn print_for_program(ranked: &[Ranked]) {
    println!("{}\n", rows(program_rows(ranked)));
    for (one, program) in ranked.iter().filter_map(|one| Some((one, one.program.as_ref()?))) {
        println!("{}", paragraph(&format!("{}. {}: {}.", one.number, one.what, program_why(program)), 3));
    }
    println!("\n{}", paragraph(PROGRAM_COLUMNS, 0));
}

fn print(ranked: &[Ranked]) {
    let mut rows = rows(plan_rows(ranked));
    rows.right_from(2).without_empty_columns();
    println!("{rows}\n");
    for one in ranked {
        let pcie = one.pcie.as_ref().map(|note| format!(" PCI Express: {note}.")).unwrap_or_default();
        println!("{}", paragraph(&format!("{}. {}: {}.{pcie}", one.number, one.what, one.why), 3));
    }
    println!("\n{}", paragraph(PLAN_COLUMNS, 0));
}
