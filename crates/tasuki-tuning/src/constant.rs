//! What the table says about one constant.

use std::fmt;

/// A value of a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A number of something, or of nanoseconds or bytes: see [`Constant::unit`].
    Integer(u64),
    /// A ratio.
    Real(f64),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Integer(value) => write!(f, "{value}"),
            Value::Real(value) => write!(f, "{value}"),
        }
    }
}

/// How the gain of a constant is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// By comparing a provider with another value to this one, in paired repetitions of `tasuki bench mpi`.
    Bench {
        /// The other value.
        other: &'static str,
        /// Arguments of `tasuki bench mpi`: hosts, MPI and rows.
        args: &'static str,
    },
    /// By a test that fails when it is built with the other value.
    Test {
        /// The other value.
        other: &'static str,
        /// The command, which builds what it runs.
        command: &'static str,
    },
    /// By a simulation, a test in virtual time, or one that measures time, that prints other figures when it
    /// is built with the other value.
    Figures {
        /// The other value.
        other: &'static str,
        /// The command, which builds what it runs.
        command: &'static str,
    },
    /// By nothing: no test and no benchmark shows a difference to the other value.
    Bound {
        /// The other value.
        other: &'static str,
        /// What happens with the other value where that is met.
        then: &'static str,
    },
}

impl Measure {
    /// The other value with which the default is compared.
    pub const fn other(&self) -> &'static str {
        match self {
            Measure::Bench { other, .. }
            | Measure::Test { other, .. }
            | Measure::Figures { other, .. }
            | Measure::Bound { other, .. } => other,
        }
    }
}

/// One constant.
#[derive(Clone, Copy, Debug)]
pub struct Constant {
    /// The group that it belongs to, as `coalesce`.
    pub group: &'static str,
    /// Its name in the group, as `FIRST`.
    pub name: &'static str,
    /// The default.
    pub default: Value,
    /// The value of this build: the default, unless the build was told another one.
    pub value: Value,
    /// What it counts: `ns`, `bytes`, or the thing, as `messages`.
    pub unit: &'static str,
    /// What it is.
    pub meaning: &'static str,
    /// Why it has this value and no other.
    pub why: &'static str,
    /// What it gains, as measured; empty if nobody has measured it.
    pub gain: &'static str,
    /// How that is measured.
    pub measure: Measure,
    /// Number of the decision in `docs/adr` that it belongs to; 0: none.
    pub adr: u16,
}

impl Constant {
    /// Group and name, as `coalesce.FIRST`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.group, self.name)
    }

    /// The environment variable by which a build is given another value.
    pub fn variable(&self) -> String {
        format!("TASUKI_TUNING_{}_{}", self.group, self.name)
    }

    /// The command that measures the gain; none if nothing does.
    pub fn command(&self) -> Option<String> {
        let command = match self.measure {
            Measure::Bench { other, args } => {
                format!("make measure C={} V={other} ARGS=\"{args}\"", self.full_name())
            }
            Measure::Test { other, command } | Measure::Figures { other, command } => {
                format!("{}={other} {command}", self.variable())
            }
            Measure::Bound { .. } => return None,
        };
        Some(command)
    }

    /// Whether this build has another value than the default.
    pub fn is_changed(&self) -> bool {
        self.value != self.default
    }

    /// The default with its unit, as a person would say it: `64 KiB`, `20 us`, `3 messages`.
    pub fn readable(&self) -> String {
        readable(self.default, self.unit)
    }
}

/// A value with its unit, in the largest unit that needs no fraction.
pub fn readable(value: Value, unit: &str) -> String {
    let scales: &[(u64, &str)] = match unit {
        "ns" => &[(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")],
        "bytes" => &[(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")],
        _ => &[],
    };
    let Value::Integer(number) = value else { return format!("{value} {unit}") };
    let whole = |scale: &&(u64, &str)| number >= scale.0 && number.is_multiple_of(scale.0);
    match scales.iter().find(whole) {
        Some((scale, name)) => format!("{} {name}", number / scale),
        None => format!("{value} {unit}"),
    }
}

/// The number that a build was told in place of `default`, at most `most`.
///
/// Panics, which stops the build, if the text is not such a number.
pub const fn told(text: Option<&str>, default: u64, most: u64) -> u64 {
    let Some(text) = text else { return default };
    let (bytes, mut value, mut at) = (text.as_bytes(), 0u64, 0);
    assert!(!bytes.is_empty(), "a constant of tuning must be a whole number");
    while at < bytes.len() {
        assert!(bytes[at].is_ascii_digit(), "a constant of tuning must be a whole number");
        value = with_digit(value, bytes[at]);
        at += 1;
    }
    assert!(value <= most, "a constant of tuning must fit into its type");
    value
}

/// The ratio that a build was told in place of `default`, written as `0.125` or `3`.
///
/// Panics, which stops the build, if the text is not such a number.
pub const fn told_ratio(text: Option<&str>, default: f64) -> f64 {
    let Some(text) = text else { return default };
    let (bytes, mut digits, mut scale, mut at) = (text.as_bytes(), 0u64, 0u64, 0);
    assert!(!bytes.is_empty(), "a ratio of tuning must be a number, as 0.125");
    while at < bytes.len() {
        if bytes[at] == b'.' && scale == 0 {
            scale = 1;
        } else {
            assert!(bytes[at].is_ascii_digit(), "a ratio of tuning must be a number, as 0.125");
            digits = with_digit(digits, bytes[at]);
            scale *= 10;
        }
        at += 1;
    }
    digits as f64 / if scale == 0 { 1 } else { scale } as f64
}

/// Appends a decimal digit to a number; panics if there is no room for it. (Without the check a release build
/// would wrap.)
const fn with_digit(number: u64, digit: u8) -> u64 {
    let Some(tenfold) = number.checked_mul(10) else { panic!("a constant of tuning must fit into 64 bits") };
    let Some(sum) = tenfold.checked_add((digit - b'0') as u64) else {
        panic!("a constant of tuning must fit into 64 bits")
    };
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_are_told_numbers() {
        let most = u64::MAX;
        assert_eq!(
            (told(None, 7, most), told(Some("0"), 7, most), told(Some("1234"), 7, most)),
            (7, 0, 1234)
        );
        assert_eq!(told(Some("18446744073709551615"), 7, most), most);
        assert_eq!(
            [told_ratio(None, 0.5), told_ratio(Some("0.125"), 0.5), told_ratio(Some("3"), 0.5)],
            [0.5, 0.125, 3.0]
        );
    }

    #[test]
    fn what_is_no_number_stops_the_build() {
        for text in ["", "x", "-1", "1.5", "99999999999999999999"] {
            assert!(std::panic::catch_unwind(|| told(Some(text), 7, u64::MAX)).is_err(), "{text}");
        }
        assert!(std::panic::catch_unwind(|| told(Some("65536"), 7, u64::from(u16::MAX))).is_err());
        for text in ["", "1e3", "-0.5", "0.1.2"] {
            assert!(std::panic::catch_unwind(|| told_ratio(Some(text), 0.5)).is_err(), "{text}");
        }
    }

    #[test]
    fn values_are_readable() {
        for (value, unit, text) in [
            (65_536, "bytes", "64 KiB"),
            (1_100, "bytes", "1100 bytes"),
            (1_000_000_000, "ns", "1 s"),
            (25_000, "ns", "25 us"),
            (1_500, "ns", "1500 ns"),
            (0, "ns", "0 ns"),
            (3, "messages", "3 messages"),
        ] {
            assert_eq!(readable(Value::Integer(value), unit), text);
        }
        assert_eq!(readable(Value::Real(0.125), "of the time"), "0.125 of the time");
    }
}
