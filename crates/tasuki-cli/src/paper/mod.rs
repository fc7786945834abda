//! `tasuki paper`: what papers state, beside what runs here.

mod show;
mod stages;

pub use show::cells as print_cells;

use std::{fs, process::ExitCode};
use tasuki_args::{PaperArgs, PaperCommand, PaperData};
use tasuki_paper::{Data, FILES, Findings, Paper, rhinet2::PROGRAM_STAGES};
use tasuki_terminal::{Failure, print_json, progress_bar};

/// Runs the command.
pub fn run(command: &PaperCommand) -> Result<ExitCode, Failure> {
    match command {
        PaperCommand::List(arguments) => show::list(&Data::built_in()?, arguments.json)?,
        PaperCommand::Data(arguments) => write_data(arguments)?,
        _ => {
            if let Some((paper, arguments)) = command.paper() {
                one(paper, arguments)?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs one paper and shows its cells.
fn one(paper: Paper, arguments: &PaperArgs) -> Result<(), Failure> {
    arguments.overwrite.check_file(arguments.html.as_deref())?;
    let data = match &arguments.data {
        Some(folder) => Data::of_folder(folder)?,
        None => Data::built_in()?,
    };
    let found = if arguments.rules { Findings::default() } else { find(paper, &data, arguments)? };
    let cells = paper.cells(&data, &found);
    // Before it is printed, because that may have no reader.
    if let Some(file) = &arguments.html {
        let commands = commands(paper, arguments.quick);
        let page = tasuki_paper::page(paper, &cells, &found.notes, &commands);
        fs::write(file, page)
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", file.display())))?;
    }
    if arguments.json {
        print_json(&cells)?;
    } else if arguments.rules {
        show::rules(&cells);
    } else {
        show::cells(&cells, &found.notes);
    }
    Ok(())
}

/// The command of the paper, and those of its measurements.
fn commands(paper: Paper, quick: bool) -> Vec<String> {
    let own = format!("tasuki paper {paper}{}", if quick { " --quick" } else { "" });
    std::iter::once(own).chain(paper.stages(quick).iter().map(tasuki_paper::Stage::command)).collect()
}

/// Simulates and measures.
fn find(paper: Paper, data: &Data, arguments: &PaperArgs) -> Result<Findings, Failure> {
    let programs = if arguments.traces.is_some() { PROGRAM_STAGES } else { 0 };
    let bar = progress_bar(paper.simulations() + programs).with_prefix(paper.name());
    let mut begun = 0;
    let mut step = |what: &str| {
        bar.set_position(begun);
        bar.set_message(what.to_owned());
        begun += 1;
    };
    // Traces come first, so that one that is wrong is said at once.
    let replayed =
        arguments.traces.as_deref().map(|folder| paper.replay(data, folder, &mut step)).transpose();
    let simulated =
        replayed.and_then(|replayed| Ok((replayed, paper.simulate(data, arguments.quick, step)?)));
    bar.finish_and_clear();
    let (replayed, mut found) = simulated?;
    found.extend(replayed.unwrap_or_default());
    if !arguments.no_labs {
        found.extend(stages::measure(paper, arguments)?);
        if arguments.quick && !paper.stages(true).is_empty() {
            found.notes.push(MEASURED_ONCE.into());
        }
    }
    Ok(found)
}

/// Below what --quick measured.
const MEASURED_ONCE: &str = "--quick: each figure of a measurement is of one repetition, so that its \
                             verdict can turn from one run to the next; without it there are six, with \
                             their range.";

fn write_data(arguments: &PaperData) -> Result<(), Failure> {
    let folder = &arguments.folder;
    arguments.overwrite.check_in(folder, FILES.map(|(name, _)| name))?;
    let fail = |error| Failure::new(format!("cannot write into {}: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(fail)?;
    for (name, text) in FILES {
        fs::write(folder.join(name), text).map_err(fail)?;
    }
    Ok(())
}
