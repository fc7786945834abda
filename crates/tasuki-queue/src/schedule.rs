//! Which job begins next. Jobs begin in the order of submission, where a point of priority counts as an hour
//! of waiting, so that every job is the first one at some time. If the first one finds no slots, the time is
//! worked out at which it will find them at the latest, and others may pass it if that time stays as it is
//! (EASY backfilling: D. Lifka, "The ANL/IBM SP scheduling system", 1995).

use crate::{
    array,
    entry::Entry,
    floor::{Class, Floor, class},
    gate::{Gate, gate_of},
    queue::Queue,
    rows, users,
};
use tasuki_control::{JobId, State};

/// Exit code of a job that was cancelled: as of a program that SIGINT ends.
pub(crate) const CANCELLED: i32 = 130;
/// Seconds of waiting that a point of priority counts as.
const POINT: i64 = 3600;

/// Starts jobs whose turn it is.
pub(crate) fn advance(queue: &mut Queue, now: u64) {
    // Jobs that end in the course of this are looked at here, not by a call within this one.
    if std::mem::replace(&mut queue.is_advancing, true) {
        return;
    }
    give_up(queue, now);
    let mut waiting: Vec<(bool, i64, JobId)> = queue
        .jobs
        .iter()
        .filter(|(_, entry)| entry.is_waiting() && !entry.ending)
        .map(|(id, entry)| (class(entry.sharing()) != Class::Urgent, turn(entry, queue.ahead), *id))
        .collect();
    waiting.sort_unstable();
    let (mut gate, mut floor) = (None, Floor::now(&queue.hosts, &queue.jobs));
    for (_, _, id) in waiting {
        if let Some(reason) = try_begin(queue, now, id, &mut gate, &mut floor)
            && let Some(entry) = queue.jobs.get_mut(&id)
        {
            entry.view.reason = Some(reason);
        }
    }
    rows::take_turns(queue, now);
    queue.is_advancing = false;
}

/// Begins a job, or as many tasks of an array as it can. Returns why something of it still waits.
/// `floor`: what jobs have taken now.
fn try_begin(
    queue: &mut Queue,
    now: u64,
    id: JobId,
    gate: &mut Option<Gate>,
    floor: &mut Floor,
) -> Option<String> {
    loop {
        let entry = queue.jobs.get(&id).filter(|entry| entry.is_waiting() && !entry.ending)?;
        if let Some(why) = hindrance(queue, now, entry).or_else(|| array::is_at_limit(queue, id)) {
            return Some(why);
        }
        let wanted = queue.wanted(entry);
        let room = floor.room(entry.sharing(), entry.view.ranks, wanted);
        if let Some(first) = gate {
            let passes = wanted <= room.sum() && first.admit(&queue.hosts, now, entry, &room);
            if !passes {
                return Some(format!("waits for job {}", first.job));
            }
        } else if wanted > room.sum() {
            *gate = Some(gate_of(queue.jobs.values(), floor.clone(), now, entry, wanted));
            return Some(queue.shortage(wanted, &room));
        }
        let array = entry.view.terms.array.is_some();
        if let Some(next) = if array { array::next_task(queue, id) } else { Some(id) } {
            queue.begin(now, next, &room);
        }
        array::mark_begun(queue, now, id);
        *floor = Floor::now(&queue.hosts, &queue.jobs);
    }
}

/// Why a job may not begin, however many slots are free.
fn hindrance(queue: &Queue, now: u64, entry: &Entry) -> Option<String> {
    let terms = &entry.view.terms;
    if terms.begin.is_some_and(|begin| begin > queue.day(now)) {
        return Some("waits for its time".into());
    }
    let is_alive = |id: &&JobId| queue.view(**id).is_some_and(|view| !view.state.is_over());
    match terms.after.iter().chain(&terms.after_any).find(is_alive) {
        Some(before) => Some(format!("waits for the end of job {}", queue.label(*before))),
        None => users::hindrance(queue.usage(), entry),
    }
}

/// Cancels jobs that were to come after one which did not end well.
fn give_up(queue: &mut Queue, now: u64) {
    // Those that a job comes after have lower numbers: one pass finds whole chains.
    let all: Vec<JobId> = queue.jobs.keys().copied().collect();
    for id in all {
        let Some(entry) = queue.jobs.get(&id) else { continue };
        let has_begun = entry.view.begun.is_some() || entry.view.state.is_over() || entry.ending;
        let failed = |before: &&JobId| {
            queue.view(**before).is_some_and(|view| view.state.is_over() && view.state != State::Done)
        };
        let Some(before) = entry.view.terms.after.iter().find(failed).filter(|_| !has_begun) else {
            continue;
        };
        let state = queue.view(*before).map_or("over", |view| view.state.name());
        let reason = format!("it was to come after job {}, which is {state}", queue.label(*before));
        queue.end(now, id, State::Cancelled, CANCELLED, reason);
    }
}

/// Time has passed: jobs that have run too long end, and those whose time has come begin.
pub fn handle_time(queue: &mut Queue, now: u64) {
    if std::mem::replace(&mut queue.looked, now) == now {
        return;
    }
    queue.give_up_hosts(now);
    queue.end_attended(now, "the command that attended it did not come back", |one| one.is_late(now));
    let is_late = |entry: &&Entry| !entry.ending && entry.deadline().is_some_and(|end| end <= now);
    let late = queue.jobs.values().filter(is_late);
    let late: Vec<(JobId, u64)> =
        late.map(|entry| (entry.view.id, entry.view.terms.timeout.unwrap_or_default())).collect();
    for (job, timeout) in late {
        let reason = format!("ran longer than {}", tasuki_control::span(timeout));
        queue.end(now, job, State::Failed, TIMED_OUT, reason);
    }
    advance(queue, now);
}

/// Exit code of a job that ran too long, as timeout(1) has it.
const TIMED_OUT: i32 = 124;

/// A job's place in the order: the time since when it waits, and earlier by an hour for each point.
/// `ahead`: how much the clock of the day is ahead of the queue's time, seconds.
fn turn(entry: &Entry, ahead: i64) -> i64 {
    let begin = entry.view.terms.begin.unwrap_or(0).saturating_add_signed(ahead.saturating_neg());
    let since = begin.max(entry.came);
    since as i64 - i64::from(entry.view.terms.priority) * POINT
}
