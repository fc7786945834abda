//! The table of slices on one host: in the host's own time, for each job of the host.

use crate::clock::Offset;
use tasuki_control::{JobId, Order, Report, Table};
use tasuki_shepherd::Turns;
use tasuki_sys::clock::monotonic_ns;

/// How often the clock of the host that keeps the queue is asked for while jobs take turns, ns.
const ASK: u64 = 250_000_000;
/// How often that clock is asked for while no jobs take turns, ns.
const ASK_IDLE: u64 = 2_000_000_000;
/// How often that clock is asked for until some answers are known, ns.
const ASK_FIRST: u64 = 20_000_000;
/// Answers that are to be known soon.
const FIRST: usize = 8;
/// Tables are put right when the estimate of the other clock has changed by more than this, ns.
const TOLERANCE: i64 = 10_000;

/// The tables that hold or will hold, and the clock that they are in.
#[derive(Default)]
pub(crate) struct Tables {
    tables: Vec<Table>,
    offset: Offset,
    /// How much the other clock was ahead when jobs were told last.
    told: i64,
    /// When the other clock was asked for last.
    asked: u64,
}

impl Tables {
    /// Another table. What was to begin at the same instant or later is void.
    pub fn take(&mut self, table: Table) {
        let now = self.theirs(monotonic_ns());
        self.tables.retain(|other| other.from < table.from);
        let begun = self.tables.iter().filter(|other| other.from <= now).count();
        self.tables.drain(..begun.saturating_sub(1));
        self.tables.push(table);
        self.told = self.offset.ahead(monotonic_ns());
    }

    /// There is no connection to the queue any more: its tables and its clock are of no use.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    fn theirs(&self, now: u64) -> u64 {
        now.saturating_add_signed(self.offset.ahead(now))
    }

    /// The question that is due, if one is.
    pub fn question(&mut self) -> Option<Report> {
        let now = monotonic_ns();
        let turns = self.tables.last().is_some_and(|table| !table.rows.is_empty());
        let pause = match (self.offset.samples() < FIRST, turns) {
            (true, _) => ASK_FIRST,
            (false, true) => ASK,
            (false, false) => ASK_IDLE,
        };
        (now >= self.asked.saturating_add(pause)).then(|| {
            self.asked = now;
            Report::Clock { asked: now }
        })
    }

    /// The answer to a question. Returns whether jobs are to be told their turns anew.
    pub fn answer(&mut self, asked: u64, at: u64) -> bool {
        let now = monotonic_ns();
        self.offset.sample(asked, at, now);
        let ahead = self.offset.ahead(now);
        let is_off = ahead.abs_diff(self.told) > TOLERANCE.unsigned_abs();
        if is_off {
            self.told = ahead;
        }
        is_off && !self.tables.is_empty()
    }

    /// A job's turns by each table, in this host's time.
    pub fn of(&self, job: JobId) -> impl Iterator<Item = Turns> + '_ {
        self.tables.iter().map(move |table| {
            let from = table.from.saturating_add_signed(self.told.saturating_neg());
            turns(table, job, from)
        })
    }
}

/// The turns that a table gives a job from an instant on.
fn turns(table: &Table, job: JobId, from: u64) -> Turns {
    if table.paused.contains(&job) {
        return Turns { from, slice: 1, rows: 1, own: 0 };
    }
    let rows = (0u32..64).zip(&table.rows);
    let own = rows.filter(|(_, jobs)| jobs.contains(&job)).fold(0, |own, (row, _)| own | 1 << row);
    match own {
        0 => Turns { from, ..Turns::ALWAYS },
        own => Turns { from, slice: table.slice, rows: table.rows.len() as u32, own },
    }
}

/// The answer to a host that asks what time it is here.
pub(crate) fn now_is(asked: u64) -> Order {
    Order::Clock { asked, at: monotonic_ns() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_gets_its_rows_and_nothing_of_others() {
        let rows = vec![vec![1, 2], vec![2, 3]];
        let table = Table { generation: 1, from: 5, slice: 10, rows, paused: vec![4] };
        let of = |job| (turns(&table, job, 7).rows, turns(&table, job, 7).own);
        assert_eq!([of(1), of(2), of(3), of(4), of(5)], [(2, 1), (2, 3), (2, 2), (1, 0), (1, 1)]);
    }
}
