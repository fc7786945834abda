//! Plots as SVG: logarithmic axes, one line per stack, a band from the tenth to the ninetieth percentile.

use crate::{Record, Unit};
use plotters::{
    coord::{Shift, combinators::LogCoord},
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
    /// What the drawing library says.
    pub reason: String,
}

const PANEL: (u32, u32) = (560, 400);
const PANELS_PER_ROW: usize = 2;
const TITLE_HEIGHT: u32 = 44;
const FOOT_HEIGHT: u32 = 26;

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

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Axes<'a, 'b> = ChartContext<'b, SVGBackend<'a>, Cartesian2d<LogCoord<f64>, LogCoord<f64>>>;

/// One panel for each network of the records, all of one test, with the same vertical axis.
pub fn panels(test: &str, records: &[&Record]) -> Result<String, PlotError> {
    let fail = |reason: String| PlotError { test: test.into(), reason };
    let shape = Shape::of(records).ok_or_else(|| fail("no finite figure above zero".into()))?;
    let rows = shape.networks.len().div_ceil(PANELS_PER_ROW);
    let columns = shape.networks.len().min(PANELS_PER_ROW);
    let size = (PANEL.0 * columns as u32, PANEL.1 * rows as u32 + TITLE_HEIGHT + FOOT_HEIGHT);
    let mut text = String::new();
    let drawn = draw(&mut text, size, (rows, columns), test, &shape, records);
    drawn.map_err(|error| fail(error.to_string()))?;
    Ok(text)
}

/// What all panels share.
struct Shape<'a> {
    networks: Vec<&'a str>,
    stacks: Vec<&'a str>,
    unit: Unit,
    sizes: Range<f64>,
    values: Range<f64>,
    foot: String,
}

impl<'a> Shape<'a> {
    fn of(records: &[&'a Record]) -> Option<Self> {
        let first = records.first()?;
        let (mut networks, mut stacks) = (Vec::new(), Vec::new());
        for record in records {
            push_new(&mut networks, record.network.as_str());
            push_new(&mut stacks, record.stack.as_str());
        }
        let ceilings = records.iter().filter_map(|record| record.ceiling.as_ref()).map(|c| c.value);
        let values =
            records.iter().flat_map(|record| [record.p10, record.p90, record.median]).chain(ceilings);
        let conditions = records.iter().map(|record| record.offloads.as_str());
        let mut offloads = Vec::new();
        conditions.for_each(|words| push_new(&mut offloads, words));
        Some(Self {
            networks,
            stacks,
            unit: first.unit,
            sizes: around(records.iter().map(|record| x(record)))?,
            values: around(values)?,
            foot: format!(
                "{} ranks; {} x {}; {}; {}; offloads {}; bands: p10 to p90; dashes: raw limit",
                first.ranks,
                first.cores,
                first.cpu,
                first.kernel,
                first.user,
                offloads.join(" and ")
            ),
        })
    }
}

/// A size on a logarithmic axis: nothing is drawn at half a byte.
fn x(record: &Record) -> f64 {
    if record.bytes == 0 { 0.5 } else { record.bytes as f64 }
}

/// The range of the values with some air, never empty.
fn around(values: impl Iterator<Item = f64>) -> Option<Range<f64>> {
    let (mut low, mut high) = (f64::INFINITY, 0.0f64);
    for value in values.filter(|value| value.is_finite() && *value > 0.0) {
        (low, high) = (low.min(value), high.max(value));
    }
    (high > 0.0).then(|| low / 1.4..high * 1.4)
}

fn push_new<'a>(list: &mut Vec<&'a str>, name: &'a str) {
    if !list.contains(&name) {
        list.push(name);
    }
}

fn draw(
    text: &mut String,
    size: (u32, u32),
    (rows, columns): (usize, usize),
    test: &str,
    shape: &Shape<'_>,
    records: &[&Record],
) -> Result<(), Box<dyn std::error::Error>> {
    let root = SVGBackend::with_string(text, size).into_drawing_area();
    root.fill(&WHITE)?;
    let better = match shape.unit {
        Unit::Microseconds => "less is better",
        Unit::MegabytesPerSecond => "more is better",
    };
    let centred = |size: i32| TextStyle::from(("sans-serif", size)).pos(Pos::new(HPos::Center, VPos::Center));
    let middle = size.0 as i32 / 2;
    let title = format!("{test}: {} ({better})", shape.unit);
    root.draw(&Text::new(title, (middle, TITLE_HEIGHT as i32 / 2), centred(20)))?;
    let foot = (middle, (size.1 - FOOT_HEIGHT / 2) as i32);
    root.draw(&Text::new(shape.foot.clone(), foot, centred(11)))?;
    let body = root.margin(TITLE_HEIGHT, FOOT_HEIGHT, 0, 0);
    for (area, network) in body.split_evenly((rows, columns)).iter().zip(&shape.networks) {
        let here: Vec<&Record> = records.iter().filter(|r| r.network == *network).copied().collect();
        panel(area, network, shape, &here)?;
    }
    root.present()?;
    Ok(())
}

fn panel(
    area: &Area<'_>,
    network: &str,
    shape: &Shape<'_>,
    records: &[&Record],
) -> Result<(), Box<dyn std::error::Error>> {
    let mut chart = ChartBuilder::on(area)
        .caption(network, ("sans-serif", 15))
        .margin(8)
        .x_label_area_size(34)
        .y_label_area_size(58)
        .build_cartesian_2d(shape.sizes.clone().log_scale().base(2.0), shape.values.clone().log_scale())?;
    chart
        .configure_mesh()
        .light_line_style(RGBColor(235, 235, 235))
        .x_desc("message size, bytes")
        .y_desc(shape.unit.to_string())
        .x_label_formatter(&|size| size_label(*size))
        .y_label_formatter(&|value| crate::table::significant(*value))
        .draw()?;
    for (index, stack) in shape.stacks.iter().enumerate() {
        let mut points: Vec<&Record> = records.iter().filter(|r| r.stack == *stack).copied().collect();
        points.sort_by_key(|record| record.bytes);
        if !points.is_empty() {
            line(&mut chart, stack, COLOURS[index % COLOURS.len()], &points)?;
        }
    }
    limit(&mut chart, records)?;
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(RGBColor(200, 200, 200))
        .label_font(("sans-serif", 12))
        .draw()?;
    Ok(())
}

fn line(
    chart: &mut Axes<'_, '_>,
    stack: &str,
    colour: RGBColor,
    points: &[&Record],
) -> Result<(), Box<dyn std::error::Error>> {
    let upper = points.iter().map(|record| (x(record), record.p90));
    let lower = points.iter().rev().map(|record| (x(record), record.p10));
    let band: Vec<(f64, f64)> = upper.chain(lower).collect();
    chart.draw_series([Polygon::new(band, colour.mix(0.15))])?;
    // A band of a single point has no width: a bar shows its spread.
    let bars = points.iter().map(|r| PathElement::new([(x(r), r.p10), (x(r), r.p90)], colour.mix(0.6)));
    chart.draw_series(bars)?;
    let medians = points.iter().map(|record| (x(record), record.median));
    chart
        .draw_series(LineSeries::new(medians.clone(), colour.stroke_width(2)))?
        .label(stack)
        .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
    chart.draw_series(medians.map(|point| Circle::new(point, 3, colour.filled())))?;
    Ok(())
}

/// The raw limit, where there is one.
fn limit(chart: &mut Axes<'_, '_>, records: &[&Record]) -> Result<(), Box<dyn std::error::Error>> {
    let mut points: Vec<(f64, f64)> =
        records.iter().filter_map(|record| Some((x(record), record.ceiling.as_ref()?.value))).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.dedup_by(|a, b| a.0 == b.0);
    chart.draw_series(DashedLineSeries::new(points, 5, 4, BLACK.mix(0.6).stroke_width(1)))?;
    Ok(())
}

/// `8`, `4k`, `1M`; other numbers as they are.
fn size_label(size: f64) -> String {
    let bytes = size.round() as u64;
    match bytes {
        _ if size < 1.0 => "0".into(),
        1_048_576.. if bytes.is_multiple_of(1_048_576) => format!("{}M", bytes / 1_048_576),
        1024.. if bytes.is_multiple_of(1024) => format!("{}k", bytes / 1024),
        _ => bytes.to_string(),
    }
}
