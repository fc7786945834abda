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

    /// Notes that `lab up` has set the host up by this cluster. It leaves no record, as a lab ends as a
    /// whole, so there is nothing to compare where nothing else was applied since.
    pub(crate) fn as_built(&mut self, cluster: &str) {
        if let Some(status) = &mut self.status {
            status.cluster.get_or_insert_with(|| cluster.to_owned());
        }
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

    #[test]
    fn a_host_of_a_lab_is_as_lab_up_has_set_it_up() {
        let of = |status: Option<Status>| {
            let problem = status.is_none().then(|| "no answer".to_owned());
            let mut answer = HostStatus { host: "n1".into(), status, problem };
            answer.as_built("lab");
            (answer.is_well(), answer.status.and_then(|status| status.cluster))
        };
        assert_eq!(of(Some(Status::default())), (true, Some("lab".into())));
        assert_eq!(of(None), (false, None), "it does not answer");
        // What was applied later counts.
        let applied = Status { cluster: Some("c".into()), restarted: true, ..Status::default() };
        assert_eq!(of(Some(applied)), (false, Some("c".into())));
    }
}
