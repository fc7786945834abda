//! Arrays: a job that is run once for each index. The array is one entry of the queue, on disk as well, until
//! a task of it begins, which is then a job with a number of its own.

use crate::{Action, entry::Entry, queue::Queue};
use tasuki_control::{ARRAY_INDEX, ARRAY_JOB, Bytes, Ending, JobId, State, Task, Terms};

/// Tasks that the reason of an array names.
const NAMED_MAX: usize = 8;

/// The tasks of an array that have begun, in the order of their numbers.
pub(crate) fn tasks(queue: &Queue, array: JobId) -> impl Iterator<Item = &Entry> {
    let is_task = move |entry: &&Entry| entry.view.task.is_some_and(|task| task.array == array);
    // Tasks come after their array.
    queue.jobs.range(array..).map(|(_, entry)| entry).filter(is_task)
}

/// The tasks of an array that are not over.
pub(crate) fn tasks_alive(queue: &Queue, array: JobId) -> Vec<JobId> {
    tasks(queue, array).filter(|task| !task.view.state.is_over()).map(|task| task.view.id).collect()
}

/// The index of the next task of an array to begin; `None`: all have begun, or it is no array.
pub(crate) fn next_index(queue: &Queue, id: JobId) -> Option<u32> {
    let array = queue.jobs.get(&id)?.view.terms.array?;
    array.index(tasks(queue, id).count() as u32)
}

/// Why no task of an array may begin: so many run as may.
pub(crate) fn is_at_limit(queue: &Queue, id: JobId) -> Option<String> {
    let limit = queue.jobs.get(&id)?.view.terms.array?.limit? as usize;
    let alive = tasks_alive(queue, id).len();
    (alive >= limit).then(|| format!("{alive} of its tasks run, and no more may"))
}

/// Makes the next task of an array a job. Returns its number.
pub(crate) fn next_task(queue: &mut Queue, id: JobId) -> Option<JobId> {
    let index = next_index(queue, id)?;
    let array = queue.jobs.get(&id)?;
    let mut work = array.work.clone()?;
    work.env.retain(|(name, _)| name != ARRAY_INDEX.as_bytes() && name != ARRAY_JOB.as_bytes());
    for (name, value) in [(ARRAY_INDEX, u64::from(index)), (ARRAY_JOB, id)] {
        work.env.push((Bytes::from(name.as_bytes()), Bytes::from(value.to_string().into_bytes())));
    }
    let mut view = array.view.clone();
    view.id = queue.next;
    view.task = Some(Task { array: id, index });
    view.terms = Terms {
        array: None,
        begin: None,
        after: Vec::new(),
        after_any: Vec::new(),
        notify: None,
        checkpoint: None,
        ..view.terms
    };
    queue.next += 1;
    let (id, came) = (view.id, array.came);
    queue.jobs.insert(id, Entry { came, ..Entry::of(view, Some(work), None) });
    Some(id)
}

/// An array of which all tasks have begun waits no more.
pub(crate) fn mark_begun(queue: &mut Queue, now: u64, id: JobId) {
    let (all_begun, day) = (next_index(queue, id).is_none(), queue.day(now));
    let Some(entry) = queue.jobs.get_mut(&id).filter(|entry| entry.view.terms.array.is_some()) else {
        return;
    };
    if entry.view.begun.is_none() {
        entry.view.begun = Some(day);
        queue.actions.push_back(Action::Save(id));
    }
    if all_begun && entry.is_waiting() {
        entry.view.state = State::Running;
        entry.view.reason = None;
        queue.actions.push_back(Action::Save(id));
    }
}

/// Whether an array goes on: tasks of it run, or are still to begin.
pub(crate) fn has_tasks(queue: &Queue, id: JobId) -> bool {
    let Some(entry) = queue.jobs.get(&id).filter(|entry| entry.view.terms.array.is_some()) else {
        return false;
    };
    !tasks_alive(queue, id).is_empty() || (entry.verdict.is_none() && next_index(queue, id).is_some())
}

/// How an array ends of which all tasks are over.
pub(crate) fn array_verdict(queue: &Queue, id: JobId) -> Option<Ending> {
    let array = queue.jobs.get(&id)?.view.terms.array?;
    let failed: Vec<_> =
        tasks(queue, id).map(|task| &task.view).filter(|view| view.state != State::Done).collect();
    let first = failed.first()?;
    let mut names: Vec<String> = failed.iter().take(NAMED_MAX).map(|view| view.label()).collect();
    names.extend((failed.len() > NAMED_MAX).then(|| "...".to_owned()));
    let reason = format!("{} of {} tasks did not end well: {}", failed.len(), array.len(), names.join(", "));
    Some(Ending { state: State::Failed, exit: first.exit.unwrap_or(1), reason })
}
