//! Copies of checkpoints that hosts send each other, while their jobs go on: what has come of them so far.

use std::collections::{BTreeMap, BTreeSet};
use tasuki_control::{Epoch, JobId};
use tasuki_queue::HostIndex;

/// What came of all copies of a checkpoint.
pub(super) type Copied = (JobId, Epoch, Result<(), String>);

/// The copies of one checkpoint.
struct Round {
    epoch: Epoch,
    /// Hosts that have not said what came of theirs.
    awaited: BTreeSet<HostIndex>,
    /// Why it fails, if it does.
    problems: Vec<String>,
}

/// All copies that are under way, by job. Only those of a job's last checkpoint count.
#[derive(Default)]
pub(super) struct Copying(BTreeMap<JobId, Round>);

impl Copying {
    /// Hosts are going to send copies of a checkpoint.
    pub fn begin(&mut self, job: JobId, epoch: Epoch, hosts: &[HostIndex]) {
        let awaited = hosts.iter().copied().collect();
        self.0.insert(job, Round { epoch, awaited, problems: Vec::new() });
    }

    /// A host says what came of its own; `name`: that of the host. All are there, or not, if it was the last.
    pub fn heard(
        &mut self,
        (host, name): (HostIndex, &str),
        (job, epoch, outcome): Copied,
    ) -> Option<Copied> {
        let round = self.0.get_mut(&job).filter(|round| round.epoch == epoch)?;
        if !round.awaited.remove(&host) {
            return None;
        }
        round.problems.extend(outcome.err().map(|why| format!("{name}: {why}")));
        self.end(job)
    }

    /// A host is gone, for a while or for good: nothing more is heard of the copies that it was sending.
    pub fn host_gone(&mut self, (host, name): (HostIndex, &str), why: &str) -> Vec<Copied> {
        let hit = self.0.iter_mut().filter_map(|(job, round)| {
            let is_awaited = round.awaited.remove(&host);
            is_awaited.then(|| round.problems.push(format!("{name}: {why}")))?;
            Some(*job)
        });
        let hit: Vec<JobId> = hit.collect();
        hit.into_iter().filter_map(|job| self.end(job)).collect()
    }

    /// Nobody wants the copies of a job any more.
    pub fn forget(&mut self, job: JobId) {
        self.0.remove(&job);
    }

    /// What came of all copies of a job, if all hosts have said so.
    fn end(&mut self, job: JobId) -> Option<Copied> {
        self.0.get(&job).filter(|round| round.awaited.is_empty())?;
        let Round { epoch, problems, .. } = self.0.remove(&job)?;
        let outcome = if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) };
        Some((job, epoch, outcome))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_is_copied_when_all_hosts_have_said_so() {
        let mut copying = Copying::default();
        copying.begin(7, 40, &[0, 2]);
        assert_eq!(copying.heard((0, "n1"), (7, 40, Ok(()))), None);
        assert_eq!(copying.heard((0, "n1"), (7, 40, Ok(()))), None, "twice from one host");
        assert_eq!(copying.heard((2, "n3"), (7, 30, Ok(()))), None, "of the one before");
        assert_eq!(copying.heard((2, "n3"), (7, 40, Ok(()))), Some((7, 40, Ok(()))));
        assert_eq!(copying.heard((2, "n3"), (7, 40, Ok(()))), None, "it is over");
    }

    #[test]
    fn a_host_that_fails_or_is_gone_is_named() {
        let mut copying = Copying::default();
        copying.begin(7, 40, &[0, 1]);
        copying.begin(8, 41, &[0]);
        assert_eq!(copying.heard((1, "n2"), (7, 40, Err("the disk is full".into()))), None);
        let why = "n2: the disk is full; n1: it is lost".to_owned();
        let both = [(7, 40, Err(why)), (8, 41, Err("n1: it is lost".into()))];
        assert_eq!(copying.host_gone((0, "n1"), "it is lost"), both);
        copying.begin(9, 42, &[0]);
        copying.forget(9);
        assert_eq!(copying.host_gone((0, "n1"), "it is lost"), []);
    }
}
