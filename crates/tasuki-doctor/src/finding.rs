//! Findings: what is so, whether it is well, and what improves it.

use serde::Serialize;

/// How a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// As it should be.
    Well,
    /// It works, and could be better.
    Slower,
    /// It keeps Tasuki from being used.
    Broken,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How it weighs.
    pub weight: Weight,
    /// What it is about: a host, an MPI, the provider.
    pub about: String,
    /// What is so.
    pub what: String,
    /// The command that improves it.
    pub remedy: Option<String>,
}

impl Finding {
    /// All is well.
    pub fn well(about: &str, what: impl Into<String>) -> Self {
        Self { weight: Weight::Well, about: about.into(), what: what.into(), remedy: None }
    }

    /// It could be better.
    pub fn slower(about: &str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { weight: Weight::Slower, about: about.into(), what: what.into(), remedy: Some(remedy.into()) }
    }

    /// It does not work.
    pub fn broken(about: &str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { weight: Weight::Broken, about: about.into(), what: what.into(), remedy: Some(remedy.into()) }
    }
}
