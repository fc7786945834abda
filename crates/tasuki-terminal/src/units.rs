//! Figures as people read them.

/// A number of bytes with at most four digits, in SI units.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 9_999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    match unit {
        0 => format!("{count} B"),
        _ if value < 99.95 => format!("{value:.1} {}", UNITS[unit]),
        _ => format!("{value:.0} {}", UNITS[unit]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_four_digits() {
        for (count, text) in [
            (0, "0 B"),
            (9_999, "9999 B"),
            (10_000, "10.0 kB"),
            (99_960, "100 kB"),
            (9_999_400, "9999 kB"),
            (12_345_678, "12.3 MB"),
            (u64::MAX, "18446744 TB"),
        ] {
            assert_eq!(bytes(count), text);
        }
    }
}
