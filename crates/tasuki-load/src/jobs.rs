//! The load of a job: of all its processes together.

use crate::RankLoad;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What a job does now.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct JobLoad {
    /// The name of the job that the resident runtime or `tasuki run` has given it; `None`: processes of other
    /// launchers, which are told apart by their program alone.
    pub job: Option<String>,
    /// The program's name.
    pub program: String,
    /// Processes that use Tasuki.
    pub ranks: usize,
    /// Hosts on which they are.
    pub hosts: usize,
    /// Processors that they keep working.
    pub busy: f64,
    /// Their memory, bytes.
    pub memory_bytes: u64,
    /// Messages per second that they send.
    pub messages_sent: f64,
    /// Bytes of messages per second that they send.
    pub sent: f64,
    /// Ranks with receives that no message has matched yet.
    pub receiving: usize,
    /// Messages that have come before a receive for them.
    pub unexpected: u64,
}

impl JobLoad {
    /// The jobs of all processes.
    pub(crate) fn of(ranks: &[RankLoad]) -> Vec<Self> {
        let mut jobs: BTreeMap<_, Vec<&RankLoad>> = BTreeMap::new();
        for rank in ranks {
            jobs.entry((&rank.job, &rank.program)).or_default().push(rank);
        }
        let one = |((job, program), ranks): ((&Option<String>, &String), Vec<&RankLoad>)| Self {
            job: job.clone(),
            program: program.clone(),
            ranks: ranks.len(),
            hosts: ranks.iter().map(|rank| &rank.host).collect::<BTreeSet<_>>().len(),
            busy: ranks.iter().filter_map(|rank| rank.busy).sum(),
            memory_bytes: ranks.iter().filter_map(|rank| rank.memory_bytes).sum(),
            messages_sent: ranks.iter().map(|rank| rank.messages_sent).sum(),
            sent: ranks.iter().map(|rank| rank.sent).sum(),
            receiving: ranks.iter().filter(|rank| rank.posted > 0).count(),
            unexpected: ranks.iter().map(|rank| rank.unexpected).sum(),
        };
        jobs.into_iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_a_job_are_added_up_and_jobs_are_told_apart() {
        let rank = |host: &str, job: Option<&str>, program: &str, posted| RankLoad {
            host: host.into(),
            job: job.map(str::to_owned),
            program: program.into(),
            busy: Some(0.5),
            sent: 10.0,
            posted,
            ..RankLoad::default()
        };
        let jobs = JobLoad::of(&[
            rank("n1", Some("7"), "cg", 1),
            rank("n1", Some("7"), "cg", 0),
            rank("n2", Some("7"), "cg", 0),
            rank("n2", Some("8"), "cg", 0),
            rank("n2", None, "cg", 0),
        ]);
        let told: Vec<_> = jobs.iter().map(|job| (job.job.as_deref(), job.ranks, job.hosts)).collect();
        assert_eq!(told, [(None, 1, 1), (Some("7"), 3, 2), (Some("8"), 1, 1)]);
        assert_eq!((jobs[1].busy, jobs[1].sent, jobs[1].receiving), (1.5, 30.0, 1));
    }
}
