//! In which steps of a program a checkpoint is worth its cost.

use std::time::Duration;
use tasuki_interval::interval;

/// Decides in which of a program's steps a checkpoint is due.
///
/// All processes must decide alike. Their clocks differ, so a decision needs a message, which would be dear
/// in every step of a fast program. So the steps in which a decision is taken are counted out beforehand,
/// from the length of those that were; only these ask for the time.
#[derive(Clone, Debug)]
pub struct Schedule {
    every: Option<Duration>,
    failures: Duration,
    cost: Duration,
    steps: u64,
    next: u64,
}

impl Schedule {
    /// Checkpoints every so often; without that, as often as is best if the machine fails every `failures`
    /// and a checkpoint takes `cost`, which [`Schedule::saved`] corrects.
    pub fn new(every: Option<Duration>, failures: Duration, cost: Duration) -> Schedule {
        Schedule { every, failures, cost, steps: 0, next: 1 }
    }

    /// The time between checkpoints that is aimed at.
    pub fn interval(&self) -> Duration {
        self.every.unwrap_or_else(|| interval(self.cost, self.failures))
    }

    /// Counts a step. True: in this one it is to be decided, with a time that is the same at all processes.
    pub fn step(&mut self) -> bool {
        self.steps += 1;
        self.steps >= self.next
    }

    /// Whether a checkpoint is due, so long after the last one.
    pub fn decide(&mut self, since: Duration) -> bool {
        let (since, interval) = (since.as_secs_f64(), self.interval().as_secs_f64());
        let step = since / self.steps.max(1) as f64;
        // The step of which the end is nearest to the interval's.
        if since + step / 2.0 >= interval {
            self.next = self.steps + 1;
            return true;
        }
        let left = if step > 0.0 { (interval - since) / step } else { f64::INFINITY };
        // What was measured so far says little about much more than as many steps.
        self.next = self.steps + (left as u64).clamp(1, self.steps.max(1));
        false
    }

    /// What a checkpoint costs, as far as is known.
    pub fn cost(&self) -> Duration {
        self.cost
    }

    /// What a checkpoint costs, as another process has measured it.
    pub fn set_cost(&mut self, cost: Duration) {
        self.cost = cost;
    }

    /// A checkpoint was taken, and took so long.
    pub fn saved(&mut self, cost: Duration) {
        self.cost = cost;
        self.steps = 0;
        self.next = 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_come_as_often_as_asked_and_cost_few_decisions() {
        // Steps of 3 ms for a checkpoint a minute: 20,000 steps, of which few decide.
        let minute = Duration::from_secs(60);
        let mut schedule = Schedule::new(Some(minute), Duration::from_secs(86_400), Duration::ZERO);
        let (mut steps, mut decisions) = (0_u32, 0);
        loop {
            steps += 1;
            if schedule.step() {
                decisions += 1;
                if schedule.decide(Duration::from_millis(3) * steps) {
                    break;
                }
            }
        }
        assert_eq!(steps, 20_000);
        assert!(decisions <= 20, "{decisions}");
        // Steps longer than the interval: one in each.
        schedule.saved(Duration::from_secs(1));
        assert!(schedule.step() && schedule.decide(Duration::from_secs(100)));
    }
}
