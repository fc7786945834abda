//! Plots of tests with one figure per stack: the stacks side by side, each with a bar up to the median and a
//! line from p10 to p90. The axis begins at zero, so that the lengths of bars can be compared.

use super::{Area, Drawn, GRID, Shape, axis_label};
use crate::Record;
use plotters::{
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

/// Half of a bar's width, where the distance of two bars is 1.
const HALF: f64 = 0.12;

pub(super) fn panel(area: &Area<'_>, network: &str, shape: &Shape<'_>, records: &[&Record]) -> Drawn {
    let count = shape.labels.len();
    let mut chart = ChartBuilder::on(area)
        .caption(network, ("sans-serif", 15))
        .margin(8)
        .x_label_area_size(34)
        .y_label_area_size(58)
        .build_cartesian_2d(-0.5..count as f64 - 0.5, 0.0..shape.values.end)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .x_labels(0)
        .y_labels(6)
        .y_desc(shape.unit.to_string())
        .y_label_formatter(&|value| axis_label(*value))
        .draw()?;
    // If names are long or many, they are written in two rows.
    let rows = if shape.labels.iter().map(String::len).sum::<usize>() > 60 { 2 } else { 1 };
    let names = TextStyle::from(("sans-serif", 12)).pos(Pos::new(HPos::Center, VPos::Center));
    for (index, label) in shape.labels.iter().enumerate() {
        let (x, colour) = (index as f64, shape.colour(label));
        let below = chart.backend_coord(&(x, 0.0));
        let below = (below.0, below.1 + 12 + 14 * (index % rows) as i32);
        // Origin of the area, to be taken off the chart's absolute coordinates.
        let base = area.get_base_pixel();
        area.draw(&Text::new(label.clone(), (below.0 - base.0, below.1 - base.1), names.clone()))?;
        let Some(record) = records.iter().find(|record| shape.label(record) == *label) else { continue };
        let bar = [(x - HALF, 0.0), (x + HALF, record.median)];
        chart.draw_series([Rectangle::new(bar, colour.mix(0.7).filled())])?;
        let spread = [(x, record.p10), (x, record.p90)];
        chart.draw_series([PathElement::new(spread, BLACK.stroke_width(2))])?;
        if let Some(ceiling) = &record.ceiling {
            let dash = [(x - 3.0 * HALF, ceiling.value), (x + 3.0 * HALF, ceiling.value)];
            chart.draw_series(DashedLineSeries::new(dash, 5, 4, BLACK.mix(0.7).stroke_width(1)))?;
        }
    }
    Ok(())
}
