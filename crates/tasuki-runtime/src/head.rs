//! What the daemon of the first host does for the whole cluster: it keeps the queue, joins the fences of
//! jobs, keeps their output, and answers commands.

mod copies;
mod follow;
mod images;
mod input;
mod progress;
mod rounds;
mod tell;
#[cfg(test)]
mod tests;
mod times;
mod unwritten;

use crate::{Bundle, RuntimeError, journal::Journal, turns::now_is};
use copies::Copying;
use follow::Followers;
use input::{Inputs, Next};
use rounds::Rounds;
use std::{
    collections::{BTreeMap, VecDeque},
    path::Path,
};
use tasuki_control::{JobId, Order, Presence, Reply, Report, Request, Table, Terms, User, Work};
use tasuki_notify::Notifiers;
use tasuki_pmi::Joint;
use tasuki_queue::{Action, Client, HostIndex, Queue, Rows, Slicer};
use tasuki_sys::clock::monotonic_ns;
use times::Times;
use unwritten::Unwritten;

/// Jobs that are over and kept, with their output.
const KEEP: usize = 1000;

/// Length of a slice, ns, until root has set another one.
const SLICE: u64 = 100_000_000;

/// The queue and what belongs to it.
pub(crate) struct Head {
    bundle: Bundle,
    queue: Queue,
    times: Times,
    slicer: Slicer,
    /// The table of slices that hosts were told last.
    table: Table,
    journal: Journal,
    /// The fences of jobs that run and whose ranks meet at such.
    joints: BTreeMap<JobId, Joint>,
    followers: Followers,
    inputs: Inputs,
    notifiers: Notifiers,
    rounds: Rounds,
    copying: Copying,
    unwritten: Unwritten,
    out: VecDeque<(HostIndex, Order)>,
}

impl Head {
    /// Takes over what was written down in the daemon's folder.
    pub fn open(bundle: &Bundle, folder: &Path) -> Result<Self, RuntimeError> {
        let (journal, times) = (Journal::open(folder)?, Times::begin());
        let mut queue = Queue::new(bundle.hosts.iter().map(|host| (host.name.clone(), host.slots)))
            .with_limits(bundle.limits);
        let (saved, last) = journal.load();
        queue.reserve(last);
        queue.restore(times.now(), saved);
        let mut slicer = Slicer::new(journal.slice().unwrap_or(SLICE));
        let mut head = Self {
            bundle: bundle.clone(),
            queue,
            times,
            table: slicer.change(monotonic_ns(), Rows::default()),
            slicer,
            journal,
            joints: BTreeMap::new(),
            followers: Followers::default(),
            inputs: Inputs::default(),
            notifiers: Notifiers::default(),
            rounds: Rounds::default(),
            copying: Copying::default(),
            unwritten: Unwritten::default(),
            out: VecDeque::new(),
        };
        head.resume();
        head.act();
        Ok(head)
    }

    /// What a host is to be told next.
    pub fn poll_order(&mut self) -> Option<(HostIndex, Order)> {
        self.out.pop_front()
    }

    /// Time has passed: jobs may have run too long, and others may begin.
    pub fn handle_time(&mut self) {
        self.queue.set_ahead(self.times.ahead());
        self.queue.handle_time(self.times.now());
        self.save_ends();
        self.tell_users();
        self.save_due();
        self.act();
    }

    /// A host has fallen silent, or is of another version.
    pub fn host_lost(&mut self, host: HostIndex, presence: Presence) {
        self.commands_gone(host);
        self.host_gone_from_rounds(host, "it is lost");
        self.queue.host_lost(self.times.now(), host, presence);
        self.act();
    }

    /// A host's daemon is gone; its jobs may go on.
    pub fn host_away(&mut self, host: HostIndex, why: &str) {
        self.commands_gone(host);
        self.host_gone_from_rounds(host, why);
        self.queue.host_away(self.times.now(), host, why);
        self.inputs.part(|job| self.queue.first_host(job) == Some(host));
        self.act();
    }

    fn commands_gone(&mut self, host: HostIndex) {
        self.followers.host_gone(host);
        self.inputs.drop_from(|client| client.host == host);
        self.rounds.drop_clients(|client| client.host == host);
    }

    /// A host reports something.
    pub fn report(&mut self, host: HostIndex, report: Report) {
        self.queue.set_ahead(self.times.ahead());
        match report {
            Report::Beat => {}
            Report::Present { cores, memory, jobs } => {
                self.queue.host_memory(host, memory);
                self.host_back(host, cores, &jobs);
            }
            Report::Clock { asked } => self.out.push_back((host, now_is(asked))),
            Report::Turns(kept) => self.queue.kept(host, &kept),
            Report::Request { session, user, request } => {
                let client = Client { host, session };
                if let Some(reply) = self.request(client, &user, request) {
                    self.answer(client, reply);
                }
            }
            Report::Gone { session } => {
                let client = Client { host, session };
                self.followers.client_gone(client);
                self.inputs.drop_from(|from| from == client);
                self.rounds.drop_clients(|one| *one == client);
                self.queue.client_gone(self.times.now(), client);
            }
            Report::Image(report) => self.image_report(host, report),
            about_a_job => self.progress(host, about_a_job),
        }
        self.act();
    }

    fn request(&mut self, client: Client, user: &User, request: Request) -> Option<Reply> {
        let done = |result: Result<(), tasuki_queue::Refusal>| match result {
            Ok(()) => Some(Reply::Done),
            Err(refusal) => Some(Reply::Refused(refusal.to_string())),
        };
        match request {
            Request::Hosts => Some(Reply::Hosts {
                cluster: self.bundle.cluster.clone(),
                head: self.bundle.head().name.clone(),
                lab: self.bundle.lab,
                authenticate: self.bundle.authenticate,
                hosts: self.queue.host_views(),
                limits: self.bundle.limits,
            }),
            Request::Jobs { history, from } => Some(self.jobs(user, history, from)),
            Request::Submit { work, terms } => Some(self.submit(client, user, *work, *terms)),
            Request::Slice { ns } => Some(self.set_slice(user, ns)),
            Request::Cancel { job } => done(self.queue.cancel(self.times.now(), user, job)),
            Request::Hold { job } => done(self.queue.hold(self.times.now(), user, job)),
            Request::Resume { job } => done(self.queue.resume(self.times.now(), user, job)),
            Request::Checkpoint { job } => self.checkpoint(job, Some((client, user))),
            Request::Restart { job, epoch } => self.restart(job, epoch, (client, user)),
            Request::Follow { job, from } => match self.queue.permit(user, job) {
                Err(refusal) => Some(Reply::Refused(refusal.to_string())),
                Ok(()) => {
                    self.followers.add(client, job, from);
                    self.feed_followers(job);
                    None
                }
            },
            Request::Attend { job } => {
                let attended = self.queue.attend(user, job, client);
                if attended.is_ok() {
                    self.inputs.release(job);
                }
                done(attended)
            }
            Request::Input { job, at, bytes } => match self.queue.permit(user, job) {
                Err(refusal) => Some(Reply::Refused(refusal.to_string())),
                Ok(()) => {
                    let refused = self.inputs.add(client, job, at, bytes).err();
                    self.feed_rank(job);
                    refused.map(Reply::Refused)
                }
            },
        }
    }

    fn submit(&mut self, client: Client, user: &User, work: Work, terms: Terms) -> Reply {
        if let Some(why) = tell::too_long(&work) {
            return Reply::Refused(why);
        }
        match self.queue.submit(self.times.now(), user, work, terms, client) {
            Ok(job) => Reply::Submitted(job),
            Err(refusal) => Reply::Refused(refusal.to_string()),
        }
    }

    fn set_slice(&mut self, user: &User, ns: u64) -> Reply {
        if !user.is_root {
            return Reply::Refused("root alone may change the length of slices".into());
        }
        match self.journal.save_slice(ns) {
            Ok(()) => {
                let table = self.slicer.set_slice(monotonic_ns(), ns);
                self.spread(&table);
                Reply::Done
            }
            Err(error) => Reply::Refused(format!("it cannot be written down: {error}")),
        }
    }

    /// Tells all hosts of a table of slices.
    fn spread(&mut self, table: &Table) {
        self.table = table.clone();
        let tell = |host| (host, Order::Table(Box::new(table.clone())));
        self.out.extend((0..self.bundle.hosts.len()).map(tell));
    }

    fn answer(&mut self, client: Client, reply: Reply) {
        self.out.push_back((client.host, Order::Answer { session: client.session, reply }));
    }

    /// Answers those who follow a job, if there is something for them.
    fn feed_followers(&mut self, job: JobId) {
        if self.rounds.restores(job) {
            return;
        }
        let over = self.queue.view(job).filter(|view| view.state.is_over());
        for (client, reply) in self.followers.answers(job, &self.journal.of(job), over) {
            self.answer(client, reply);
        }
    }

    /// Passes input on to rank 0 of a job, if there is room for it.
    fn feed_rank(&mut self, job: JobId) {
        let Some(is_over) = self.queue.view(job).map(|view| view.state.is_over()) else { return };
        let first = self.queue.first_host(job);
        if first.is_none() && !is_over {
            return;
        }
        let Some(Next { client, reply, order }) = self.inputs.next(job, is_over) else { return };
        self.out.extend(first.zip(order));
        self.answer(client, reply);
    }

    /// Does what the queue wants done.
    fn act(&mut self) {
        while let Some(action) = self.queue.poll_action() {
            match action {
                Action::Save(job) => self.save(job),
                Action::Tell(host, order) => self.tell(host, order),
                Action::Over(job) => self.over(job),
                Action::Notify(job, path) if self.unwritten.has(job) => self.unwritten.tell_later(job, path),
                Action::Notify(job, path) => self.notify(job, path),
                Action::Turns(rows) => {
                    let table = self.slicer.change(monotonic_ns(), rows);
                    self.spread(&table);
                }
            }
        }
    }

    fn tell(&mut self, host: HostIndex, order: Order) {
        if let Order::Start(start) = &order {
            self.join(start);
        }
        self.out.push_back((host, order));
    }
}
