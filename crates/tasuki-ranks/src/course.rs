//! How a job has gone so far: what is left of it, and what is said and returned of it. Pure.

use crate::PINGS;
use tasuki_shepherd::End;

/// A host of the job.
#[derive(Debug)]
struct Host {
    name: String,
    /// Whether nothing is left there, or nothing will be heard of it.
    is_over: bool,
    /// Questions in a row that it has not answered.
    open: u32,
}

/// How a job has gone so far.
#[derive(Debug)]
pub(crate) struct Course {
    hosts: Vec<Host>,
    /// What went wrong first: the exit code that follows, and the reason.
    verdict: Option<(u8, String)>,
}

impl Course {
    /// A job on these hosts that has just begun.
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        let host = |name| Host { name, is_over: false, open: 0 };
        Self { hosts: names.into_iter().map(host).collect(), verdict: None }
    }

    /// Name of a host.
    pub fn name(&self, host: usize) -> &str {
        &self.hosts[host].name
    }

    /// Whether nothing is left of the job.
    pub fn is_over(&self) -> bool {
        self.hosts.iter().all(|host| host.is_over)
    }

    /// Hosts on which something may be left.
    pub fn left(&self) -> Vec<usize> {
        (0..self.hosts.len()).filter(|host| !self.hosts[*host].is_over).collect()
    }

    /// What went wrong, and the exit code.
    pub fn verdict(&self) -> Option<(u8, &str)> {
        self.verdict.as_ref().map(|(code, why)| (*code, why.as_str()))
    }

    /// Something went wrong. Whether it is the first that did, for which the job ends.
    pub fn fails(&mut self, code: u8, why: String) -> bool {
        let is_first = self.verdict.is_none();
        self.verdict.get_or_insert((code, why));
        is_first
    }

    /// A rank has ended. Whether the job ends for it.
    pub fn rank_ended(&mut self, host: usize, rank: u32, end: End) -> bool {
        let (code, how) = match end {
            End::Exit(0) => return false,
            // A code of more than eight bits must not look like success.
            End::Exit(code) => (code, format!("ended with exit code {code}")),
            End::Signal(signal) => (128 + signal, format!("was killed by signal {signal}")),
        };
        let code = u8::try_from(code).unwrap_or(u8::MAX);
        let why = format!("rank {rank} on {} {how}", self.name(host));
        self.fails(code, why)
    }

    /// A host has told that nothing is left there.
    pub fn host_ended(&mut self, host: usize) {
        self.hosts[host].is_over = true;
    }

    /// Nothing will be heard of a host any more. Whether the job ends for it.
    pub fn host_lost(&mut self, host: usize, why: &str) -> bool {
        if std::mem::replace(&mut self.hosts[host].is_over, true) {
            return false;
        }
        let why = format!("{} is not reached any more: {why}", self.name(host));
        self.fails(1, why)
    }

    /// A host has said something.
    pub fn heard(&mut self, host: usize) {
        self.hosts[host].open = 0;
    }

    /// All hosts that are left were asked for a word. Returns those that have left too many questions without
    /// an answer.
    pub fn asked(&mut self) -> Vec<usize> {
        let left = self.left();
        for host in &left {
            self.hosts[*host].open += 1;
        }
        left.into_iter().filter(|host| self.hosts[*host].open > PINGS).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course() -> Course {
        Course::new(["n1", "n2"].map(str::to_owned))
    }

    #[test]
    fn a_job_is_over_when_nothing_is_left_on_any_host() {
        let mut course = course();
        assert!(!course.rank_ended(0, 0, End::Exit(0)));
        course.host_ended(0);
        assert!(!course.is_over());
        assert_eq!(course.left(), [1]);
        course.host_ended(1);
        assert!(course.is_over());
        assert_eq!(course.verdict(), None);
    }

    #[test]
    fn the_first_failure_counts_and_names_rank_and_host() {
        let mut course = course();
        assert!(course.rank_ended(1, 3, End::Exit(7)));
        assert!(!course.rank_ended(0, 0, End::Signal(15)), "it was ended because of the other");
        assert_eq!(course.verdict(), Some((7, "rank 3 on n2 ended with exit code 7")));
        let mut killed = self::course();
        assert!(killed.rank_ended(0, 2, End::Signal(9)));
        assert_eq!(killed.verdict(), Some((137, "rank 2 on n1 was killed by signal 9")));
        // exit(2) keeps eight bits, so that a larger or negative number comes from nowhere but an error.
        let mut odd = self::course();
        assert!(odd.rank_ended(0, 0, End::Exit(256)));
        assert_eq!(odd.verdict().map(|(code, _)| code), Some(255));
    }

    #[test]
    fn a_host_that_is_lost_ends_the_job_unless_it_was_done() {
        let mut course = course();
        course.host_ended(0);
        assert!(!course.host_lost(0, "its agent ended"));
        assert!(course.host_lost(1, "Connection reset"));
        assert_eq!(course.verdict(), Some((1, "n2 is not reached any more: Connection reset")));
        assert!(course.is_over());
    }

    #[test]
    fn a_host_is_silent_when_it_leaves_many_questions_in_a_row_open() {
        let mut course = course();
        for _ in 0..PINGS {
            assert_eq!(course.asked(), [0; 0]);
            course.heard(0);
        }
        assert_eq!(course.asked(), [1]);
    }
}
