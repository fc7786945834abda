//! Cells of papers on a terminal.

use serde::Serialize;
use tasuki_paper::{Cell, Data, Findings, Paper, Role, Tally, figure, summary, verdict};
use tasuki_terminal::{Failure, paragraph, print_json, table};

/// A paper in the list.
#[derive(Serialize)]
struct Row {
    paper: &'static str,
    title: &'static str,
    /// Figures that go in.
    inputs: usize,
    /// Figures that are predicted, whether something here runs them or not.
    predicted: usize,
    /// Whether a part of it needs labs, and so root.
    labs: bool,
    /// About how long measurements take, seconds.
    quick_s: u64,
    full_s: u64,
}

/// Prints the papers.
pub fn list(data: &Data, json: bool) -> Result<(), Failure> {
    let row = |paper: Paper| {
        let cells = paper.cells(data, &Findings::default());
        let tally = Tally::of(&cells);
        let seconds = |quick| paper.stages(quick).iter().map(|stage| stage.seconds).sum();
        Row {
            paper: paper.name(),
            title: paper.title(),
            inputs: tally.input,
            predicted: cells.len() - tally.input,
            labs: !paper.stages(true).is_empty(),
            quick_s: seconds(true),
            full_s: seconds(false),
        }
    };
    let rows: Vec<Row> = Paper::ALL.into_iter().map(row).collect();
    if json {
        return print_json(&rows);
    }
    let mut shown = table(["paper", "", "inputs", "predicted", "labs (root)", "labs take, min"]);
    for row in &rows {
        let minutes = if row.labs { format!("{}", row.full_s.div_ceil(60)) } else { "-".into() };
        shown.add_row([
            row.paper.to_owned(),
            row.title.to_owned(),
            row.inputs.to_string(),
            row.predicted.to_string(),
            if row.labs { "yes" } else { "-" }.into(),
            minutes,
        ]);
    }
    shown.right_from(2);
    println!("{shown}\n\n{}", paragraph("Less of each: tasuki paper NAME --quick", 0));
    Ok(())
}

/// Prints what will be judged.
pub fn rules(cells: &[Cell]) {
    let mut shown = table(["item", "cell", "unit", "published", "agrees if"]);
    for cell in cells {
        shown.add_row([
            cell.item.to_owned(),
            cell.cell.clone(),
            cell.unit.to_owned(),
            figure(cell.published),
            rule(cell),
        ]);
    }
    shown.keys(2);
    println!("{shown}");
}

/// The rule, and where the cell is counted.
fn rule(cell: &Cell) -> String {
    match cell.part_of {
        Some(_) => format!("{} (part)", cell.rule),
        None => cell.rule.clone(),
    }
}

/// Prints the inputs, what was predicted, remarks, and the count.
pub fn cells(cells: &[Cell], notes: &[String]) {
    let mut remarks: Vec<&str> = Vec::new();
    let mut inputs = table(["item", "input", "unit", "published", "here", ""]);
    let mut judged = table(["item", "predicted", "published", "here", "range", "agrees if", ""]);
    inputs.keys(2);
    judged.keys(2);
    for cell in cells {
        let mark = mark(cell, &mut remarks);
        let ours = cell.ours().map_or("-".to_owned(), figure);
        let range =
            cell.range.map_or("-".to_owned(), |[low, high]| format!("{} to {}", figure(low), figure(high)));
        if cell.role == Role::Input {
            let unit = cell.unit.to_owned();
            inputs.add_row([
                cell.item.to_owned(),
                cell.cell.clone(),
                unit,
                figure(cell.published),
                ours,
                mark,
            ]);
            continue;
        }
        let name = match cell.unit {
            "holds" => cell.cell.clone(),
            unit => format!("{}, {unit}", cell.cell),
        };
        let verdict = format!("{}{mark}", verdict(cell));
        judged.add_row([
            cell.item.to_owned(),
            name,
            figure(cell.published),
            ours,
            range,
            rule(cell),
            verdict,
        ]);
    }
    println!("What went in:\n{inputs}\n\nWhat is predicted:\n{judged}\n");
    for (number, remark) in remarks.iter().enumerate() {
        let head = format!("({}) ", number + 1);
        println!("{head}{}", paragraph(remark, head.len()));
    }
    for note in notes {
        println!("\n{}", paragraph(note, 0));
    }
    println!("\n{}", paragraph(&summary(&Tally::of(cells)), 0));
}

/// The number of a cell's remark, which is added to the others if it is new.
fn mark<'a>(cell: &'a Cell, remarks: &mut Vec<&'a str>) -> String {
    if cell.note.is_empty() {
        return String::new();
    }
    let known = remarks.iter().position(|remark| *remark == cell.note);
    let number = known.unwrap_or_else(|| {
        remarks.push(&cell.note);
        remarks.len() - 1
    });
    format!(" ({})", number + 1)
}
