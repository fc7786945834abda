//! One look at all hosts.

use crate::{HostPages, PAGES_COMMAND, Rates};
use serde::Serialize;
use std::time::{Duration, Instant};
use tasuki_fleet::{Fleet, Task};
use tasuki_ring::stats_page::Snapshot;
use tasuki_stripe::StripeCounts;

/// What one host striped.
#[derive(Debug, Serialize)]
pub struct HostStriping {
    /// The host's name.
    pub host: String,
    /// Its counters.
    #[serde(flatten)]
    pub counts: StripeCounts,
}

/// What all hosts had to say at one time.
#[derive(Debug, Default)]
pub struct Look {
    /// Pages of all processes, by rank, host and process id.
    pub processes: Vec<Snapshot>,
    /// Hosts that stripe.
    pub striping: Vec<HostStriping>,
    /// Hosts that did not answer and pages that could not be read, and why.
    pub problems: Vec<String>,
    /// Pages of other users that could not be read, and why: what these leave there is no problem of the
    /// hosts.
    pub notes: Vec<String>,
    /// Hosts that did not answer.
    pub silent: Vec<String>,
    /// Hosts whose striping is not known, and why.
    pub striping_problems: Vec<String>,
    /// When the look was begun; `None`: there was no look yet.
    at: Option<Instant>,
}

impl Look {
    /// Asks all hosts of a fleet.
    pub fn at(fleet: &Fleet) -> Self {
        let mut look = Self { at: Some(Instant::now()), ..Self::default() };
        for answer in fleet.run_all(&Task::tasuki([PAGES_COMMAND]).long()) {
            let (host, label) = (answer.host.clone(), answer.label().to_owned());
            match answer.json::<HostPages>() {
                Ok(found) => {
                    let problem = found.striping_problem.map(|problem| format!("{host}: {problem}"));
                    look.striping_problems.extend(problem);
                    look.striping.extend(found.striping.map(|counts| HostStriping { host, counts }));
                    look.processes.extend(found.pages);
                    let of_host = |what: String| format!("{label}: {what}");
                    look.problems.extend(found.problems.into_iter().map(of_host));
                    look.notes.extend(found.notes.into_iter().map(of_host));
                }
                Err(error) => {
                    look.silent.push(host);
                    look.problems.push(error.to_string());
                }
            }
        }
        look.processes.sort_by_key(|page| (page.rank.unwrap_or(u32::MAX), page.host.clone(), page.pid));
        look
    }

    /// What every process did per second since an earlier look.
    pub fn rates_since(&self, before: &Self) -> Vec<Rates> {
        Rates::between(&before.processes, &self.processes, self.elapsed_since(before))
    }

    fn elapsed_since(&self, before: &Self) -> Option<Duration> {
        Some(self.at?.duration_since(before.at?))
    }
}
