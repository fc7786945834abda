//! `tasuki topo rhinet2`

use crate::{
    args::Rhinet2Args,
    failure::Failure,
    terminal::{print_json, progress_bar, table},
};
use serde::Serialize;
use std::{fs, path::Path, process::ExitCode};
use tasuki_bench::plot::{Panel, lines};
use tasuki_sim::rhinet2::{Cell, Effort, Figure, Model, Moved, STAGES, figures, run as rerun, sensitivity};

/// The numbers of the figures of the paper that are plotted.
const PLOTTED: [u8; 4] = [4, 6, 7, 8];

/// A cell of a table of the paper, published and simulated.
#[derive(Serialize)]
struct Record {
    table: &'static str,
    cell: String,
    unit: &'static str,
    published: f64,
    simulated: f64,
    difference: f64,
    difference_percent: Option<f64>,
    /// Range over all graphs, or all choices of paths, that fit the statements of the paper.
    range: Option<[f64; 2]>,
    /// Whether the simulation agrees with the paper; `None` if it need not.
    agrees: Option<bool>,
    #[serde(skip_serializing_if = "str::is_empty")]
    note: &'static str,
}

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
    let model = Model::fitted();
    let bar = progress_bar(STAGES).with_prefix("rhinet2");
    let cells = rerun(&model, effort, |what| {
        bar.set_message(what.to_owned());
        bar.inc(1);
    });
    bar.finish_and_clear();
    let cells = cells?;
    if let Some(folder) = &arguments.plots {
        write_plots(folder, &figures(&model)?)?;
    }
    let cells: Vec<Record> = cells.into_iter().map(record).collect();
    if arguments.json {
        print_json(&cells)?;
    } else {
        print(&cells);
        print_constants(&constants());
        let judged = || cells.iter().filter_map(|cell| cell.agrees);
        println!("\n{} of {} cells agree", judged().filter(|agrees| *agrees).count(), judged().count());
    }
    Ok(ExitCode::SUCCESS)
}

fn constants() -> Vec<Constant> {
    let constant = |c: tasuki_sim::rhinet2::Constant| Constant {
        what: c.what,
        value: c.value,
        kind: c.kind,
        source: c.source,
    };
    Model::constants().into_iter().map(constant).collect()
}

fn record(cell: Cell) -> Record {
    let difference = cell.simulated - cell.published;
    let percent = (cell.published != 0.0 && cell.unit != "%").then(|| difference / cell.published * 100.0);
    let agrees = cell.agrees();
    let Cell { table, cell, unit, published, simulated, range, note, .. } = cell;
    Record {
        table,
        cell,
        unit,
        published,
        simulated,
        difference,
        difference_percent: percent,
        range,
        agrees,
        note,
    }
}

fn print(cells: &[Record]) {
    let mut rows =
        table(["table", "cell", "unit", "published", "simulated", "difference", "range", "agrees"]);
    let mut notes: Vec<&str> = Vec::new();
    for cell in cells {
        let off = match cell.difference_percent {
            Some(percent) => format!("{percent:+.1} %"),
            None => format!("{:+.1}", cell.difference),
        };
        let mark = if cell.note.is_empty() {
            String::new()
        } else {
            let number = notes.iter().position(|note| *note == cell.note).unwrap_or_else(|| {
                notes.push(cell.note);
                notes.len() - 1
            });
            format!(" ({})", number + 1)
        };
        let agrees = match cell.agrees {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "",
        };
        let range = cell
            .range
            .map_or_else(String::new, |[low, high]| format!("{} to {}", digits2(low), digits2(high)));
        rows.add_row([
            cell.table.into(),
            cell.cell.clone(),
            cell.unit.into(),
            trimmed(format!("{:.3}", cell.published)),
            digits2(cell.simulated),
            off,
            range,
            format!("{agrees}{mark}"),
        ]);
    }
    println!("{rows}\n");
    for (number, note) in notes.iter().enumerate() {
        println!("({}) {note}", number + 1);
    }
    println!();
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
