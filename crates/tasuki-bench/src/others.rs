//! What other programs take of this machine's processors while a measurement pauses.
//!
//! A measurement cannot tell its own programs from others by their processor time: those of a lab's hosts are
//! no children of this process. So the processors are watched in short pauses between repetitions, in which
//! nothing of the measurement runs.

use std::{thread, time::Duration};

/// Length of a pause.
const PAUSE: Duration = Duration::from_millis(100);
/// From this share of all processors on, others disturb a measurement.
const DISTURBING: f64 = 0.1;

/// Processor time of this machine since it was started, in ticks of `/proc/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ticks {
    busy: u64,
    all: u64,
}

impl Ticks {
    fn now() -> Option<Self> {
        Self::of(&std::fs::read_to_string("/proc/stat").ok()?)
    }

    /// Reads the first line of `/proc/stat` (proc_stat(5)): user, nice, system, idle, iowait, irq, softirq,
    /// steal. The two columns behind them, time of guests, are part of user and nice.
    fn of(stat: &str) -> Option<Self> {
        let line = stat.lines().next()?.strip_prefix("cpu ")?;
        let columns: Result<Vec<u64>, _> = line.split_whitespace().take(8).map(str::parse).collect();
        let columns = columns.ok().filter(|columns| columns.len() == 8)?;
        let all = columns.iter().sum();
        Some(Self { busy: all - columns[3] - columns[4], all })
    }
}

/// The shares of this machine's processors that others took, one for each pause (0 to 1).
#[derive(Debug, Default)]
pub(crate) struct Others {
    shares: Vec<f64>,
    repetition: Option<usize>,
}

impl Others {
    /// Pauses and watches the processors if a repetition of another number begins.
    pub fn watch_before(&mut self, repetition: usize) {
        if self.repetition != Some(repetition) {
            self.repetition = Some(repetition);
            self.watch();
        }
    }

    /// Pauses and watches the processors.
    pub fn watch(&mut self) {
        let before = Ticks::now();
        thread::sleep(PAUSE);
        let share = before.zip(Ticks::now()).and_then(|(before, after)| share(before, after));
        self.shares.extend(share);
    }

    /// What a reader must know of the disturbance and can do about it; `None`: others took next to nothing.
    pub fn warning(&self) -> Option<String> {
        let mean = self.shares.iter().sum::<f64>() / self.shares.len().max(1) as f64;
        (mean >= DISTURBING).then(|| {
            format!(
                "warning: other programs took {:.0} % of this machine's processors between the repetitions, \
                 so figures and ratios are uncertain: end them (`top` shows them) and measure again, or take \
                 more --repetitions",
                100.0 * mean
            )
        })
    }
}

/// The share of the processors that was busy between two readings; `None`: no time has passed.
fn share(before: Ticks, after: Ticks) -> Option<f64> {
    let all = after.all.checked_sub(before.all).filter(|all| *all > 0)?;
    Some(after.busy.saturating_sub(before.busy) as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busy_share_leaves_idle_and_waiting_for_disks_out() {
        let ticks = |stat: &str| Ticks::of(stat).expect("a line of /proc/stat");
        let before = ticks("cpu  100 10 50 800 40 1 2 3 7 0\ncpu0 1 1 1 1 1 1 1 1\n");
        assert_eq!(before, Ticks { busy: 166, all: 1006 });
        let after = ticks("cpu  130 10 60 950 50 1 2 3 7 0\n");
        assert_eq!(share(before, after), Some(0.2));
        assert_eq!(share(before, before), None);
        assert_eq!([Ticks::of("cpu0 1 2 3"), Ticks::of("cpu 1 2 3"), Ticks::of("")], [None; 3]);
    }

    #[test]
    fn a_busy_machine_is_told_with_its_share_and_what_helps() {
        let others = |shares: &[f64]| Others { shares: shares.to_vec(), repetition: None }.warning();
        assert_eq!([others(&[]), others(&[0.02, 0.05]), others(&[0.0, 0.19])], [None, None, None]);
        let said = others(&[0.2, 0.66]).expect("a warning");
        assert!(said.contains("took 43 %") && said.contains("`top`") && said.contains("--repetitions"));
    }
}
