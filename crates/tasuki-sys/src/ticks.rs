//! What processors have spent their time on since the machine's start (`/proc/stat`, proc_stat(5)).

use std::{fs, io};

/// Ticks of one processor, or of all of them together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticks {
    /// Ticks spent in programs.
    pub user: u64,
    /// Ticks spent idle, including waiting for disks.
    pub idle: u64,
    /// Ticks spent in interrupts and in the work that they deferred.
    pub interrupts: u64,
    /// All ticks, including those that the hypervisor has taken.
    pub all: u64,
}

impl Ticks {
    /// The ticks of one processor, or of all; `None`: there is no such processor.
    pub fn now(processor: Option<usize>) -> io::Result<Option<Self>> {
        Ok(Self::parse(&fs::read_to_string("/proc/stat")?, processor))
    }

    /// The ticks of some processors together. A processor that does not exist has none.
    pub fn of(processors: &[usize]) -> io::Result<Self> {
        Ok(Self::sum(&fs::read_to_string("/proc/stat")?, processors))
    }

    fn sum(stat: &str, processors: &[usize]) -> Self {
        let is_one = |line: &&str| {
            let number =
                line.split_whitespace().next().and_then(|name| name.strip_prefix("cpu")?.parse().ok());
            number.is_some_and(|number: usize| processors.contains(&number))
        };
        let all = stat.lines().filter(is_one).filter_map(Self::of_line);
        all.fold(Self::default(), |sum, one| Self {
            user: sum.user + one.user,
            idle: sum.idle + one.idle,
            interrupts: sum.interrupts + one.interrupts,
            all: sum.all + one.all,
        })
    }

    fn parse(stat: &str, processor: Option<usize>) -> Option<Self> {
        let name = processor.map_or("cpu".into(), |number| format!("cpu{number}"));
        let line = stat.lines().find(|line| line.split_whitespace().next() == Some(&name))?;
        Self::of_line(line)
    }

    fn of_line(line: &str) -> Option<Self> {
        let ticks: Vec<u64> = line.split_whitespace().skip(1).map_while(|word| word.parse().ok()).collect();
        // The time of guests is counted as user time already.
        let [user, nice, system, idle, waiting, hard, soft, stolen, ..] = ticks[..] else { return None };
        let (user, idle, interrupts) = (user + nice, idle + waiting, hard + soft);
        Some(Self { user, idle, interrupts, all: user + system + idle + interrupts + stolen })
    }

    /// The ticks since an earlier look.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            user: self.user.saturating_sub(before.user),
            idle: self.idle.saturating_sub(before.idle),
            interrupts: self.interrupts.saturating_sub(before.interrupts),
            all: self.all.saturating_sub(before.all),
        }
    }

    /// The shares of the time spent in programs, not idle, and in interrupts. `None`: no tick has passed.
    pub fn shares(&self) -> Option<Shares> {
        let all = (self.all > 0).then_some(self.all as f64)?;
        Some(Shares {
            user: self.user as f64 / all,
            busy: 1.0 - self.idle as f64 / all,
            interrupts: self.interrupts as f64 / all,
        })
    }
}

/// Shares of some time, each 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares {
    /// Share spent in programs.
    pub user: f64,
    /// Share that was not idle.
    pub busy: f64,
    /// Share spent in interrupts.
    pub interrupts: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processors_time_is_split_as_the_manual_says() {
        let text = |idle: u64, soft: u64| {
            format!(
                "cpu  100 20 30 1000 50 6 7 8 9 0\ncpu1 10 0 20 {idle} 5 1 {soft} 0 0 0\ncpu11 1 1 1 1 1 1 1 \
                 1 0 0\n"
            )
        };
        let at = |idle, soft| Ticks::parse(&text(idle, soft), Some(1)).unwrap();
        // 100 ticks: 60 idle, 40 in interrupts.
        let shares = at(160, 50).since(&at(100, 10)).shares().unwrap();
        assert!((shares.busy - 0.4).abs() < 1e-9 && (shares.interrupts - 0.4).abs() < 1e-9, "{shares:?}");
        assert_eq!(at(100, 10).since(&at(100, 10)).shares(), None);
        assert_eq!(Ticks::parse(&text(1, 1), Some(2)), None);
        let all = Ticks { user: 120, idle: 1050, interrupts: 13, all: 1221 };
        assert_eq!(Ticks::parse(&text(1, 1), None), Some(all));
        let some = Ticks { user: 12, idle: 107, interrupts: 53, all: 194 };
        assert_eq!(Ticks::sum(&text(100, 50), &[1, 11, 7]), some);
        for text in ["", "cpu", "cpu x y", "cpu 1 2 3\n", "cpu0 1 2 3"] {
            assert_eq!(Ticks::parse(text, None), None);
        }
    }
}
