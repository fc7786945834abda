//! Rates on the command line.

use tasuki_cluster::Rate;

/// Reads a rate with its unit. A cluster file may give plain bit/s; on the command line, `--rate 1000` is an
/// error, as it is hardly meant in bit/s: the first message would take very long.
pub fn rate(text: &str) -> Result<Rate, String> {
    if text.parse::<f64>().is_ok_and(|value| value == 0.0) {
        return Err("a rate of 0 carries nothing: write a rate as 100M or 2.5G".into());
    }
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("{text} bit/s is hardly meant: write a unit, as {text}M or 1G"));
    }
    let is_fraction = |text: &str| text.parse::<f64>().is_ok_and(|value| value > 0.0);
    if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && is_fraction(text) {
        return Err(format!("{text} has no unit: write {text}G or {text}M"));
    }
    text.parse().map_err(|error: <Rate as std::str::FromStr>::Err| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_needs_its_unit() {
        assert_eq!(rate("100M"), Ok("100M".parse().unwrap()));
        assert!(rate("1000").unwrap_err().contains("1000M"));
        assert!(rate("2.5").unwrap_err().contains("2.5G"));
        assert!(rate("").is_err());
        assert!(rate("0").unwrap_err().contains("carries nothing"));
    }
}
