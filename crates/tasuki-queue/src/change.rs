//! What users change: they cancel, hold and resume jobs, and go away.

use crate::{Action, Client, Refusal, array, entry::Entry, queue::Queue, schedule, schedule::CANCELLED};
use tasuki_control::{JobId, Order, State, User};

impl Queue {
    /// Whether a user may read, end, hold and feed a job.
    ///
    /// # Errors
    /// If it is another user's, or there is no such job.
    pub fn permit(&self, user: &User, job: JobId) -> Result<(), Refusal> {
        let entry = self.jobs.get(&job).ok_or(Refusal::NoJob(job))?;
        let owner = &entry.view.user;
        match user.is_root || user.name == *owner {
            true => Ok(()),
            false => Err(Refusal::NotYours { job, owner: owner.clone(), user: user.name.clone() }),
        }
    }

    /// A job that a user may change and that is not over or being ended.
    fn living(&mut self, user: &User, job: JobId) -> Result<&mut Entry, Refusal> {
        self.permit(user, job)?;
        let entry = self.jobs.get_mut(&job).ok_or(Refusal::NoJob(job))?;
        match entry.view.state {
            state if state.is_over() => Err(Refusal::Over { job, state }),
            _ if entry.ending => Err(Refusal::Ending(job)),
            _ => Ok(entry),
        }
    }

    /// Ends a job, or an array with all its tasks.
    ///
    /// # Errors
    /// If the user may not, or it is over.
    pub fn cancel(&mut self, now: u64, user: &User, job: JobId) -> Result<(), Refusal> {
        self.living(user, job)?;
        let reason = format!("cancelled by {}", user.name);
        // The array first, so that no task begins in the place of one that ends.
        for job in [vec![job], array::tasks_alive(self, job)].concat() {
            self.end(now, job, State::Cancelled, CANCELLED, reason.clone());
        }
        Ok(())
    }

    /// Keeps a job from starting, or freezes its ranks; of an array, all tasks.
    ///
    /// # Errors
    /// If the user may not, or the job is over or held.
    pub fn hold(&mut self, now: u64, user: &User, job: JobId) -> Result<(), Refusal> {
        if self.living(user, job)?.view.state == State::Held {
            return Err(Refusal::Held(job));
        }
        for job in [vec![job], array::tasks_alive(self, job)].concat() {
            self.freeze(now, job, format!("held by {}", user.name));
        }
        schedule::advance(self, now);
        Ok(())
    }

    fn freeze(&mut self, now: u64, job: JobId, reason: String) {
        let Some(entry) = self.jobs.get_mut(&job).filter(|entry| !entry.ending) else { return };
        if entry.view.state == State::Held {
            return;
        }
        // It may stand still for an urgent job already.
        entry.frozen = entry.frozen.or(entry.has_begun().then_some(now));
        entry.view.state = State::Held;
        entry.view.reason = Some(reason);
        let hosts = entry.hosts.clone();
        self.actions.push_back(Action::Save(job));
        self.actions.extend(hosts.into_iter().map(|host| Action::Tell(host, Order::Freeze { job })));
    }

    /// Takes a hold back; of an array, that of all tasks.
    ///
    /// # Errors
    /// If the user may not, or the job is not held.
    pub fn resume(&mut self, now: u64, user: &User, job: JobId) -> Result<(), Refusal> {
        let state = self.living(user, job)?.view.state;
        if state != State::Held {
            return Err(Refusal::NotHeld { job, state });
        }
        for job in [vec![job], array::tasks_alive(self, job)].concat() {
            self.thaw(now, job);
        }
        array::mark_begun(self, now, job);
        schedule::advance(self, now);
        Ok(())
    }

    fn thaw(&mut self, now: u64, job: JobId) {
        let Some(entry) = self.jobs.get_mut(&job).filter(|entry| !entry.ending) else { return };
        if entry.view.state != State::Held {
            return;
        }
        entry.view.held += entry.frozen.take().map_or(0, |since| now.saturating_sub(since));
        entry.view.state = if entry.has_begun() { State::Running } else { State::Waiting };
        entry.view.reason = None;
        let hosts = entry.hosts.clone();
        self.actions.push_back(Action::Save(job));
        self.actions.extend(hosts.into_iter().map(|host| Action::Tell(host, Order::Thaw { job })));
    }

    /// A command has gone: the jobs that it attended end.
    pub fn client_gone(&mut self, now: u64, client: Client) {
        self.end_attended(now, |attended| attended == client);
    }

    pub(crate) fn end_attended(&mut self, now: u64, is_gone: impl Fn(Client) -> bool) {
        let is_hit = |entry: &Entry| entry.attended.is_some_and(&is_gone);
        let hit: Vec<JobId> =
            self.jobs.iter().filter(|(_, entry)| is_hit(entry)).map(|(id, _)| *id).collect();
        for job in hit {
            let reason = "the command that attended it went away".to_owned();
            self.end(now, job, State::Cancelled, CANCELLED, reason);
        }
    }
}
