//! The rows of jobs that share slots, put together anew whenever a job comes, goes, is held or goes on.

use crate::{Action, entry::Entry, gang::Class, queue::Queue};
use std::collections::BTreeSet;
use tasuki_control::{JobId, State};

/// How jobs take turns; those that are not named run all the time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Jobs that run at once, row by row; none or at least two rows. A job may be in several.
    pub rows: Vec<Vec<JobId>>,
    /// Jobs that stand still.
    pub paused: Vec<JobId>,
}

impl Rows {
    /// What a job that runs is told about itself; `None`: it runs all the time.
    fn words(&self, job: JobId, urgent: Option<JobId>) -> Option<String> {
        if self.paused.contains(&job) {
            return Some(format!("stands still for job {}, which is urgent", urgent.unwrap_or_default()));
        }
        let own = self.rows.iter().filter(|row| row.contains(&job)).count();
        (own > 0).then(|| format!("takes turns: runs in {own} of {} slices", self.rows.len()))
    }
}

impl Queue {
    /// Puts rows together anew; hosts are told if that changes something.
    pub(crate) fn take_turns(&mut self) {
        self.pack();
        let rows = self.matrix();
        let urgent = self.urgent().map(|(id, _)| *id).next();
        for (id, entry) in &mut self.jobs {
            if entry.is_resident() && entry.view.state == State::Running {
                entry.view.reason = rows.words(*id, urgent);
            }
        }
        if rows != self.rows {
            self.rows = rows.clone();
            self.actions.push_back(Action::Turns(rows));
        }
    }

    fn urgent(&self) -> impl Iterator<Item = (&JobId, &Entry)> {
        self.jobs.iter().filter(|(_, entry)| entry.is_resident() && entry.class() == Class::Urgent)
    }

    fn sharing(&self) -> impl Iterator<Item = (&JobId, &Entry)> {
        self.jobs.iter().filter(|(_, entry)| entry.is_resident() && entry.class() == Class::Shares)
    }

    /// Moves jobs into earlier rows where there is room now, and closes gaps. There are never more rows after
    /// it: a job that finds no better row has room in its own.
    fn pack(&mut self) {
        let mut by_row: Vec<(usize, JobId)> = self.sharing().map(|(id, entry)| (entry.row, *id)).collect();
        by_row.sort_unstable();
        let mut rows: Vec<Vec<JobId>> = vec![Vec::new(); by_row.last().map_or(0, |(row, _)| row + 1)];
        for (row, id) in by_row {
            let better = (0..row).find(|better| self.has_room(id, &rows[*better]));
            rows[better.unwrap_or(row)].push(id);
        }
        rows.retain(|row| !row.is_empty());
        for (row, jobs) in rows.iter().enumerate() {
            for id in jobs {
                self.jobs.entry(*id).and_modify(|entry| entry.row = row);
            }
        }
    }

    /// Whether a job has room on its hosts beside others that share slots.
    fn has_room(&self, id: JobId, others: &[JobId]) -> bool {
        let Some(entry) = self.jobs.get(&id) else { return false };
        entry.hosts.iter().all(|&host| {
            let slots = self.hosts[host].slots();
            let beside: u32 =
                self.held(host, |other| other.class() == Class::Alone || others.contains(&other.view.id));
            beside + entry.ranks_on(host).min(slots) <= slots
        })
    }

    /// The rows as they are to run: without jobs that are held or stand still, and every job also in the
    /// other rows in which its slots are free.
    fn matrix(&self) -> Rows {
        let taken: BTreeSet<usize> =
            self.urgent().flat_map(|(_, entry)| entry.left.iter().copied()).collect();
        let stands = |entry: &Entry| entry.hosts.iter().any(|host| taken.contains(host));
        let resident = self.jobs.iter().filter(|(_, entry)| entry.is_resident());
        let paused = resident.filter(|(_, entry)| entry.class() != Class::Urgent && stands(entry));
        let paused: Vec<JobId> = paused.map(|(id, _)| *id).collect();
        let runs = |entry: &Entry| entry.view.state == State::Running && !stands(entry);
        let mut rows: Vec<Vec<JobId>> = Vec::new();
        for (id, entry) in self.sharing().filter(|(_, entry)| runs(entry)) {
            rows.resize(rows.len().max(entry.row + 1), Vec::new());
            rows[entry.row].push(*id);
        }
        rows.retain(|row| !row.is_empty());
        for row in &mut rows {
            for (id, _) in self.sharing().filter(|(_, entry)| runs(entry)) {
                if !row.contains(id) && self.has_room(*id, row) {
                    row.push(*id);
                }
            }
            row.sort_unstable();
        }
        if rows.len() < 2 {
            rows.clear();
        }
        Rows { rows, paused }
    }
}
