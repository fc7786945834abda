//! The rows of jobs that share slots, put together anew whenever a job comes, goes, is held or goes on.

use crate::{
    Action, HostIndex, Rows,
    entry::Entry,
    floor::{Class, class},
    queue::Queue,
};
use std::collections::BTreeSet;
use tasuki_control::{JobId, State};

/// What a job that runs is told about itself; `None`: it runs all the time.
fn words(rows: &Rows, job: JobId, urgent: Option<JobId>) -> Option<String> {
    if rows.paused.contains(&job) {
        return Some(format!("stands still for job {}, which is urgent", urgent.unwrap_or_default()));
    }
    let own = rows.rows.iter().filter(|row| row.contains(&job)).count();
    (own > 0).then(|| format!("takes turns: runs in {own} of {} slices", rows.rows.len()))
}

/// A row, and the slots that its jobs and those that run in all rows hold, host by host.
struct Row {
    jobs: Vec<JobId>,
    held: Vec<u32>,
}

impl Row {
    fn has_room(&self, queue: &Queue, entry: &Entry) -> bool {
        slots_of(queue, entry).all(|(host, slots)| self.held[host] + slots <= queue.hosts[host].slots())
    }

    fn add(&mut self, queue: &Queue, entry: &Entry) {
        slots_of(queue, entry).for_each(|(host, slots)| self.held[host] += slots);
        self.jobs.push(entry.view.id);
    }
}

fn slots_of<'a>(queue: &'a Queue, entry: &'a Entry) -> impl Iterator<Item = (HostIndex, u32)> + 'a {
    entry.places().map(|(host, ranks)| (host, ranks.min(queue.hosts[host].slots())))
}

fn residents(queue: &Queue, kind: Class) -> impl Iterator<Item = &Entry> {
    queue.jobs.values().filter(move |entry| entry.is_resident() && class(entry.sharing()) == kind)
}

/// A row of no jobs but those that run in all of them.
fn empty_row(queue: &Queue) -> Row {
    let mut row = Row { jobs: Vec::new(), held: vec![0; queue.hosts.len()] };
    residents(queue, Class::Alone).for_each(|entry| row.add(queue, entry));
    row.jobs.clear();
    row
}

/// Puts rows together anew; hosts are told if that changes something.
pub(crate) fn take_turns(queue: &mut Queue, now: u64) {
    for (row, jobs) in (0..).zip(packed(queue)) {
        for id in jobs {
            queue.jobs.entry(id).and_modify(|entry| entry.row = row);
        }
    }
    let rows = matrix(queue);
    let urgent = residents(queue, Class::Urgent).map(|entry| entry.view.id).next();
    let day = queue.day(now);
    for (id, entry) in &mut queue.jobs {
        let is_running = entry.is_resident() && entry.view.state == State::Running;
        if is_running {
            let away = entry.left.iter().map(|host| &queue.hosts[*host]).find(|host| !host.is_up());
            let away = away.map(|host| format!("goes on; the tasukid of {} is awaited", host.name));
            entry.view.reason = away.or_else(|| words(&rows, *id, urgent));
        }
        match entry.frozen {
            Some(since) if is_running && !rows.paused.contains(id) => {
                entry.view.held += now.saturating_sub(since);
                (entry.frozen, entry.view.frozen) = (None, None);
            }
            None if is_running && rows.paused.contains(id) => {
                (entry.frozen, entry.view.frozen) = (Some(now), Some(day));
            }
            _ => continue,
        }
        // A daemon that begins anew has to know for how long the job stood still.
        queue.actions.push_back(Action::Save(*id));
    }
    if rows != queue.rows {
        queue.rows = rows.clone();
        queue.actions.push_back(Action::Turns(rows));
    }
}

/// Moves jobs into earlier rows where there is room now, and closes gaps. There are never more rows after
/// it: a job that finds no better row has room in its own.
fn packed(queue: &Queue) -> Vec<Vec<JobId>> {
    let mut jobs: Vec<&Entry> = residents(queue, Class::Shares).collect();
    jobs.sort_by_key(|entry| (entry.row, entry.view.id));
    let count = jobs.last().map_or(0, |entry| entry.row + 1);
    let mut rows: Vec<Row> = (0..count).map(|_| empty_row(queue)).collect();
    for entry in jobs {
        let better = (0..entry.row).find(|better| rows[*better].has_room(queue, entry));
        rows[better.unwrap_or(entry.row)].add(queue, entry);
    }
    rows.into_iter().map(|row| row.jobs).filter(|jobs| !jobs.is_empty()).collect()
}

/// The rows as they are to run: without jobs that are held or stand still, and every job also in the other
/// rows in which its slots are free.
fn matrix(queue: &Queue) -> Rows {
    let urgent = residents(queue, Class::Urgent);
    let taken: BTreeSet<usize> = urgent.flat_map(|entry| entry.left.iter().copied()).collect();
    let stands = |entry: &Entry| entry.hosts.iter().any(|host| taken.contains(host));
    let resident = queue.jobs.values().filter(|entry| entry.is_resident());
    let paused = resident.filter(|entry| class(entry.sharing()) != Class::Urgent && stands(entry));
    let paused: Vec<JobId> = paused.map(|entry| entry.view.id).collect();
    let running: Vec<&Entry> = residents(queue, Class::Shares)
        .filter(|entry| entry.view.state == State::Running && !stands(entry))
        .collect();
    let mut rows: Vec<Row> = Vec::new();
    for entry in &running {
        rows.resize_with(rows.len().max(entry.row + 1), || empty_row(queue));
        rows[entry.row].add(queue, entry);
    }
    rows.retain(|row| !row.jobs.is_empty());
    for row in &mut rows {
        for entry in &running {
            if !row.jobs.contains(&entry.view.id) && row.has_room(queue, entry) {
                row.add(queue, entry);
            }
        }
        row.jobs.sort_unstable();
    }
    let rows: Vec<Vec<JobId>> = rows.into_iter().map(|row| row.jobs).collect();
    Rows { rows: if rows.len() < 2 { Vec::new() } else { rows }, paused }
}
