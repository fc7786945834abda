//! Jobs and hosts, and what came of commands about jobs, as programs are shown them.

use crate::{Checkpoint, Epoch, HostView, JobId, JobView, Reply, UserLimits};
use serde::Serialize;

/// A job in JSON: what the queue knows, and what follows from it.
#[derive(Debug, Serialize)]
pub struct JobRecord<'a> {
    #[serde(flatten)]
    job: &'a JobView,
    label: String,
    /// Seconds for which it has run, or ran.
    elapsed: Option<u64>,
    /// Seconds from one checkpoint to the next, as things stand.
    interval: Option<u64>,
}

impl<'a> JobRecord<'a> {
    /// The record of a job that has run for so many seconds.
    pub fn of(job: &'a JobView, elapsed: Option<u64>) -> Self {
        Self { job, label: job.label(), elapsed, interval: job.interval() }
    }
}

/// What came of a command about a job, in JSON.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct ChangeRecord {
    /// The job's number.
    id: JobId,
    /// The job as the command has named it.
    job: String,
    /// The checkpoint that was taken.
    checkpoint: Option<Checkpoint>,
    /// The checkpoint from which it goes on.
    epoch: Option<Epoch>,
    /// Why nothing was done.
    error: Option<String>,
}

impl ChangeRecord {
    /// What came of a command about a job that was named so: the daemon's answer, or why it refused.
    ///
    /// # Errors
    /// The answer, if it is one to another question.
    pub fn of(id: JobId, job: String, answer: Result<Reply, String>) -> Result<Self, Reply> {
        let mut record = Self { id, job, checkpoint: None, epoch: None, error: None };
        match answer {
            Ok(Reply::Done) => {}
            Ok(Reply::Saved(checkpoint)) => record.checkpoint = Some(checkpoint),
            Ok(Reply::Restarted(epoch)) => record.epoch = Some(epoch),
            Ok(other) => return Err(other),
            Err(why) => record.error = Some(why),
        }
        Ok(record)
    }

    /// A line for people, where there is something to tell. `Err`: why nothing was done.
    ///
    /// # Errors
    /// See above.
    pub fn line(&self) -> Result<Option<String>, &str> {
        let Self { job, .. } = self;
        match (&self.error, &self.checkpoint, self.epoch) {
            (Some(why), ..) => Err(why),
            (None, Some(checkpoint), _) => Ok(Some(format!("job {job}: {checkpoint}"))),
            (None, None, Some(epoch)) => Ok(Some(format!("job {job} goes on from checkpoint {epoch}"))),
            (None, None, None) => Ok(None),
        }
    }
}

/// A host in JSON, and the queue where the host keeps it.
#[derive(Debug, Serialize)]
pub struct HostRecord<'a> {
    #[serde(flatten)]
    host: &'a HostView,
    queue: Option<QueueRecord>,
}

/// The queue in JSON.
#[derive(Debug, Serialize)]
struct QueueRecord {
    user_limits: UserLimits,
}

impl<'a> HostRecord<'a> {
    /// The records of these hosts, of which `head` keeps the queue with these limits.
    pub fn all(head: &str, hosts: &'a [HostView], user_limits: UserLimits) -> Vec<Self> {
        let queue = |host: &HostView| (host.host == head).then_some(QueueRecord { user_limits });
        hosts.iter().map(|host| Self { host, queue: queue(host) }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_of_a_command_is_told_to_people_and_programs() {
        let checkpoint = Checkpoint { epoch: 70, taken: 71, bytes: 3 << 19, millis: 420, copied: true };
        let of = |answer| ChangeRecord::of(7, "7".into(), answer).expect("an answer to the question");
        let line = |answer| of(answer).line().map_err(str::to_owned);
        let words = "job 7: checkpoint 70: 1.5 MiB; the job stood still for 0.42 s".to_owned();
        assert_eq!(line(Ok(Reply::Saved(checkpoint))), Ok(Some(words)));
        assert_eq!(line(Ok(Reply::Restarted(70))), Ok(Some("job 7 goes on from checkpoint 70".into())));
        assert_eq!(line(Ok(Reply::Done)), Ok(None));
        assert_eq!(line(Err("it is held".into())), Err("it is held".into()));
        assert_eq!(ChangeRecord::of(7, "7".into(), Ok(Reply::Submitted(8))), Err(Reply::Submitted(8)));
    }
}
