//! Findings: what was found, how much it matters, and what improves it.

use serde::Serialize;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// All is as it should be.
    Well,
    /// It works, and could be better.
    Slower,
    /// Tasuki cannot be used.
    Broken,
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How much it matters.
    pub weight: Weight,
    /// What it is about: a host, an MPI, the provider.
    pub about: String,
    /// What was found.
    pub what: String,
    /// The command that improves it; `None`: nothing needs to be improved.
    pub remedy: Option<String>,
}

impl Finding {
    /// A finding that all is well.
    pub fn well(about: &str, what: impl Into<String>) -> Self {
        Self { weight: Weight::Well, about: about.into(), what: what.into(), remedy: None }
    }

    /// A finding that something works and could be better.
    pub fn slower(about: &str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { weight: Weight::Slower, about: about.into(), what: what.into(), remedy: Some(remedy.into()) }
    }

    /// A finding that something does not work.
    pub fn broken(about: &str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { weight: Weight::Broken, about: about.into(), what: what.into(), remedy: Some(remedy.into()) }
    }
}
