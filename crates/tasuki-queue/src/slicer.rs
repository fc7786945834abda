//! When rows of jobs run: turns the rows into a table with instants.
//!
//! A new table begins to hold when the slice under way ends, so that no change takes away a turn that has
//! begun; at once where that row is gone or an urgent job begins. Its first row is the one that has waited
//! longest. So each row has its turn however often tables change.

use crate::Rows;
use std::collections::BTreeMap;
use tasuki_control::{JobId, Table};

/// How long before it holds a table is sent, ns.
const LEAD: u64 = 10_000_000;

/// Makes tables of slices.
#[derive(Debug)]
pub struct Slicer {
    slice: u64,
    /// What holds, and what will.
    now: Table,
    next: Option<Table>,
    /// When the last turn of each job ended, ns.
    served: BTreeMap<JobId, u64>,
}

impl Slicer {
    /// No jobs take turns yet. `slice`: length of a slice, ns.
    pub fn new(slice: u64) -> Self {
        let now = Table { generation: 0, from: 0, slice: slice.max(1), rows: Vec::new(), paused: Vec::new() };
        Self { slice: slice.max(1), now, next: None, served: BTreeMap::new() }
    }

    /// Turns of another length, ns; the same rows, decided at `now`.
    pub fn set_slice(&mut self, now: u64, slice: u64) -> Table {
        let last = self.next.as_ref().unwrap_or(&self.now);
        let rows = Rows { rows: last.rows.clone(), paused: last.paused.clone() };
        self.slice = slice.max(1);
        self.change(now, rows)
    }

    /// The table from which jobs take turns in this way, decided at `now` (ns of a clock that never goes
    /// back).
    pub fn change(&mut self, now: u64, rows: Rows) -> Table {
        // What will hold before another table can reach all hosts counts as if it held.
        if let Some(next) = self.next.take_if(|next| next.from <= now.saturating_add(LEAD)) {
            note(&mut self.served, &self.now, next.from);
            self.now = next;
        }
        let from = self.begin(now, &rows);
        let Rows { mut rows, paused } = rows;
        self.served.retain(|job, _| rows.iter().any(|row| row.contains(job)) || paused.contains(job));
        for job in rows.iter().flatten() {
            self.served.entry(*job).or_insert(now);
        }
        // What runs until then has been served then.
        let mut served = self.served.clone();
        note(&mut served, &self.now, from);
        rows.sort_by_key(|row| row.iter().filter_map(|job| served.get(job)).min().copied());
        let generation = self.next.as_ref().unwrap_or(&self.now).generation + 1;
        let table = Table { generation, from, slice: self.slice, rows, paused };
        self.next = Some(table.clone());
        table
    }

    fn begin(&self, now: u64, rows: &Rows) -> u64 {
        if rows.paused.iter().any(|job| !self.now.paused.contains(job)) {
            return now;
        }
        let soon = now.saturating_add(LEAD);
        let count = self.now.rows.len() as u64;
        if count == 0 {
            return soon;
        }
        let slice = soon.saturating_sub(self.now.from) / self.now.slice;
        let running = &self.now.rows[(slice % count) as usize];
        let is_there = rows.rows.iter().flatten().any(|job| running.contains(job));
        match is_there {
            true => self.now.from + (slice + 1) * self.now.slice,
            false => soon,
        }
    }
}

/// Notes when the turns of jobs ended that a table gives until an instant.
fn note(served: &mut BTreeMap<JobId, u64>, table: &Table, until: u64) {
    let count = table.rows.len() as u64;
    if until <= table.from {
        return;
    }
    let last = (until - 1 - table.from) / table.slice;
    for (row, jobs) in (0..).zip(&table.rows) {
        // The last slice of this row that has begun; none if the table did not come so far.
        let Some(slice) = (0..count).filter_map(|back| last.checked_sub(back)).find(|at| at % count == row)
        else {
            continue;
        };
        let end = until.min(table.from + (slice + 1) * table.slice);
        for job in jobs {
            let known = served.entry(*job).or_insert(end);
            *known = end.max(*known);
        }
    }
}
