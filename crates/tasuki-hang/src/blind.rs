//! Jobs of which nothing can be seen: what is not known of them is said once.

use std::time::Duration;
use tasuki_fleet::Fleet;
use tasuki_stacks::{Selection, Stacks, not_come};

/// When it is to be said that nothing is seen of a job.
pub(crate) struct Blind {
    limit: Duration,
    /// The next look at whether the job runs, counted from the beginning.
    due: Duration,
    /// The job ran when that was looked at last.
    ran: bool,
    /// Something was seen of the job, or it was said.
    is_over: bool,
}

impl Blind {
    /// To be said of a job that runs for `limit` and is not seen.
    pub fn new(limit: Duration) -> Self {
        Self { limit, due: Duration::ZERO, ran: false, is_over: false }
    }

    /// Something was seen of the job, or it was said that nothing is.
    pub fn end(&mut self) {
        self.is_over = true;
    }

    /// Whether it is to be said now, so long after the beginning. `runs` is asked once in every `limit`; a
    /// job that waits for its turn has nothing to be seen.
    pub fn is_due(&mut self, after: Duration, runs: impl FnOnce() -> bool) -> bool {
        if self.is_over || after < self.due {
            return false;
        }
        self.due = after + self.limit;
        let ran = std::mem::replace(&mut self.ran, runs());
        ran && self.ran
    }
}

/// Says that nothing is seen of a job, and why. Returns whether that is so. `is_begun`: all its processes
/// were started; else those that are found count.
pub(crate) fn tell(fleet: &Fleet, job: &str, is_begun: bool) -> bool {
    let selection = Selection { job: Some(job.to_owned()), ..Selection::default() };
    let words = words(fleet, &Stacks::of(fleet, &selection, |_| {}), is_begun);
    words.iter().for_each(|words| eprintln!("tasuki: {words}"));
    words.is_some()
}

/// Why nothing is seen of a job with these processes; `None`: some are seen, or may yet be.
fn words(fleet: &Fleet, stacks: &Stacks, is_begun: bool) -> Option<String> {
    if !stacks.processes.is_empty() || (stacks.unattached.is_empty() && !is_begun) {
        return None;
    }
    let none = || match stacks.problems.as_slice() {
        [] => format!("none of its processes on {} uses Tasuki", fleet.title()),
        problems => problems.join("; "),
    };
    let why = not_come(&stacks.unattached.iter().collect::<Vec<_>>()).unwrap_or_else(none);
    let advice = match fleet {
        Fleet::Local => ". No other machine is looked at: --cluster FILE names them",
        Fleet::Lab(_) | Fleet::Ssh(_) => "",
    };
    Some(format!(
        "--watch-hangs does not see this program, and cannot tell whether it hangs: {why}. It sees ranks \
         whose messages go over Tasuki, from their MPI_Init on{advice}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_stacks::ProcessStacks;

    #[test]
    fn a_job_that_runs_unseen_is_told_once_and_one_that_waits_or_was_seen_is_not() {
        let second = Duration::from_secs;
        let mut blind = Blind::new(second(10));
        // It waits for its turn for ten minutes, and runs then.
        let runs = |now| now >= 600;
        let due: Vec<u64> = (1..2000).filter(|now| blind.is_due(second(*now), || runs(*now))).collect();
        assert!((610..=620).contains(&due[0]), "{due:?}");
        blind.end();
        assert!((2000..3000).all(|now| !blind.is_due(second(now), || true)), "once");
        // A job of a launcher runs from the beginning.
        let mut blind = Blind::new(second(10));
        assert_eq!((1..100).find(|now| blind.is_due(second(*now), || true)), Some(11));
        // It ends before, or does not run.
        let mut blind = Blind::new(second(10));
        assert!((1..100).all(|now| !blind.is_due(second(now), || now < 9)));
    }

    #[test]
    fn why_nothing_is_seen_is_said() {
        assert_eq!(words(&Fleet::Local, &Stacks::default(), false), None, "its ranks may yet begin");
        let none = words(&Fleet::Local, &Stacks::default(), true).expect("nothing is seen");
        assert!(none.contains("none of its processes on this machine uses Tasuki"), "{none}");
        assert!(none.contains("--cluster FILE"), "{none}");
        let rank = ProcessStacks {
            host: "n1".into(),
            pid: 812,
            program: "solver".into(),
            rank: Some(0),
            ..ProcessStacks::default()
        };
        let over_tcp = Stacks { unattached: vec![rank.clone()], ..Stacks::default() };
        let told = words(&Fleet::Local, &over_tcp, false).expect("nothing is seen");
        assert!(
            told.contains("rank 0 has not come to Tasuki: process 812 on n1, solver, is not in MPI"),
            "{told}"
        );
        assert_eq!(words(&Fleet::Local, &Stacks { processes: vec![rank], ..over_tcp }, true), None);
    }
}
