//! Jobs that go on while a daemon is away: that of one of their hosts, or that of the queue itself.

use crate::{
    Action, HostIndex, Saved,
    attendance::{Attendance, PATIENCE},
    entry::Entry,
    queue::Queue,
    schedule,
};
use std::collections::BTreeSet;
use tasuki_control::{Ending, JobId, JobView, Order, Presence, State, Work};

impl Queue {
    /// Takes over what an earlier queue wrote down. Jobs that ran go on, if their hosts come back with them
    /// in time; those that waited go on waiting. Commands to which jobs belong are waited for.
    pub fn restore(&mut self, now: u64, saved: impl IntoIterator<Item = Saved>) {
        self.hosts.iter_mut().for_each(|host| host.away = Some(now));
        for Saved { mut view, work } in saved {
            let id = view.id;
            self.reserve(id);
            let hosts = self.hosts_by_name(&view);
            if let Some(end) = end_of(&view, work.as_ref(), hosts.is_some()) {
                view.state = end.state;
                view.ended = Some(self.day(now));
                view.exit = Some(end.exit);
                view.reason = Some(end.reason);
                (view.ending, view.frozen) = (None, None);
                self.actions.push_back(Action::Save(id));
            }
            let is_over = view.state.is_over();
            let attended = work.as_ref().is_some_and(|work| work.attended);
            let attended = attended.then(|| Attendance::restored(now));
            let entry = Entry::of(view, work, attended.filter(|_| !is_over));
            self.actions.extend(entry.notification().filter(|_| is_over));
            self.jobs.insert(id, Entry { work: entry.work.clone().filter(|_| !is_over), ..entry });
            self.place_again(now, id, hosts.unwrap_or_default());
        }
        // An array whose last tasks ended with the earlier queue ends as well.
        let is_array = |entry: &&Entry| entry.view.terms.array.is_some();
        let arrays: Vec<JobId> = self.jobs.values().filter(is_array).map(|entry| entry.view.id).collect();
        arrays.into_iter().for_each(|array| self.settle(now, array));
    }

    /// No further job has this number or a lower one.
    pub fn reserve(&mut self, last: JobId) {
        self.next = self.next.max(last.saturating_add(1));
    }

    /// The hosts of a job's parts; `None`: one of them is not in the cluster any more.
    pub(crate) fn hosts_by_name(&self, view: &JobView) -> Option<Vec<HostIndex>> {
        let of = |name: &str| self.hosts.iter().position(|host| host.name == name);
        view.parts.iter().map(|part| of(&part.host)).collect()
    }

    /// A job that ran has its slots again.
    fn place_again(&mut self, now: u64, id: JobId, hosts: Vec<HostIndex>) {
        // A row of its own, from which it moves into an earlier one where there is room.
        let row = self.jobs.values().map(|entry| entry.row + 1).max().unwrap_or(0);
        let ahead = self.ahead;
        let Some(entry) = self.jobs.get_mut(&id).filter(|entry| !entry.view.state.is_over()) else { return };
        entry.left = hosts.iter().copied().collect();
        entry.hosts = hosts;
        if entry.has_begun() && entry.sharing().share {
            entry.row = row;
        }
        entry.saved_at = entry.has_begun().then_some(now);
        // An earlier version did not write down since when a job that is held stands still.
        let is_held = entry.has_begun() && entry.view.state == State::Held;
        let own_time = |day: u64| day.saturating_add_signed(ahead.saturating_neg()).min(now);
        let since = entry.view.frozen.map(own_time);
        entry.frozen = since.or(is_held.then_some(now)).filter(|_| entry.has_begun());
    }

    /// A host's daemon is here, and nothing of earlier jobs is left on the host.
    pub fn host_up(&mut self, now: u64, host: HostIndex, cores: u32) {
        self.host_back(now, host, cores, &[]);
    }

    /// A host's daemon is here, with what an earlier one has left of these jobs.
    pub fn host_back(&mut self, now: u64, host: HostIndex, cores: u32, jobs: &[JobId]) {
        let (name, known) = (self.hosts[host].name.clone(), &mut self.hosts[host]);
        known.away = None;
        known.presence = Presence::Up;
        known.cores = cores.max(1);
        let all = self.hosts.iter().all(|host| host.is_up());
        let attended = self.jobs.values_mut().flat_map(|entry| &mut entry.attended);
        attended.for_each(|one| one.host_back(now, host, all));
        let named: BTreeSet<JobId> = jobs.iter().copied().collect();
        let (there, missing): (Vec<JobId>, Vec<JobId>) =
            self.jobs_on(host).into_iter().partition(|job| named.contains(job));
        // One that goes on elsewhere, and has ended here in order, is kept until it is over.
        let is_kept = |job: &JobId| {
            let entry = self.jobs.get(job).filter(|entry| entry.is_resident() && !entry.ending);
            entry.is_some_and(|entry| entry.hosts.contains(&host))
        };
        let is_left = |job: &JobId| !there.contains(job) && !is_kept(job);
        let leftovers: BTreeSet<JobId> = named.into_iter().filter(is_left).collect();
        for job in &leftovers {
            let orders = [Order::End { job: *job }, Order::Forget { job: *job }];
            self.actions.extend(orders.map(|order| Action::Tell(host, order)));
        }
        self.hosts[host].leftovers = leftovers;
        for job in there {
            let Some(entry) = self.jobs.get(&job) else { continue };
            // What was said while the daemon was away.
            let order = match (entry.ending, entry.view.state) {
                (true, _) => Order::End { job },
                (false, State::Held) => Order::Freeze { job },
                (false, _) => Order::Thaw { job },
            };
            self.actions.push_back(Action::Tell(host, order));
        }
        for job in missing {
            let why = "its tasukid came back without the job, whose processes there had ended";
            self.lose_part(now, host, job, format!("{name}: {why}"));
        }
        schedule::advance(self, now);
    }

    /// A host's daemon is gone, and its host is not, as far as is known: jobs go on without it for a while.
    pub fn host_away(&mut self, now: u64, host: HostIndex, why: &str) {
        self.hosts[host].presence = Presence::Lost(why.into());
        self.hosts[host].away = Some(now);
        self.hosts[host].leftovers.clear();
        let name = self.hosts[host].name.clone();
        for job in self.jobs_on(host) {
            if self.jobs.get(&job).is_some_and(|entry| entry.ending) {
                self.lose_part(now, host, job, format!("{name}: {why}"));
            }
        }
        self.jobs.values_mut().flat_map(|entry| &mut entry.attended).for_each(|one| one.host_away(now, host));
        schedule::advance(self, now);
    }

    /// Gives up hosts whose daemons were away for too long.
    pub(crate) fn give_up_hosts(&mut self, now: u64) {
        for host in 0..self.hosts.len() {
            if self.hosts[host].away.take_if(|since| now.saturating_sub(*since) >= PATIENCE).is_some() {
                let why = format!("its tasukid was away for {}", tasuki_control::span(PATIENCE));
                self.end_jobs_on(now, host, &why);
            }
        }
    }

    /// The jobs of which something may be left on a host.
    pub(crate) fn jobs_on(&self, host: HostIndex) -> Vec<JobId> {
        let jobs = self.jobs.iter().filter(|(_, entry)| entry.left.contains(&host));
        jobs.map(|(id, _)| *id).collect()
    }

    /// What a job has on a host is not to be had any more, and so the job ends.
    pub(crate) fn lose_part(&mut self, now: u64, host: HostIndex, job: JobId, reason: String) {
        if let Some(entry) = self.jobs.get_mut(&job) {
            entry.left.remove(&host);
        }
        self.end(now, job, State::Failed, 1, reason);
    }
}

/// How a job that was not over ends with the daemon of the queue; `None`: it goes on. `placed`: its hosts are
/// known.
fn end_of(view: &JobView, work: Option<&Work>, placed: bool) -> Option<Ending> {
    let failed = |reason: &str| Some(Ending { state: State::Failed, exit: 1, reason: reason.into() });
    match work {
        _ if view.state.is_over() => None,
        _ if view.ending.is_some() => view.ending.clone(),
        None => failed("the daemon that keeps the queue ended, and what was to be run cannot be read"),
        Some(_) if !placed => failed("a host on which it ran is not in the cluster any more"),
        Some(_) => None,
    }
}
