//! What a host reports.

use serde::{Deserialize, Serialize};
use tasuki_host::{Report, Status};

/// One host's answer to `status`.
#[derive(Debug, Serialize, Deserialize)]
pub struct HostStatus {
    /// Host name.
    pub host: String,
    /// How the host is; `None`: that is not known.
    pub status: Option<Status>,
    /// Why that is not known.
    pub problem: Option<String>,
}

impl HostStatus {
    /// Whether the host is known to be as it was set up.
    pub fn is_well(&self) -> bool {
        let is_as_set = |status: &Status| {
            status.drift.is_empty() && status.following.as_ref().is_none_or(|following| following.runs)
        };
        self.problem.is_none() && self.status.as_ref().is_some_and(is_as_set)
    }
}

/// The report of a host for which something went wrong before it could make one.
pub(crate) fn failed(host: &str, error: impl std::fmt::Display) -> Report {
    Report { host: host.into(), problems: vec![error.to_string()], ..Report::default() }
}

/// Adds the report of another part of the same host.
pub fn merge(report: &mut Report, other: Report) {
    report.changes.extend(other.changes);
    report.notes.extend(other.notes);
    report.problems.extend(other.problems);
    report.done &= other.done;
}
