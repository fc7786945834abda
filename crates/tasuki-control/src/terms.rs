//! When a job may begin, how long it may run, and how often it is run, as its user wants it.

use crate::{JobId, Sharing};
use serde::{Deserialize, Serialize};

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
    /// Seconds from the beginning, and from each checkpoint, to the next one; `None`: when it is asked for.
    pub checkpoint: Option<u64>,
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

    #[test]
    fn times_for_people() {
        assert_eq!([600, 90, 7200, 1].map(span), ["10m", "90s", "2h", "1s"]);
    }
}
