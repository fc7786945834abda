//! Plots of tests over message sizes: both axes logarithmic, one curve per stack.

use super::{Area, Drawn, GRID, Shape, axis_label};
use crate::Record;
use plotters::{coord::combinators::LogCoord, prelude::*};

type Axes<'a, 'b> = ChartContext<'b, SVGBackend<'a>, Cartesian2d<LogCoord<f64>, LogCoord<f64>>>;

/// The place of a record's size on the axis. A size of zero is drawn at half a byte, as the axis is
/// logarithmic.
pub(super) fn x(record: &Record) -> f64 {
    if record.bytes == 0 { 0.5 } else { record.bytes as f64 }
}

pub(super) fn panel(area: &Area<'_>, network: &str, shape: &Shape<'_>, records: &[&Record]) -> Drawn {
    let mut chart = ChartBuilder::on(area)
        .caption(network, ("sans-serif", 15))
        .margin(8)
        .x_label_area_size(34)
        .y_label_area_size(58)
        .build_cartesian_2d(shape.sizes.clone().log_scale().base(2.0), shape.values.clone().log_scale())?;
    chart
        .configure_mesh()
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .x_max_light_lines(1)
        .x_desc("message size, bytes")
        .y_desc(shape.unit.to_string())
        .x_label_formatter(&|size| size_label(*size))
        .y_label_formatter(&|value| axis_label(*value))
        .draw()?;
    // All bands are drawn first, so that none covers another stack's curve.
    for draw in [band, curve] {
        for label in &shape.labels {
            let mut points: Vec<&Record> =
                records.iter().filter(|r| shape.label(r) == *label).copied().collect();
            points.sort_by_key(|record| record.bytes);
            if !points.is_empty() {
                draw(&mut chart, shape.colour(label), &points)?;
            }
        }
    }
    limit(&mut chart, records)?;
    Ok(())
}

fn band(chart: &mut Axes<'_, '_>, colour: RGBColor, points: &[&Record]) -> Drawn {
    let upper = points.iter().map(|record| (x(record), record.p90));
    let lower = points.iter().rev().map(|record| (x(record), record.p10));
    let band: Vec<(f64, f64)> = upper.chain(lower).collect();
    chart.draw_series([Polygon::new(band, colour.mix(0.15))])?;
    if let [only] = points {
        // The band of a single point has no width, so that a line is drawn.
        let bar = [(x(only), only.p10), (x(only), only.p90)];
        chart.draw_series([PathElement::new(bar, colour.mix(0.6))])?;
    }
    Ok(())
}

fn curve(chart: &mut Axes<'_, '_>, colour: RGBColor, points: &[&Record]) -> Drawn {
    let medians = points.iter().map(|record| (x(record), record.median));
    chart.draw_series(LineSeries::new(medians.clone(), colour.stroke_width(2)))?;
    chart.draw_series(medians.map(|point| Circle::new(point, 3, colour.filled())))?;
    Ok(())
}

/// Draws the raw limit of those records that have one.
fn limit(chart: &mut Axes<'_, '_>, records: &[&Record]) -> Drawn {
    let mut points: Vec<(f64, f64)> =
        records.iter().filter_map(|record| Some((x(record), record.ceiling.as_ref()?.value))).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.dedup_by(|a, b| a.0 == b.0);
    chart.draw_series(DashedLineSeries::new(points, 5, 4, BLACK.mix(0.7).stroke_width(1)))?;
    Ok(())
}

/// The label of a size: `8`, `4k`, `1M`; numbers that are no multiple of these stay as they are.
fn size_label(size: f64) -> String {
    let bytes = size.round() as u64;
    match bytes {
        _ if size < 1.0 => "0".into(),
        1_048_576.. if bytes.is_multiple_of(1_048_576) => format!("{}M", bytes / 1_048_576),
        1024.. if bytes.is_multiple_of(1024) => format!("{}k", bytes / 1024),
        _ => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_as_people_say_them() {
        let labels =
            [(0.5, "0"), (8.0, "8"), (1000.0, "1000"), (1024.0, "1k"), (65536.0, "64k"), (4194304.0, "4M")];
        for (size, text) in labels {
            assert_eq!(size_label(size), text);
        }
    }
}
