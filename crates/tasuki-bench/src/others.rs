//! What other programs take of this machine's processors while a measurement pauses.
//!
//! A measurement cannot tell its own programs from others by their processor time: those of a lab's hosts are
//! no children of this process. So the processors are watched in short pauses between repetitions, in which
//! nothing of the measurement runs.

use std::{thread, time::Duration};
use tasuki_sys::ticks::Ticks;

/// Length of a pause.
const PAUSE: Duration = Duration::from_millis(100);
/// From this share of all processors on, others disturb a measurement.
const DISTURBING: f64 = 0.1;

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
        let now = || Ticks::now(None).ok().flatten();
        let before = now();
        thread::sleep(PAUSE);
        let share = before.zip(now()).and_then(|(before, after)| share(&before, &after));
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
fn share(before: &Ticks, after: &Ticks) -> Option<f64> {
    after.since(before).shares().map(|shares| shares.busy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busy_share_leaves_idle_and_waiting_for_disks_out() {
        // Idle time includes that of waiting for disks.
        let before = Ticks { user: 110, idle: 840, interrupts: 3, all: 1006 };
        let after = Ticks { user: 140, idle: 1000, interrupts: 3, all: 1206 };
        let busy = share(&before, &after).expect("a share");
        assert!((busy - 0.2).abs() < 1e-9, "{busy}");
        assert_eq!(share(&before, &before), None);
    }

    #[test]
    fn a_busy_machine_is_told_with_its_share_and_what_helps() {
        let others = |shares: &[f64]| Others { shares: shares.to_vec(), repetition: None }.warning();
        assert_eq!([others(&[]), others(&[0.02, 0.05]), others(&[0.0, 0.19])], [None, None, None]);
        let said = others(&[0.2, 0.66]).expect("a warning");
        assert!(said.contains("took 43 %") && said.contains("`top`") && said.contains("--repetitions"));
    }
}
