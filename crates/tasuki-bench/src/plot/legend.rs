//! The legend of a plot: a strip above the panels, so that it covers no point.

use super::{Area, Drawn};
use plotters::{
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

/// Height of a row, in pixels.
const ROW: u32 = 18;
/// Width of a character of the names, in pixels, rounded up.
const CHARACTER: u32 = 7;
/// Length of the line before a name, in pixels.
const MARK: i32 = 18;
/// Width that an entry has beside its name, in pixels.
const ENTRY: u32 = 44;

/// Names and colours of curves, in rows.
pub(super) struct Legend {
    rows: Vec<Vec<(String, RGBColor)>>,
    width: u32,
}

impl Legend {
    /// A legend of this width in pixels; without entries it has no height.
    pub fn new(entries: impl Iterator<Item = (String, RGBColor)>, width: u32) -> Self {
        let mut rows: Vec<Vec<(String, RGBColor)>> = Vec::new();
        let mut used = width;
        for entry in entries {
            let own = extent(&entry.0);
            match rows.last_mut() {
                Some(row) if used + own <= width => {
                    used += own;
                    row.push(entry);
                }
                _ => {
                    used = own;
                    rows.push(vec![entry]);
                }
            }
        }
        Self { rows, width }
    }

    /// Its height in pixels.
    pub fn height(&self) -> u32 {
        self.rows.len() as u32 * ROW
    }

    /// Draws the legend `top` pixels below the upper edge.
    pub fn draw(&self, area: &Area<'_>, top: u32) -> Drawn {
        let style = TextStyle::from(("sans-serif", 12)).pos(Pos::new(HPos::Left, VPos::Center));
        for (number, row) in (0u32..).zip(&self.rows) {
            let whole: u32 = row.iter().map(|(name, _)| extent(name)).sum();
            let mut x = (self.width.saturating_sub(whole) / 2) as i32 + MARK / 2;
            let y = (top + number * ROW + ROW / 2) as i32;
            for (name, colour) in row {
                area.draw(&PathElement::new([(x, y), (x + MARK, y)], colour.stroke_width(2)))?;
                area.draw(&Circle::new((x + MARK / 2, y), 3, colour.filled()))?;
                area.draw(&Text::new(name.clone(), (x + MARK + 6, y), style.clone()))?;
                x += extent(name) as i32;
            }
        }
        Ok(())
    }
}

/// Width of an entry, in pixels.
fn extent(name: &str) -> u32 {
    name.chars().count() as u32 * CHARACTER + ENTRY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_fill_rows_and_none_is_wider_than_the_plot() {
        let legend = |names: &[&str]| Legend::new(names.iter().map(|name| (name.to_string(), BLACK)), 200);
        assert_eq!(legend(&[]).height(), 0);
        assert_eq!(legend(&["a", "b", "c"]).rows.iter().map(Vec::len).collect::<Vec<_>>(), [3]);
        assert_eq!(
            legend(&["openmpi", "mpich", "intel"]).rows.iter().map(Vec::len).collect::<Vec<_>>(),
            [2, 1]
        );
        assert_eq!(legend(&["a name that is wider than the whole plot is", "b"]).rows.len(), 2);
    }
}
