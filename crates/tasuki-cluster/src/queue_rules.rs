//! What the jobs of one user may take, as `[queue]` says.

use serde::Serialize;
use std::{fmt, str::FromStr};

/// What the jobs of each user but root may take in the resident runtime; `None`: as much as there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QueueRules {
    /// Most jobs of a user that run at a time.
    pub jobs_per_user: Option<u32>,
    /// Most slots that the jobs of a user hold at a time.
    pub slots_per_user: Option<u32>,
    /// Most jobs of a user that wait.
    pub waiting_per_user: Option<u32>,
    /// Longest time that a job may run, seconds.
    pub time_max: Option<u64>,
}

/// Longest time that a file may give, seconds: some ten years.
const TIME_MAX: u64 = 315_360_000;

/// A time in whole seconds, minutes, hours or days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LongTime(pub u64);

impl FromStr for LongTime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no time: write it as \"90s\", \"10m\", \"24h\" or \"7d\"");
        let unit = text.chars().next_back().ok_or_else(wrong)?;
        let scale = match unit {
            's' => 1,
            'm' => 60,
            'h' => 3600,
            'd' => 86_400,
            _ => return Err(wrong()),
        };
        let number: u64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
        let seconds = number.checked_mul(scale).filter(|seconds| (1..=TIME_MAX).contains(seconds));
        seconds.map(Self).ok_or_else(wrong)
    }
}

impl fmt::Display for LongTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(86_400, 'd'), (3600, 'h'), (60, 'm')];
        match units.into_iter().find(|(scale, _)| self.0.is_multiple_of(*scale)) {
            Some((scale, unit)) => write!(f, "{}{unit}", self.0 / scale),
            None => write!(f, "{}s", self.0),
        }
    }
}

impl QueueRules {
    /// The keys as they stand in a file; none if nothing is given.
    pub(crate) fn lines(&self) -> Vec<String> {
        let counts = [
            ("jobs_per_user", self.jobs_per_user),
            ("slots_per_user", self.slots_per_user),
            ("waiting_per_user", self.waiting_per_user),
        ];
        let counts = counts.into_iter().filter_map(|(key, count)| Some(format!("{key} = {}", count?)));
        let time = self.time_max.map(|time| format!("time_max = \"{}\"", LongTime(time)));
        counts.chain(time).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cluster;

    #[test]
    fn times_are_read_and_written() {
        for (text, seconds) in [("90s", 90), ("10m", 600), ("25h", 90_000), ("7d", 604_800)] {
            assert_eq!(text.parse(), Ok(LongTime(seconds)));
            assert_eq!(LongTime(seconds).to_string(), text);
        }
        for bad in ["", "s", "10", "0s", "-1h", "1.5h", "4000d", "99999999999999999999d", "1\u{e9}"] {
            assert!(bad.parse::<LongTime>().is_err(), "{bad}");
        }
    }

    const HOSTS: &str = "[[host]]\nname = \"n1\"\n[[host]]\nname = \"n2\"\n";

    #[test]
    fn a_file_keeps_its_rules() {
        let rules =
            "[queue]\njobs_per_user = 3\nslots_per_user = 8\nwaiting_per_user = 20\ntime_max = \"12h\"\n";
        let read = |text: &str| Cluster::parse(text, None);
        let known = "nic = [{ name = \"a\" }]\n";
        let cable = "[[cable]]\nends = [\"n1:a\", \"n2:a\"]\n";
        let hosts = HOSTS.replace("\"n1\"\n", &format!("\"n1\"\n{known}")) + known + cable;
        let cluster = read(&format!("{rules}{hosts}")).unwrap();
        let queue = cluster.queue;
        assert_eq!((queue.jobs_per_user, queue.slots_per_user), (Some(3), Some(8)));
        assert_eq!((queue.waiting_per_user, queue.time_max), (Some(20), Some(43_200)));
        assert_eq!(read(&cluster.to_toml()).unwrap().queue, queue);
        assert_eq!(read(&hosts).unwrap().queue, QueueRules::default());
        for bad in ["jobs_per_user = 0", "time_max = 5", "time_max = \"1y\"", "per_user = 1"] {
            assert!(read(&format!("[queue]\n{bad}\n{hosts}")).is_err(), "{bad}");
        }
    }
}
