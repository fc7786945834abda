//! What users change: they cancel, hold and resume jobs, and go away.

use crate::{Action, Client, Refusal, entry::Entry, queue::Queue};
use tasuki_control::{JobId, Order, State, User};

/// Exit code of a job that was cancelled: as of a program that SIGINT ends.
const CANCELLED: i32 = 130;

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

    /// Ends a job.
    ///
    /// # Errors
    /// If the user may not, or it is over.
    pub fn cancel(&mut self, now: u64, user: &User, job: JobId) -> Result<(), Refusal> {
        self.living(user, job)?;
        self.end(now, job, State::Cancelled, CANCELLED, format!("cancelled by {}", user.name));
        Ok(())
    }

    /// Keeps a job from starting, or freezes its ranks.
    ///
    /// # Errors
    /// If the user may not, or the job is over or held.
    pub fn hold(&mut self, now: u64, user: &User, job: JobId) -> Result<(), Refusal> {
        let entry = self.living(user, job)?;
        if entry.view.state == State::Held {
            return Err(Refusal::Held(job));
        }
        entry.view.state = State::Held;
        entry.view.reason = Some(format!("held by {}", user.name));
        let hosts = entry.hosts.clone();
        self.actions.push_back(Action::Save(job));
        self.actions.extend(hosts.into_iter().map(|host| Action::Tell(host, Order::Freeze { job })));
        self.advance(now);
        Ok(())
    }

    /// Takes a hold back.
    ///
    /// # Errors
    /// If the user may not, or the job is not held.
    pub fn resume(&mut self, now: u64, user: &User, job: JobId) -> Result<(), Refusal> {
        let entry = self.living(user, job)?;
        if entry.view.state != State::Held {
            return Err(Refusal::NotHeld { job, state: entry.view.state });
        }
        entry.view.state = if entry.has_begun() { State::Running } else { State::Waiting };
        entry.view.reason = None;
        let hosts = entry.hosts.clone();
        self.actions.push_back(Action::Save(job));
        self.actions.extend(hosts.into_iter().map(|host| Action::Tell(host, Order::Thaw { job })));
        self.advance(now);
        Ok(())
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
