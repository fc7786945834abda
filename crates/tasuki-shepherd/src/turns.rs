//! When a job may run that shares its host with others: in turns, at instants that were agreed on long
//! before, so that all hosts switch at once without a word.

use serde::{Deserialize, Serialize};

/// Later than this after an instant, ns, a switch counts as late.
const LATE: u64 = 100_000;
/// Later than this after an instant, ns, a switch counts as missed.
const MISSED: u64 = 2_000_000;

/// When a job runs. Time is divided into slices that rows take in turn; the job runs in those of some rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turns {
    /// When this begins to hold and the first row's slice begins, ns of this host's monotonic clock.
    pub from: u64,
    /// Length of a slice, ns.
    pub slice: u64,
    /// Number of rows, at most 64.
    pub rows: u32,
    /// The rows in whose slices the job runs, a bit for each.
    pub own: u64,
}

impl Turns {
    /// The job runs all the time.
    pub const ALWAYS: Self = Self { from: 0, slice: 1, rows: 1, own: 1 };

    /// Whether the job runs in a slice, counted from `from` on.
    fn runs_in(&self, slice: u64) -> bool {
        self.own >> (slice % u64::from(self.rows.clamp(1, 64))) & 1 == 1
    }

    fn slice_at(&self, now: u64) -> u64 {
        now.saturating_sub(self.from) / self.slice.max(1)
    }

    /// Whether the job runs at a time.
    pub fn run_at(&self, now: u64) -> bool {
        self.runs_in(self.slice_at(now))
    }

    /// The next time after `now` at which the job is to be stopped or to go on; `None`: never.
    pub fn change_after(&self, now: u64) -> Option<u64> {
        let slice = self.slice_at(now);
        // All rows come once in so many slices.
        let mut later = (1..=u64::from(self.rows.clamp(1, 64))).map(|step| slice.saturating_add(step));
        let next = later.find(|next| self.runs_in(*next) != self.runs_in(slice))?;
        Some(self.from.saturating_add(next.saturating_mul(self.slice.max(1))))
    }
}

/// What holds now, and what will hold from known instants on.
#[derive(Clone, Debug)]
pub struct Agenda {
    now: Turns,
    later: Vec<Turns>,
}

impl Default for Agenda {
    fn default() -> Self {
        Self { now: Turns::ALWAYS, later: Vec::new() }
    }
}

impl Agenda {
    /// Takes what is to hold from its instant on. What was to begin at the same instant or later is void.
    pub fn set(&mut self, turns: Turns) {
        self.later.retain(|other| other.from < turns.from);
        self.later.push(turns);
    }

    /// Whether the job runs at a time, which never goes back.
    pub fn run_at(&mut self, now: u64) -> bool {
        let begun = self.later.iter().take_while(|turns| turns.from <= now).count();
        if let Some(turns) = self.later.drain(..begun).next_back() {
            self.now = turns;
        }
        self.now.run_at(now)
    }

    /// The next time after `now` at which something may change.
    pub fn change_after(&self, now: u64) -> Option<u64> {
        let begins = self.later.first().map(|turns| turns.from);
        self.now.change_after(now).into_iter().chain(begins).min()
    }
}

/// How well the instants were kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Times that the job was stopped or went on.
    pub switches: u64,
    /// Of these: more than 100 us after the instant.
    pub late: u64,
    /// Of these: more than 2 ms after the instant.
    pub missed: u64,
    /// The longest time after an instant, ns.
    pub worst: u64,
}

impl Kept {
    /// Counts a switch that was due at one time and done at another, ns.
    pub fn count(&mut self, due: u64, done: u64) {
        let late = done.saturating_sub(due);
        self.switches += 1;
        self.late += u64::from(late > LATE);
        self.missed += u64::from(late > MISSED);
        self.worst = self.worst.max(late);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is due is found by trying every time; the next change must be the first at which it differs.
    #[test]
    fn the_next_change_is_the_first_difference() {
        for rows in 1..5u32 {
            for own in 0..1u64 << rows {
                let turns = Turns { from: 7, slice: 3, rows, own };
                for now in 7..60 {
                    let differs = (now + 1..now + 100).find(|at| turns.run_at(*at) != turns.run_at(now));
                    assert_eq!(turns.change_after(now), differs, "{turns:?} at {now}");
                }
            }
        }
    }

    #[test]
    fn every_row_runs_alone_and_in_every_cycle() {
        for at in 0..1000 {
            let running = (0..3).filter(|row| {
                let turns = Turns { from: 0, slice: 10, rows: 3, own: 1 << row };
                turns.run_at(at)
            });
            assert_eq!(running.collect::<Vec<_>>(), [at / 10 % 3]);
        }
    }

    #[test]
    fn a_later_word_takes_the_place_of_an_earlier_one() {
        let mut agenda = Agenda::default();
        assert!(agenda.run_at(5) && agenda.change_after(5).is_none());
        agenda.set(Turns { from: 10, slice: 1, rows: 1, own: 0 });
        agenda.set(Turns { from: 20, ..Turns::ALWAYS });
        assert_eq!((agenda.run_at(9), agenda.change_after(9)), (true, Some(10)));
        assert_eq!((agenda.run_at(10), agenda.change_after(10)), (false, Some(20)));
        agenda.set(Turns { from: 15, slice: 2, rows: 2, own: 2 });
        assert_eq!((agenda.run_at(15), agenda.change_after(15)), (false, Some(17)));
        assert_eq!((agenda.run_at(21), agenda.change_after(21)), (true, Some(23)));
    }

    #[test]
    fn nothing_overflows() {
        let odd = Turns { from: u64::MAX, slice: 0, rows: 99, own: 1 << 63 };
        let mut agenda = Agenda::default();
        agenda.set(odd);
        agenda.run_at(u64::MAX);
        assert_eq!(agenda.change_after(u64::MAX), Some(u64::MAX));
        assert_eq!(Turns { rows: 0, ..odd }.change_after(0), None);
    }
}
