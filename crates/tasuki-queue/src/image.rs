//! Checkpoints: which jobs can be saved, which are due, and jobs that are over and go on from a checkpoint.

use crate::{
    Action, HostIndex, Refusal, Saved, entry::Entry, floor::Floor, queue::Queue, savable::never, schedule,
};
use tasuki_control::{Epoch, JobId, Order, Start, State, User};

/// The hosts whose processes make a checkpoint of a job now, and its number.
///
/// # Errors
/// Why it cannot be taken.
pub fn begin_save(
    queue: &mut Queue,
    now: u64,
    job: JobId,
    user: Option<&User>,
) -> Result<(Epoch, Vec<HostIndex>), Refusal> {
    user.map_or(Ok(()), |user| queue.permit(user, job))?;
    let day = queue.day(now);
    let entry = queue.jobs.get(&job).ok_or(Refusal::NoJob(job))?;
    if entry.view.state.is_over() {
        return Err(Refusal::Over { job, state: entry.view.state });
    }
    if entry.ending {
        return Err(Refusal::Ending(job));
    }
    if let Some(why) = hindrance(queue, entry) {
        return Err(Refusal::Image(format!("job {} cannot be saved now: {why}", entry.view.label())));
    }
    let last = entry.view.checkpoint.map_or(0, |last| last.epoch);
    let epoch = day.max(last + 1).max(entry.tried_epoch + 1);
    let Some(entry) = queue.jobs.get_mut(&job) else { return Err(Refusal::NoJob(job)) };
    (entry.saved_at, entry.tried_epoch) = (Some(now), epoch);
    Ok((epoch, entry.hosts.clone()))
}

/// Why a job that is not over cannot be saved now.
fn hindrance(queue: &Queue, entry: &Entry) -> Option<String> {
    let away = entry.hosts.iter().map(|host| &queue.hosts[*host]).find(|host| !host.is_up());
    let gone = entry.hosts.iter().find(|host| !entry.left.contains(host));
    // A job that was written down by another version may be of a kind that is refused now.
    match entry.work.as_ref().and_then(|work| never(work.kind, entry.sharing())) {
        _ if !entry.view.terms.is_saved() => {
            Some("it was submitted without --checkpoint, so its ranks were not prepared for that".into())
        }
        _ if !entry.has_begun() => Some("it has not begun".into()),
        Some(why) => Some(why.into()),
        _ if entry.view.state != State::Running => Some("it is held; `tasuki resume` lets it go on".into()),
        _ if entry.frozen.is_some() => Some("it stands still for an urgent job".into()),
        _ if let Some(host) = away => Some(format!("the tasukid of {} is away", host.name)),
        _ if let Some(host) = gone => {
            Some(format!("its ranks on {} have ended already", queue.hosts[*host].name))
        }
        _ => None,
    }
}

/// The host that keeps the copy of what another one has of a job's checkpoints: the next one of the job, or
/// of the cluster, which has so many, where the job is on one host alone. `hosts`: those of the job.
pub fn keeper(hosts: &[HostIndex], host: HostIndex, count: usize) -> Option<HostIndex> {
    let place = hosts.iter().position(|one| *one == host)?;
    let next = match hosts.len() {
        1 => (host + 1) % count,
        several => hosts[(place + 1) % several],
    };
    (next != host).then_some(next)
}

/// Jobs whose users want a checkpoint now. Those whose time has come and that cannot be saved say why, until
/// they can.
pub fn due_for_save(queue: &mut Queue, now: u64) -> Vec<JobId> {
    let is_due = |entry: &&Entry| {
        let last = entry.saved_at.or(entry.begun);
        let next = last.zip(entry.view.interval()).map(|(last, every)| last.saturating_add(every));
        entry.is_resident() && !entry.ending && next.is_some_and(|next| next <= now)
    };
    let due = queue.jobs.values().filter(is_due);
    let due: Vec<_> = due.map(|entry| (entry.view.id, hindrance(queue, entry))).collect();
    let mut free = Vec::new();
    for (job, hindrance) in due {
        match hindrance {
            None => free.push(job),
            // It is written down once, and not at every look.
            Some(why) if queue.view(job).is_some_and(|view| view.unsaved.as_ref() == Some(&why)) => {}
            Some(why) => queue.saved_as(job, Err(why)),
        }
    }
    free
}

/// A job that is over goes on as it was written down with a checkpoint. What its hosts are to restore is
/// returned; they are to be told after the job was written down.
///
/// # Errors
/// If its user may not, it is not over, or its hosts are not there or taken.
pub fn revive(
    queue: &mut Queue,
    now: u64,
    user: &User,
    saved: Saved,
    epoch: Epoch,
) -> Result<Start, Refusal> {
    let Saved { mut view, work } = saved;
    let job = view.id;
    queue.permit(user, job)?;
    let refuse = |why: String| Err(Refusal::Image(format!("job {job} cannot be restarted now: {why}")));
    let Some(old) = queue.jobs.get(&job) else { return Err(Refusal::NoJob(job)) };
    if !old.view.state.is_over() {
        return refuse(format!("it is {}", old.view.state.name()));
    }
    let Some(mut work) = work else { return refuse("what it runs was not saved".into()) };
    work.attended = false;
    let Some(hosts) = queue.hosts_by_name(&view) else {
        return refuse("a host on which it ran is not in the cluster any more".into());
    };
    if let Some(why) = no_room(queue, &view, &hosts, work.ranks) {
        return refuse(why);
    }
    let day = queue.day(now);
    // The time between the checkpoint and now does not count for the job's limit.
    view.held += day.saturating_sub(epoch);
    view.checkpoint = old.view.checkpoint;
    view.state = State::Running;
    (view.ended, view.exit, view.reason, view.ending, view.notice) = (None, None, None, None, None);
    let (user, parts) = (view.user.clone(), view.parts.clone());
    let begun = view.begun.map(|begun| now.saturating_sub(day.saturating_sub(begun)));
    let mut entry = Entry::of(view, Some(work.clone()), None);
    entry.left = hosts.iter().copied().collect();
    (entry.hosts, entry.begun, entry.saved_at) = (hosts, begun, Some(now));
    // No later checkpoint has the number of one that the job had before, also if somebody has set the clock.
    entry.tried_epoch = day.max(entry.view.checkpoint.map_or(0, |last| last.epoch));
    queue.jobs.insert(job, entry);
    queue.actions.push_back(Action::Save(job));
    schedule::advance(queue, now);
    Ok(Start { job, user, work, parts })
}

/// Why the hosts on which a job ran do not take it again.
fn no_room(queue: &Queue, view: &tasuki_control::JobView, hosts: &[HostIndex], ranks: u32) -> Option<String> {
    let room = Floor::now(&queue.hosts, &queue.jobs).room(view.terms.sharing, ranks, ranks);
    for (host, part) in hosts.iter().zip(&view.parts) {
        let name = &queue.hosts[*host].name;
        if let Some(why) = queue.hosts[*host].absence() {
            return Some(format!("it ran on {name}, which does not take jobs: {why}"));
        }
        let wanted = (part.ranks.len() as u32).min(queue.hosts[*host].slots());
        if room.free[*host] < wanted {
            return Some(format!("{name} has {} free slots of {wanted} that it needs", room.free[*host]));
        }
    }
    None
}

/// The processes of a job go on on a host, after they stood still for a checkpoint. What the host was told
/// of the job meanwhile is told again.
pub fn job_back(queue: &mut Queue, host: HostIndex, job: JobId) {
    let Some(entry) = queue.jobs.get(&job).filter(|entry| entry.left.contains(&host)) else {
        // It was given up meanwhile.
        let orders = [Order::End { job }, Order::Forget { job }];
        return queue.actions.extend(orders.map(|order| Action::Tell(host, order)));
    };
    let order = match (entry.ending, entry.view.state) {
        (true, _) => Order::End { job },
        (false, State::Held) => Order::Freeze { job },
        (false, _) => Order::Thaw { job },
    };
    queue.actions.push_back(Action::Tell(host, order));
}
