//! What the table says of one constant.

/// A value of a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A number of something, or of nanoseconds or bytes: see [`Constant::unit`].
    Integer(u64),
    /// A ratio.
    Real(f64),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Integer(value) => write!(f, "{value}"),
            Value::Real(value) => write!(f, "{value}"),
        }
    }
}

/// How the gain of a constant is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// By comparing a build with another value: `make measure C=NAME V=OTHER ARGS="..."`, of which these are the other value
    /// and the arguments of `tasuki bench mpi`.
    Bench {
        /// The other value.
        other: &'static str,
        /// Arguments of `tasuki bench mpi`.
        args: &'static str,
    },
    /// By another command, or by a test that fails with other values.
    Command(&'static str),
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
    /// The environment variable by which a build is given another value.
    pub fn variable(&self) -> String {
        format!("TASUKI_TUNING_{}_{}", self.group, self.name)
    }

    /// The command that measures the gain.
    pub fn command(&self) -> String {
        match self.measure {
            Measure::Bench { other, args } => {
                format!("make measure C={}.{} V={other} ARGS=\"{args}\"", self.group, self.name)
            }
            Measure::Command(command) => command.to_owned(),
        }
    }

    /// Whether this build has another value than the default.
    pub fn is_changed(&self) -> bool {
        self.value != self.default
    }
}

/// The number that a build was told in place of `default`.
///
/// Panics, which stops the build, if the text is no number.
pub const fn told(text: Option<&str>, default: u64) -> u64 {
    let Some(text) = text else { return default };
    let (bytes, mut value, mut at) = (text.as_bytes(), 0u64, 0);
    assert!(!bytes.is_empty(), "a constant of tuning must be a number");
    while at < bytes.len() {
        assert!(bytes[at].is_ascii_digit(), "a constant of tuning must be a number");
        value = value * 10 + (bytes[at] - b'0') as u64;
        at += 1;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_are_told_numbers() {
        assert_eq!((told(None, 7), told(Some("0"), 7), told(Some("1234"), 7)), (7, 0, 1234));
    }
}
