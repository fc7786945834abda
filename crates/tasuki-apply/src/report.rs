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
            // Where all but the delays was as the file has it already, those alone were set.
            let is_set_up = status.cluster.is_some() || status.changed > 0;
            let follows = status.following.as_ref().is_none_or(|following| following.runs);
            is_set_up && !status.restarted && status.drift.is_empty() && follows
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

#[cfg(test)]
mod tests {
    use super::*;

    fn is_well(status: Status) -> bool {
        HostStatus { host: "n1".into(), status: Some(status), problem: None }.is_well()
    }

    // A restart of the machine takes addresses and routes away (ip-address(8) and ip-route(8) write to the
    // kernel alone), so that a host is then as little set up as one on which nothing was applied.
    #[test]
    fn a_host_that_was_restarted_or_never_set_up_is_not_well() {
        let applied = Status { cluster: Some("c".into()), changed: 9, ..Status::default() };
        assert!(is_well(applied.clone()));
        assert!(!is_well(Status { restarted: true, changed: 1, ..applied }));
        assert!(!is_well(Status::default()));
    }
}
