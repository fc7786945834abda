//! When a job may begin, how long it may run, and how often it is run, as its user wants it.

use crate::{Checkpoint, JobId, Sharing};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What a job's user wants of the queue. A field that an older version did not write down has its default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Terms {
    /// A name, for people.
    pub name: Option<String>,
    /// Each point counts as an hour of waiting.
    pub priority: i32,
    /// Seconds that it may run; `None`: as long as it likes.
    pub timeout: Option<u64>,
    /// Not before this time, seconds since 1970.
    pub begin: Option<u64>,
    /// Not before these jobs have ended well.
    pub after: Vec<JobId>,
    /// Not before these jobs are over, however they ended.
    pub after_any: Vec<JobId>,
    /// It is run once for each of these indices.
    pub array: Option<Array>,
    /// How it gets on with other jobs.
    pub sharing: Sharing,
    /// Where its user is told of its end, as [`crate::Address`] reads it.
    pub notify: Option<String>,
    /// Seconds from the beginning, and from each checkpoint, to the next one.
    pub checkpoint: Option<u64>,
    /// Where it is saved as often as is best: seconds that its hosts together run from one failure to the
    /// next, on the average.
    pub failures: Option<u64>,
    /// Whether what each host has of a checkpoint is copied to another host.
    pub copied: bool,
    /// Whether the launcher of an Open MPI was told to say which rank has written each line.
    pub labelled: bool,
}

/// What a checkpoint is taken to cost before the first one: it comes after 7 minutes then, if the hosts fail
/// once a day.
const PRESUMED: Duration = Duration::from_secs(1);

impl Terms {
    /// Whether it is prepared for checkpoints.
    pub fn is_saved(&self) -> bool {
        self.checkpoint.or(self.failures).is_some()
    }

    /// Seconds from the beginning, and from that of each checkpoint, to the next one, after the checkpoint
    /// `last`; `None`: there are none.
    pub fn interval(&self, last: Option<&Checkpoint>) -> Option<u64> {
        let best = |failures| {
            let cost = last.map_or(PRESUMED, |last| Duration::from_millis(last.millis));
            // What is best is the time that the job runs in between.
            (cost + tasuki_interval::interval(cost, Duration::from_secs(failures))).as_secs().max(1)
        };
        self.checkpoint.or(self.failures.map(best))
    }
}

/// The indices of an array of jobs that differ in nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Array {
    /// The first index.
    pub first: u32,
    /// The last index, or one behind it that the steps pass over.
    pub last: u32,
    /// From an index to the next one, at least 1.
    pub step: u32,
    /// Most tasks that run at a time; `None`: as many as find slots.
    pub limit: Option<u32>,
}

impl Array {
    /// How many tasks there are; 0 if the array makes no sense.
    pub fn len(&self) -> u32 {
        match self.step {
            0 => 0,
            _ if self.last < self.first => 0,
            step => ((self.last - self.first) / step).saturating_add(1),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The index of the task at a place, from 0.
    pub fn index(&self, place: u32) -> Option<u32> {
        (place < self.len()).then(|| self.first + place * self.step)
    }
}

/// The variable by which a task of an array knows its index.
pub const ARRAY_INDEX: &str = "TASUKI_ARRAY_INDEX";
/// The variable by which a task of an array knows the array's number.
pub const ARRAY_JOB: &str = "TASUKI_ARRAY_JOB";

/// Which task of which array a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The array's number.
    pub array: JobId,
    /// The task's index.
    pub index: u32,
}

/// A number of seconds as people write it: 90s, 10m, 24h.
pub fn span(seconds: u64) -> String {
    match seconds {
        0 => "0s".into(),
        hours if hours % 3600 == 0 => format!("{}h", hours / 3600),
        minutes if minutes % 60 == 0 => format!("{}m", minutes / 60),
        seconds => format!("{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_of_an_array() {
        let array = |first, last, step| Array { first, last, step, limit: None };
        let all = |array: Array| (0..20).map_while(|place| array.index(place)).collect::<Vec<_>>();
        assert_eq!(all(array(0, 3, 1)), [0, 1, 2, 3]);
        assert_eq!(all(array(5, 10, 2)), [5, 7, 9]);
        assert_eq!(all(array(4, 4, 9)), [4]);
        assert!(array(3, 2, 1).is_empty() && array(0, 3, 0).is_empty());
        let whole = array(0, u32::MAX, 1);
        assert_eq!((whole.len(), whole.index(u32::MAX)), (u32::MAX, None));
    }

    fn taken(millis: u64) -> Checkpoint {
        Checkpoint { epoch: 1, taken: 1, bytes: 1, millis, copied: false }
    }

    /// Of Daly's best interval, which is 185.77 s for a cost of 0.2 s and 415.03 s for one of 1 s, if the
    /// machine fails once a day.
    #[test]
    fn a_job_is_saved_as_often_as_its_checkpoints_are_dear() {
        let auto = Terms { failures: Some(86_400), ..Terms::default() };
        assert_eq!(auto.interval(None), Some(416));
        assert_eq!(auto.interval(Some(&taken(200))), Some(185));
        assert_eq!(auto.interval(Some(&taken(60_000))), Some(3240));
        assert_eq!(auto.interval(Some(&taken(0))), Some(1), "never at every look");
        // One that takes longer than the machine lasts.
        let frail = Terms { failures: Some(10), ..Terms::default() };
        assert_eq!(frail.interval(Some(&taken(100_000))), Some(110));
        let given = Terms { checkpoint: Some(600), ..Terms::default() };
        assert_eq!([None, Some(&taken(5000))].map(|last| given.interval(last)), [Some(600); 2]);
        assert_eq!(Terms::default().interval(Some(&taken(200))), None);
        assert!(auto.is_saved() && given.is_saved() && !Terms::default().is_saved());
    }

    #[test]
    fn times_for_people() {
        assert_eq!([600, 90, 7200, 1].map(span), ["10m", "90s", "2h", "1s"]);
    }
}
