//! Times as people write them.

use std::time::Duration;

/// A time of 0.1 to 10,000,000 seconds: `90s`, `10m`, `24h`, or seconds without a unit.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no time; write it as 90s, 10m or 24h");
    let (number, scale) = match text.char_indices().last() {
        Some((at, 's')) => (&text[..at], 1.0),
        Some((at, 'm')) => (&text[..at], 60.0),
        Some((at, 'h')) => (&text[..at], 3600.0),
        _ => (text, 1.0),
    };
    let seconds = number.trim().parse::<f64>().map_err(|_| wrong())? * scale;
    if (0.1..=1e7).contains(&seconds) { Ok(Duration::from_secs_f64(seconds)) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_times() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("24h"), Ok(Duration::from_secs(86_400)));
        assert_eq!(duration("7"), Ok(Duration::from_secs(7)));
        for bad in ["", "h", "-1s", "0", "1d", "1e99h", "NaN"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
