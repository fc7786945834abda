//! The queue: jobs come in, and begin when their slots are free.

use crate::gang::{Lack, Room};
use crate::{Action, Client, HostIndex, Refusal, Rows, Saved, entry::Entry, hosts::Host, place::deal};
use std::collections::{BTreeMap, VecDeque};
use tasuki_control::{
    HostView, JobId, JobView, Order, Part, Presence, Punctuality, Start, State, User, Work,
};

/// Most ranks of a job.
const RANKS_MAX: u32 = 4096;
/// Most jobs of one user that may wait.
const WAITING_MAX: usize = 200;

/// The jobs and hosts of a cluster.
#[derive(Debug)]
pub struct Queue {
    pub(crate) hosts: Vec<Host>,
    pub(crate) jobs: BTreeMap<JobId, Entry>,
    pub(crate) actions: VecDeque<Action>,
    /// How jobs take turns, as hosts were told last.
    pub(crate) rows: Rows,
    next: JobId,
}

impl Queue {
    /// An empty queue of hosts with these names and slots (`None`: as many as cores), none of which is here
    /// yet.
    pub fn new(hosts: impl IntoIterator<Item = (String, Option<u32>)>) -> Self {
        let presence = || Presence::Lost("not heard of since the queue's daemon began".into());
        let host = |(name, given)| Host {
            name,
            given,
            cores: 1,
            presence: presence(),
            memory: 0,
            turns: Punctuality::default(),
        };
        Self {
            hosts: hosts.into_iter().map(host).collect(),
            jobs: BTreeMap::new(),
            actions: VecDeque::new(),
            rows: Rows::default(),
            next: 1,
        }
    }

    /// Takes over what an earlier queue wrote down. Jobs that ran have ended with it; those that waited go
    /// on waiting, unless they ended with a command.
    pub fn restore(&mut self, now: u64, saved: impl IntoIterator<Item = Saved>) {
        for Saved { mut view, work } in saved {
            let id = view.id;
            self.next = self.next.max(id + 1);
            let is_lost = !view.state.is_over()
                && (!view.parts.is_empty() || work.as_ref().is_none_or(|work| work.attended));
            if is_lost {
                view.state = State::Failed;
                view.ended = Some(now);
                view.exit = Some(1);
                view.reason = Some("the daemon that keeps the queue ended".into());
                self.actions.push_back(Action::Save(id));
            }
            let work = work.filter(|_| !view.state.is_over());
            self.jobs.insert(id, Entry::of(view, work, None));
        }
    }

    /// What is to be done next.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Takes a new job.
    ///
    /// # Errors
    /// If it has no program, no ranks or too many, or its user has too many jobs that wait.
    pub fn submit(&mut self, now: u64, user: &User, work: Work, client: Client) -> Result<JobId, Refusal> {
        if work.argv.is_empty() || !(1..=RANKS_MAX).contains(&work.ranks) {
            return Err(Refusal::Shape(RANKS_MAX));
        }
        let waiting = |entry: &&Entry| !entry.has_begun() && !entry.view.state.is_over();
        let waiting = self.jobs.values().filter(waiting).filter(|entry| entry.view.user == user.name).count();
        if waiting >= WAITING_MAX {
            return Err(Refusal::Many(user.name.clone(), waiting));
        }
        self.check_sharing(user, &work)?;
        let id = self.next;
        self.next += 1;
        let attended = work.attended.then_some(client);
        self.jobs.insert(id, Entry::new(id, now, user, work, attended));
        self.actions.push_back(Action::Save(id));
        self.advance(now);
        Ok(id)
    }

    /// Starts jobs whose turn it is, in the order of their numbers.
    pub(crate) fn advance(&mut self, now: u64) {
        let mut waiting: Vec<JobId> =
            self.jobs.iter().filter(|(_, entry)| entry.is_waiting()).map(|(id, _)| *id).collect();
        waiting.sort_by_key(|id| !self.is_urgent(*id));
        let mut before = None;
        for id in waiting {
            let reason = match before {
                None => self.place(now, id),
                Some(first) => Some(format!("waits for job {first}")),
            };
            if let Some(reason) = reason {
                before.get_or_insert(id);
                if let Some(entry) = self.jobs.get_mut(&id) {
                    entry.view.reason = Some(reason);
                }
            }
        }
        self.take_turns();
    }

    /// Starts a job if its slots are free; otherwise says what it waits for.
    fn place(&mut self, now: u64, id: JobId) -> Option<String> {
        let work = self.jobs.get(&id)?.work.as_ref()?;
        let all: u32 = self.hosts.iter().map(Host::slots).sum();
        let wanted = work.ranks.min(all);
        let Room { free, row, lacks } = self.room(work, wanted);
        if free.iter().sum::<u32>() < wanted {
            return Some(self.shortage(lacks, wanted, free.iter().sum()));
        }
        let work = work.clone();
        let dealt = deal(work.spread, &free, work.ranks);
        let with_ranks = dealt.into_iter().enumerate().filter(|(_, ranks)| !ranks.is_empty());
        let (hosts, parts): (Vec<HostIndex>, Vec<Part>) = with_ranks
            .map(|(host, ranks)| (host, Part { host: self.hosts[host].name.clone(), ranks }))
            .unzip();
        let entry = self.jobs.get_mut(&id)?;
        entry.left = hosts.iter().copied().collect();
        entry.hosts = hosts;
        entry.row = row;
        entry.view.parts = parts.clone();
        entry.view.state = State::Running;
        entry.view.begun = Some(now);
        entry.view.reason = None;
        let user = entry.view.user.clone();
        self.actions.push_back(Action::Save(id));
        for host in entry.hosts.clone() {
            let (user, work, parts) = (user.clone(), work.clone(), parts.clone());
            let start = Start { job: id, user, work, parts };
            self.actions.push_back(Action::Tell(host, Order::Start(Box::new(start))));
        }
        None
    }

    fn used(&self, host: HostIndex) -> u32 {
        let held: u32 = self.jobs.values().map(|entry| entry.ranks_on(host)).sum();
        held.min(self.hosts[host].slots())
    }

    fn shortage(&self, lacks: Lack, wanted: u32, free: u32) -> String {
        let up: u32 = self.hosts.iter().filter(|host| host.is_up()).map(Host::slots).sum();
        let text = format!("waits for {wanted} slots{}, {free} are free", lacks.words());
        if up >= wanted {
            return text;
        }
        let absent: Vec<String> = self.hosts.iter().filter_map(Host::absence).collect();
        format!("{text}: {}", absent.join(", "))
    }

    /// What is known of a job.
    pub fn view(&self, id: JobId) -> Option<&JobView> {
        self.jobs.get(&id).map(|entry| &entry.view)
    }

    /// A job as it is to be written down.
    pub fn saved(&self, id: JobId) -> Option<(&JobView, Option<&Work>)> {
        self.jobs.get(&id).map(|entry| (&entry.view, entry.work.as_ref()))
    }

    /// All jobs, or those that are not over.
    pub fn views(&self, history: bool) -> Vec<JobView> {
        let views = self.jobs.values().map(|entry| &entry.view);
        views.filter(|view| history || !view.state.is_over()).cloned().collect()
    }

    /// All hosts.
    pub fn host_views(&self) -> Vec<HostView> {
        let view = |(index, host): (HostIndex, &Host)| HostView {
            host: host.name.clone(),
            presence: host.presence.clone(),
            slots: host.slots(),
            used: self.used(index),
            jobs: self.jobs.iter().filter(|(_, e)| e.ranks_on(index) > 0).map(|(id, _)| *id).collect(),
            turns: host.turns,
        };
        self.hosts.iter().enumerate().map(view).collect()
    }

    /// Forgets the oldest jobs that are over, beyond so many. Returns their numbers.
    pub fn forget(&mut self, keep: usize) -> Vec<JobId> {
        let over: Vec<JobId> =
            self.jobs.iter().filter(|(_, entry)| entry.view.state.is_over()).map(|(id, _)| *id).collect();
        let old = over[..over.len().saturating_sub(keep)].to_vec();
        old.iter().for_each(|id| drop(self.jobs.remove(id)));
        old
    }
}
