//! Figures as tables and plots print them.

/// A number with three significant digits, without an exponent.
pub fn significant(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let magnitude = value.abs().max(1e-9).log10().floor() as i32;
    format!("{value:.*}", usize::try_from(2 - magnitude).unwrap_or(0))
}
