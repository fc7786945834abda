//! The hosts of a job with their numbers of ranks, as the runtime tells every process.

use crate::error::OpenMpiError;
use std::fmt;

/// The hosts of a job in the order of their first ranks, and how many ranks each has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout(pub Vec<(String, u32)>);

impl Layout {
    /// The variable that tells it.
    pub const VARIABLE: &str = "TASUKI_OPENMPI_HOSTS";

    /// The layout that this process was told.
    pub(crate) fn told() -> Result<Self, OpenMpiError> {
        let text = std::env::var(Self::VARIABLE).unwrap_or_default();
        Self::read(&text).ok_or(OpenMpiError::Outside(Self::VARIABLE))
    }

    fn read(text: &str) -> Option<Self> {
        let entry = |entry: &str| {
            let (host, ranks) = entry.rsplit_once(':')?;
            let ranks = ranks.parse().ok().filter(|ranks| *ranks > 0)?;
            (!host.is_empty()).then(|| (host.to_owned(), ranks))
        };
        text.split(',').map(entry).collect::<Option<Vec<_>>>().map(Layout)
    }

    /// The place of a host, by its name.
    pub(crate) fn place(&self, host: &str) -> Option<usize> {
        self.0.iter().position(|(name, _)| name == host)
    }
}

/// As `mpirun --host` wants it: `n1:2,n2:2`.
impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries: Vec<_> = self.0.iter().map(|(host, ranks)| format!("{host}:{ranks}")).collect();
        f.write_str(&entries.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nonsense_is_not() {
        let layout = Layout(vec![("n1".into(), 2), ("node-2.example".into(), 1)]);
        assert_eq!(layout.to_string(), "n1:2,node-2.example:1");
        assert_eq!(Layout::read(&layout.to_string()), Some(layout));
        for text in ["", "n1", "n1:", "n1:0", ":1", "n1:1,", "n1:x"] {
            assert_eq!(Layout::read(text), None, "{text:?}");
        }
    }
}
