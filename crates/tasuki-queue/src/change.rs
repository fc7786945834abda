//! What users change, who cancel, hold and resume jobs; and how jobs end.

use crate::{
    Action, Client, HostIndex, Refusal, array, attendance::Attendance, entry::Entry, queue::Queue, schedule,
    schedule::CANCELLED,
};
use tasuki_control::{Ending, JobId, Notice, Order, State, User};

/// Why a job ends whose command has gone.
pub(crate) const GONE: &str = "the command that attended it went away";

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
        let day = self.day(now);
        let Some(entry) = self.jobs.get_mut(&job).filter(|entry| !entry.ending) else { return };
        if entry.view.state == State::Held {
            return;
        }
        // It may stand still for an urgent job already.
        if entry.has_begun() && entry.frozen.is_none() {
            (entry.frozen, entry.view.frozen) = (Some(now), Some(day));
        }
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
        entry.view.frozen = None;
        entry.view.state = if entry.has_begun() { State::Running } else { State::Waiting };
        entry.view.reason = None;
        let hosts = entry.hosts.clone();
        self.actions.push_back(Action::Save(job));
        self.actions.extend(hosts.into_iter().map(|host| Action::Tell(host, Order::Thaw { job })));
    }

    /// A command takes the place of the one that attended a job.
    ///
    /// # Errors
    /// If its user may not, the job is over or being ended, or no command attends it.
    pub fn attend(&mut self, user: &User, job: JobId, client: Client) -> Result<(), Refusal> {
        let attended = self.living(user, job)?.attended.as_mut().ok_or(Refusal::Unattended(job))?;
        *attended = Attendance::By(client);
        Ok(())
    }

    /// A command has gone: the jobs that it attended end.
    pub fn client_gone(&mut self, now: u64, client: Client) {
        self.end_attended(now, GONE, |attended| *attended == Attendance::By(client));
    }

    /// Ends jobs of commands.
    pub(crate) fn end_attended(&mut self, now: u64, reason: &str, is_hit: impl Fn(&Attendance) -> bool) {
        let is_hit = |entry: &&Entry| entry.attended.as_ref().is_some_and(&is_hit);
        let hit: Vec<JobId> = self.jobs.values().filter(is_hit).map(|entry| entry.view.id).collect();
        for job in hit {
            self.end(now, job, State::Cancelled, CANCELLED, reason.to_owned());
        }
    }

    /// Ends a job because something on the host that keeps the queue fails.
    pub fn fail(&mut self, now: u64, job: JobId, reason: String) {
        self.end(now, job, State::Failed, 1, reason);
    }

    /// Ends a job that is not over: at once if it has not begun, otherwise when nothing of it is left. What
    /// was known before of how it ends stays.
    pub(crate) fn end(&mut self, now: u64, job: JobId, state: State, exit: i32, reason: String) {
        let has_tasks = !array::tasks_alive(self, job).is_empty();
        let Some(entry) = self.jobs.get_mut(&job) else { return };
        if entry.view.state.is_over() {
            return;
        }
        let verdict = entry.verdict.get_or_insert(Ending { state, exit, reason }).clone();
        if !std::mem::replace(&mut entry.ending, true) {
            // What is over at once is written down as such. An array ends when its tasks have.
            if entry.has_begun() || has_tasks {
                entry.view.ending = Some(verdict);
                self.actions.push_back(Action::Save(job));
            }
            // A host that is away is told when it comes back, and nobody waits for that.
            entry.left.retain(|host| self.hosts[*host].is_up());
            let tell = |host: &HostIndex| Action::Tell(*host, Order::End { job });
            self.actions.extend(entry.left.iter().map(tell));
        }
        self.settle(now, job);
    }

    /// Whether a job's user was told of its end is known now.
    pub fn told(&mut self, job: JobId, notice: Notice) {
        if let Some(entry) = self.jobs.get_mut(&job) {
            entry.view.notice = Some(notice);
            self.actions.push_back(Action::Save(job));
        }
    }

    /// Ends a job of which nothing is left.
    pub(crate) fn settle(&mut self, now: u64, job: JobId) {
        let has_tasks = array::has_tasks(self, job);
        let of_tasks = array::array_verdict(self, job);
        let (day, ends) = (self.day(now), self.ends + 1);
        let Some(entry) = self.jobs.get_mut(&job) else { return };
        let is_array = entry.view.terms.array.is_some();
        let is_to_begin = !entry.has_begun() && entry.verdict.is_none() && !is_array;
        if has_tasks || !entry.left.is_empty() || is_to_begin || entry.view.state.is_over() {
            return;
        }
        let verdict = entry.verdict.take().or(of_tasks);
        entry.view.state = verdict.as_ref().map_or(State::Done, |verdict| verdict.state);
        entry.view.exit = Some(verdict.as_ref().map_or(0, |verdict| verdict.exit));
        entry.view.reason = verdict.map(|verdict| verdict.reason);
        entry.view.ended = Some(day);
        entry.view.ending = None;
        entry.view.frozen = None;
        entry.over = ends;
        let notify = entry.notification();
        entry.work = None;
        entry.attended = None;
        let array = entry.view.task.map(|task| task.array);
        self.ends = ends;
        self.actions.push_back(Action::Save(job));
        // Before what is over is forgotten, which may be this very job.
        self.actions.extend(notify);
        self.actions.push_back(Action::Over(job));
        array.into_iter().for_each(|array| self.settle(now, array));
        schedule::advance(self, now);
    }
}
