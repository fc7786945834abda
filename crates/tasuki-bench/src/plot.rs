//! Plots as SVG, with one panel per network and a logarithmic axis for the figure. Tests over sizes become
//! curves with a band from the tenth to the ninetieth percentile; tests with one figure per stack become a
//! row of bars.

mod bars;
mod curves;
mod legend;
mod lines;

pub use lines::{Panel, lines};

use crate::{Record, Unit};
use legend::Legend;
use plotters::{
    coord::Shift,
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};
use std::ops::Range;
use thiserror::Error;

/// A plot that could not be drawn.
#[derive(Debug, Error)]
#[error("cannot draw the plot of {test}: {reason}")]
pub struct PlotError {
    /// The test.
    pub test: String,
    /// The error of the drawing library.
    pub reason: String,
}

const PANEL: (u32, u32) = (560, 400);
const PANELS_PER_ROW: usize = 2;
const TITLE_HEIGHT: u32 = 44;
const FOOT_HEIGHT: u32 = 44;
/// Characters of the foot's small type that fit a panel's width.
const FOOT_CHARACTERS: usize = 96;

/// Colours that stay apart for colour-blind readers (Okabe and Ito), then repeated.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(90, 90, 90),
];
const GRID: RGBColor = RGBColor(205, 205, 205);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

/// Draws records of one test: a panel for each network, all with the same axes.
pub fn panels(test: &str, records: &[&Record]) -> Result<String, PlotError> {
    let fail = |reason: String| PlotError { test: test.into(), reason };
    let shape = Shape::of(records).ok_or_else(|| fail("no finite figure above zero".into()))?;
    let mut text = String::new();
    draw(&mut text, test, &shape, records).map_err(|error| fail(error.to_string()))?;
    Ok(text)
}

/// The axes and labels that all panels share.
struct Shape<'a> {
    networks: Vec<&'a str>,
    /// Labels of the curves or bars, see [`Shape::label`].
    labels: Vec<String>,
    several_ranks: bool,
    unit: Unit,
    sizes: Range<f64>,
    values: Range<f64>,
    foot: [String; 2],
}

impl<'a> Shape<'a> {
    fn of(records: &[&'a Record]) -> Option<Self> {
        let first = records.first()?;
        let several_ranks = records.iter().any(|record| record.ranks != first.ranks);
        let (mut networks, mut labels, mut offloads) = (Vec::new(), Vec::new(), Vec::new());
        for record in records {
            push_new(&mut networks, record.network.as_str());
            push_new(&mut labels, label(record, several_ranks));
            push_new(&mut offloads, record.offloads.as_str());
        }
        let ceilings = records.iter().filter_map(|record| record.ceiling.as_ref()).map(|c| c.value);
        let values =
            records.iter().flat_map(|record| [record.p10, record.p90, record.median]).chain(ceilings);
        let ranks = if several_ranks { String::new() } else { format!("{} ranks; ", first.ranks) };
        let marks =
            format!("{ranks}offloads {}; p10 to p90 shown; dashes: raw limit", offloads.join(" and "));
        let machine = format!("{} x {}; {}; {}", first.cores, first.cpu, first.kernel, first.user);
        Some(Self {
            networks,
            labels,
            several_ranks,
            unit: first.unit,
            sizes: around(records.iter().map(|record| curves::x(record)))?,
            values: around(values)?,
            foot: [shorten(&marks), shorten(&machine)],
        })
    }

    fn label(&self, record: &Record) -> String {
        label(record, self.several_ranks)
    }

    fn colour(&self, label: &str) -> RGBColor {
        let index = self.labels.iter().position(|known| known == label).unwrap_or(0);
        COLOURS[index % COLOURS.len()]
    }
}

/// The label of a record: its stack, with the number of ranks if the plot has several.
fn label(record: &Record, several_ranks: bool) -> String {
    if several_ranks { format!("{}, {} ranks", record.stack, record.ranks) } else { record.stack.clone() }
}

/// A range somewhat larger than that of the values, never empty.
fn around(values: impl Iterator<Item = f64>) -> Option<Range<f64>> {
    let (mut low, mut high) = (f64::INFINITY, 0.0f64);
    for value in values.filter(|value| value.is_finite() && *value > 0.0) {
        (low, high) = (low.min(value), high.max(value));
    }
    (high > 0.0).then(|| low / 1.4..high * 1.4)
}

fn push_new<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

fn shorten(text: &str) -> String {
    let short: String = text.chars().take(FOOT_CHARACTERS).collect();
    if short.len() < text.len() { short + "..." } else { short }
}

fn draw(text: &mut String, test: &str, shape: &Shape<'_>, records: &[&Record]) -> Drawn {
    let rows = shape.networks.len().div_ceil(PANELS_PER_ROW);
    let columns = shape.networks.len().min(PANELS_PER_ROW);
    let one_each = shape.networks.iter().all(|network| has_one_each(shape, network, records));
    let entries = shape.labels.iter().map(|label| (label.clone(), shape.colour(label)));
    // Bars have their names below them.
    let legend = Legend::new(entries.filter(|_| !one_each), PANEL.0 * columns as u32);
    let head = TITLE_HEIGHT + legend.height();
    let size = (PANEL.0 * columns as u32, PANEL.1 * rows as u32 + head + FOOT_HEIGHT);
    let root = SVGBackend::with_string(text, size).into_drawing_area();
    root.fill(&WHITE)?;
    let better = match shape.unit {
        Unit::Microseconds => "less is better",
        Unit::MegabytesPerSecond | Unit::MegaOperations => "more is better",
    };
    let centred = |size: i32| TextStyle::from(("sans-serif", size)).pos(Pos::new(HPos::Center, VPos::Center));
    let middle = size.0 as i32 / 2;
    let title = format!("{test}, {} ({better})", shape.unit);
    root.draw(&Text::new(title, (middle, TITLE_HEIGHT as i32 / 2), centred(20)))?;
    for (line, foot) in (0..).zip(&shape.foot) {
        let at = (middle, (size.1 - FOOT_HEIGHT) as i32 + 13 + 16 * line);
        root.draw(&Text::new(foot.clone(), at, centred(11)))?;
    }
    legend.draw(&root, TITLE_HEIGHT)?;
    let body = root.margin(head, FOOT_HEIGHT, 0, 0);
    for (area, network) in body.split_evenly((rows, columns)).iter().zip(&shape.networks) {
        let here: Vec<&Record> = records.iter().filter(|r| r.network == *network).copied().collect();
        if one_each {
            bars::panel(area, network, shape, &here)?;
        } else {
            curves::panel(area, network, shape, &here)?;
        }
    }
    root.present()?;
    Ok(())
}

/// Whether each label has at most one record on the network, so that there is nothing to draw a curve
/// through.
fn has_one_each(shape: &Shape<'_>, network: &str, records: &[&Record]) -> bool {
    let count = |label: &String| {
        let same = |record: &&&Record| record.network == network && shape.label(record) == *label;
        records.iter().filter(same).count()
    };
    shape.labels.iter().all(|label| count(label) <= 1)
}

/// The label of a figure on an axis: up to three digits, without a needless decimal point.
fn axis_label(value: f64) -> String {
    let text = crate::figure::significant(value);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Ceiling,
        record::tests::{point, record},
    };

    fn svg(records: &[Record]) -> String {
        let records: Vec<&Record> = records.iter().collect();
        match panels("pingpong", &records) {
            Ok(text) => text,
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn a_plot_names_stacks_networks_unit_and_conditions() {
        let at = |bytes, stack, us: f64| record(point("pingpong", bytes, "mesh", stack), &[&[us, us * 2.0]]);
        let mut star = record(point("pingpong", 8, "star", "open"), &[&[9.0]]);
        star.ceiling = Some(Ceiling { value: 2.0, of: "raw".into() });
        let text = svg(&[at(8, "open", 3.0), at(64, "open", 4.0), at(8, "mpich", 5.0), star]);
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"));
        for part in
            ["pingpong, us (less is better)", "mesh", "star", "open", "mpich", "Linux 6.1", "4 ranks", "root"]
        {
            assert!(text.contains(part), "{part}");
        }
        assert!(!text.contains("NaN") && !text.contains("inf"));
    }

    #[test]
    fn one_figure_per_stack_is_drawn_as_bars() {
        let barrier = |stack, us| record(point("barrier", 0, "mesh", stack), &[&[us]]);
        let text = svg(&[barrier("open", 3.0), barrier("mpich", 5.0)]);
        assert!(text.contains("mpich") && !text.contains("message size"));
        assert!(text.matches("<rect").count() >= 3, "the background and two bars: {text}");
    }

    #[test]
    fn ranks_are_told_apart() {
        let mut eight = record(point("pingpong", 8, "mesh", "open"), &[&[9.0]]);
        let four = eight.clone();
        eight.ranks = 8;
        assert!(svg(&[four, eight]).contains("open, 8 ranks"));
    }

    #[test]
    fn nothing_to_draw_is_an_error() {
        assert!(panels("pingpong", &[]).is_err());
    }

    #[test]
    fn axis_labels_are_short() {
        for (value, text) in [(100.0, "100"), (10.0, "10"), (1.0, "1"), (0.5, "0.5"), (2000.0, "2000")] {
            assert_eq!(axis_label(value), text);
        }
    }
}
