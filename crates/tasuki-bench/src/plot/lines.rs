//! Plots with linear axes.

use super::legend::Legend;
use super::{COLOURS, Drawn, GRID, PlotError, axis_label};
use plotters::prelude::*;
use std::ops::Range;

/// One panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Title above the panel.
    pub title: String,
    /// Label of the horizontal axis, with its unit.
    pub x: String,
    /// Label of the vertical axis.
    pub y: String,
    /// Names and points of the curves.
    pub curves: Vec<(String, Vec<(f64, f64)>)>,
}

const SIZE: (u32, u32) = (520, 360);
const PER_ROW: usize = 2;

/// Draws panels beside and below each other, as SVG.
pub fn lines(panels: &[Panel]) -> Result<String, PlotError> {
    let name = || panels.first().map_or_else(String::new, |panel| panel.title.clone());
    let fail = |reason: String| PlotError { test: name(), reason };
    if panels.is_empty() {
        return Err(fail("no panels".into()));
    }
    let mut text = String::new();
    draw(&mut text, panels).map_err(|error| fail(error.to_string()))?;
    Ok(text)
}

fn draw(text: &mut String, panels: &[Panel]) -> Drawn {
    let (rows, columns) = (panels.len().div_ceil(PER_ROW), panels.len().min(PER_ROW));
    let size = (SIZE.0 * columns as u32, SIZE.1 * rows as u32);
    let root = SVGBackend::with_string(text, size).into_drawing_area();
    root.fill(&WHITE)?;
    for (area, panel) in root.split_evenly((rows, columns)).iter().zip(panels) {
        let entries = panel.curves.iter().enumerate();
        let entries = entries.map(|(number, (name, _))| (name.clone(), COLOURS[number % COLOURS.len()]));
        // The title names a single curve.
        let legend = Legend::new(entries.filter(|_| panel.curves.len() > 1), SIZE.0);
        let (legend_area, area) = area.split_vertically(legend.height());
        legend.draw(&legend_area, 0)?;
        let points = || panel.curves.iter().flat_map(|(_, points)| points.iter().copied());
        let mut chart = ChartBuilder::on(&area)
            .caption(&panel.title, ("sans-serif", 15))
            .margin(10)
            .x_label_area_size(36)
            .y_label_area_size(58)
            .build_cartesian_2d(span(points().map(|point| point.0)), span(points().map(|point| point.1)))?;
        chart
            .configure_mesh()
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .x_max_light_lines(1)
            .y_max_light_lines(1)
            .x_desc(panel.x.as_str())
            .y_desc(panel.y.as_str())
            .x_label_formatter(&|value| axis_label(*value))
            .y_label_formatter(&|value| axis_label(*value))
            .draw()?;
        for (number, (_, points)) in panel.curves.iter().enumerate() {
            let colour = COLOURS[number % COLOURS.len()];
            chart.draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?;
            chart.draw_series(points.iter().map(|point| Circle::new(*point, 3, colour.filled())))?;
        }
    }
    root.present()?;
    Ok(())
}

/// A range from zero (or the smallest value, if that is below) to somewhat above the largest value.
fn span(values: impl Iterator<Item = f64>) -> Range<f64> {
    let (mut low, mut high) = (0.0f64, 0.0f64);
    for value in values.filter(|value| value.is_finite()) {
        (low, high) = (low.min(value), high.max(value));
    }
    low..if high > low { high + (high - low) * 0.05 } else { low + 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panel_names_its_axes_and_curves() -> Result<(), PlotError> {
        let curve = |name: &str| (name.to_owned(), vec![(1.0, 2.0), (2.0, 3.5), (3.0, f64::NAN)]);
        let panel = Panel {
            title: "Two curves".into(),
            x: "switches".into(),
            y: "us".into(),
            curves: vec![curve("mesh"), curve("torus")],
        };
        let text = lines(&[panel.clone(), panel.clone(), panel])?;
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"));
        for part in ["Two curves", "switches", "us", "mesh", "torus"] {
            assert!(text.contains(part), "{part}");
        }
        assert!(lines(&[]).is_err());
        Ok(())
    }
}
