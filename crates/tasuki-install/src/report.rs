//! What came of an installation on one host.

use serde::Serialize;
use tasuki_fleet::HostError;

/// What happened on a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Tasuki was put there.
    Installed,
    /// Its version was there already.
    Same,
    /// It was taken away, and what was there before is there again.
    Removed,
    /// There was nothing to take away.
    Absent,
    /// It failed, and the host is as it was.
    Failed,
}

/// What came of an installation on one host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostReport {
    /// The host, as the user named it.
    pub host: String,
    /// What happened.
    pub outcome: Outcome,
    /// The version that was there before; `None`: none.
    pub before: Option<String>,
    /// The version that is there now; `None`: none.
    pub after: Option<String>,
    /// Where the command is now.
    pub path: Option<String>,
    /// What the user should know besides.
    pub note: Option<String>,
    /// What failed.
    pub why: Option<String>,
    /// What helps.
    pub remedy: Option<String>,
}

impl HostReport {
    pub(crate) fn new(host: &str, outcome: Outcome) -> Self {
        let none = || None;
        Self {
            host: host.into(),
            outcome,
            before: none(),
            after: none(),
            path: none(),
            note: none(),
            why: none(),
            remedy: none(),
        }
    }

    pub(crate) fn failed(host: &str, before: Option<String>, error: HostError) -> Self {
        Self {
            after: before.clone(),
            before,
            why: Some(error.why),
            remedy: error.remedy,
            ..Self::new(host, Outcome::Failed)
        }
    }

    /// The error in one line, with the host, the cause and what helps; `None`: all went well.
    pub fn error(&self) -> Option<String> {
        let why = self.why.as_ref()?;
        let remedy = self.remedy.as_ref().map_or(String::new(), |remedy| format!("; {remedy}"));
        Some(format!("{}: {why}{remedy}", self.host))
    }
}
