//! `tasuki topo rhinet2`

use crate::paper::print_cells;
use serde::Serialize;
use std::{fs, path::Path, process::ExitCode};
use tasuki_args::Rhinet2Args;
use tasuki_bench::plot::{Panel, lines};
use tasuki_paper::{
    Data, Paper,
    rhinet2::{Effort, Figure, Model, Moved, STAGES, figures, run as rerun, sensitivity},
};
use tasuki_terminal::{Failure, print_json, progress_bar, table};

/// The numbers of the figures of the paper that are plotted.
const PLOTTED: [u8; 4] = [4, 6, 7, 8];

#[derive(Serialize)]
struct Constant {
    what: &'static str,
    value: String,
    kind: &'static str,
    source: &'static str,
}

/// Runs the evaluation and prints it.
pub fn run(arguments: &Rhinet2Args) -> Result<ExitCode, Failure> {
    let graphs = arguments.graphs.map_or(usize::MAX, |graphs| graphs as usize);
    let effort = Effort { lists: arguments.lists, graphs, seed: arguments.seed };
    if arguments.sensitivity {
        return moved(effort, arguments.json);
    }
    if arguments.constants {
        let constants = constants();
        if arguments.json {
            print_json(&constants)?;
        } else {
            print_constants(&constants);
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(folder) = &arguments.plots {
        arguments.overwrite.check_in(folder, PLOTTED.map(plot_file))?;
    }
    let (model, data) = (Model::fitted(), Data::built_in()?);
    let bar = progress_bar(STAGES).with_prefix("rhinet2");
    let found = rerun(&model, &data.rhinet2, effort, |what| {
        bar.set_message(what.to_owned());
        bar.inc(1);
    });
    bar.finish_and_clear();
    let found = found?;
    if let Some(folder) = &arguments.plots {
        write_plots(folder, &figures(&model)?)?;
    }
    let cells = Paper::Rhinet2.cells(&data, &found);
    if arguments.json {
        print_json(&cells)?;
    } else {
        print_constants(&constants());
        println!();
        print_cells(&cells, &found.notes);
    }
    Ok(ExitCode::SUCCESS)
}

fn constants() -> Vec<Constant> {
    let constant = |c: tasuki_paper::rhinet2::Constant| Constant {
        what: c.what,
        value: c.value,
        kind: c.kind,
        source: c.source,
    };
    Model::constants().into_iter().map(constant).collect()
}

fn print_constants(constants: &[Constant]) {
    let mut rows = table(["went into the model", "value", "", "where from"]);
    for constant in constants {
        rows.add_row([constant.what, &constant.value, constant.kind, constant.source]);
    }
    println!("{rows}");
}

/// A number with two digits after the point.
fn digits2(value: f64) -> String {
    trimmed(format!("{value:.2}"))
}

/// A number with a decimal point, without trailing zeros.
fn trimmed(text: String) -> String {
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Prints which choice of the model changes which cells.
fn moved(effort: Effort, json: bool) -> Result<ExitCode, Failure> {
    #[derive(Serialize)]
    struct Row {
        choice: &'static str,
        cells: Vec<(&'static str, f64)>,
    }
    let bar = progress_bar(15).with_prefix("rhinet2");
    let rows = sensitivity(effort, |what| {
        bar.set_message(what.to_owned());
        bar.inc(1);
    });
    bar.finish_and_clear();
    let rows: Vec<Moved> = rows?;
    if json {
        let rows: Vec<Row> = rows.into_iter().map(|Moved { choice, cells }| Row { choice, cells }).collect();
        print_json(&rows)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some(first) = rows.first().cloned() else { return Ok(ExitCode::SUCCESS) };
    let mut shown = table([""; 0]);
    shown.set_header(std::iter::once("choice").chain(first.cells.iter().map(|(name, _)| *name)));
    for row in &rows {
        let cell = |((_, value), (_, own)): (&(&str, f64), &(&str, f64))| match (value - own).abs() < 0.005 {
            true if row.choice != first.choice => "=".to_owned(),
            _ => digits2(*value),
        };
        let cells = row.cells.iter().zip(&first.cells).map(cell);
        shown.add_row(std::iter::once(row.choice.to_owned()).chain(cells));
    }
    println!("{shown}");
    Ok(ExitCode::SUCCESS)
}

/// Writes a plot per figure of the paper.
fn write_plots(folder: &Path, figures: &[Figure]) -> Result<(), Failure> {
    let fail = |error| Failure::new(format!("cannot write plots to {}: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(fail)?;
    for number in PLOTTED {
        let panel = |figure: &Figure| Panel {
            title: figure.title.clone(),
            x: figure.x.into(),
            y: figure.y.into(),
            curves: figure.curves.iter().map(|curve| (curve.name.clone(), curve.points.clone())).collect(),
        };
        let name = format!("F{number}");
        let panels: Vec<Panel> = figures.iter().filter(|f| f.name.starts_with(&name)).map(panel).collect();
        fs::write(folder.join(plot_file(number)), lines(&panels)?).map_err(fail)?;
    }
    Ok(())
}

/// The name of the file with the plot of a figure.
fn plot_file(number: u8) -> String {
    format!("rhinet2-figure-{number}.svg")
}
