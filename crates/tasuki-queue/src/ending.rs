//! How jobs end.

use crate::{Action, HostIndex, array, queue::Queue, schedule};
use tasuki_control::{Ending, JobId, Notice, Order, State};

impl Queue {
    /// Ends a job because something on the host that keeps the queue fails.
    pub fn fail(&mut self, now: u64, job: JobId, reason: String) {
        self.end(now, job, State::Failed, 1, reason);
    }

    /// Ends a job that is not over: at once if it has not begun, otherwise when nothing of it is left. What
    /// was known before of how it ends stays.
    pub(crate) fn end(&mut self, now: u64, job: JobId, state: State, exit: i32, reason: String) {
        let Some(entry) = self.jobs.get_mut(&job) else { return };
        if entry.view.state.is_over() {
            return;
        }
        let verdict = entry.verdict.get_or_insert(Ending { state, exit, reason }).clone();
        if !std::mem::replace(&mut entry.ending, true) {
            if entry.has_begun() {
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
        entry.view.ended = Some(now);
        entry.view.ending = None;
        let notify = entry.notification();
        entry.work = None;
        entry.attended = None;
        let array = entry.view.task.map(|task| task.array);
        self.actions.extend([Action::Save(job), Action::Over(job)]);
        self.actions.extend(notify);
        array.into_iter().for_each(|array| self.settle(now, array));
        schedule::advance(self, now);
    }
}
