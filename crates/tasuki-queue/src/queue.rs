//! The queue: jobs come in, and begin when their slots are free.

use crate::{
    Action, Client, HostIndex, Refusal, Rows,
    attendance::Attendance,
    entry::Entry,
    floor::{self, Floor, Room},
    hosts::Host,
    schedule, terms,
    users::{self, Usage},
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use tasuki_control::{
    Checkpoint, Epoch, HostView, JobId, JobView, Kind, Order, Presence, Punctuality, Start, State, Terms,
    User, UserLimits, Work,
};

/// The jobs and hosts of a cluster.
#[derive(Debug)]
pub struct Queue {
    pub(crate) hosts: Vec<Host>,
    pub(crate) jobs: BTreeMap<JobId, Entry>,
    pub(crate) actions: VecDeque<Action>,
    pub(crate) next: JobId,
    /// Jobs that were over since this queue began.
    pub(crate) ends: u64,
    /// How jobs take turns, as hosts were told last.
    pub(crate) rows: Rows,
    /// Jobs are being started already.
    pub(crate) is_advancing: bool,
    /// When it was last told the time.
    pub(crate) looked: u64,
    /// How much the clock of the day is ahead of the times that it is told, seconds.
    pub(crate) ahead: i64,
    /// What the jobs of each user may take.
    pub(crate) limits: UserLimits,
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
            away: None,
            leftovers: BTreeSet::new(),
        };
        Self {
            hosts: hosts.into_iter().map(host).collect(),
            jobs: BTreeMap::new(),
            actions: VecDeque::new(),
            next: 1,
            ends: 0,
            rows: Rows::default(),
            is_advancing: false,
            looked: 0,
            ahead: 0,
            limits: UserLimits::default(),
        }
    }

    /// A queue whose users' jobs may take so much.
    pub fn with_limits(self, limits: UserLimits) -> Self {
        Self { limits, ..self }
    }

    /// How much the clock of the day is ahead of the times that this queue is told, seconds. It changes when
    /// somebody sets that clock: no job runs or waits longer or shorter by that, but jobs that were to begin
    /// at a time of the day follow it, as does what is shown.
    pub fn set_ahead(&mut self, seconds: i64) {
        self.ahead = seconds;
    }

    /// The time of the day, seconds since 1970.
    pub(crate) fn day(&self, now: u64) -> u64 {
        now.saturating_add_signed(self.ahead)
    }

    /// What is to be done next.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Takes a new job.
    ///
    /// # Errors
    /// If it has no program, no ranks or too many, if its user may not have it so, or has too many jobs that
    /// wait.
    pub fn submit(
        &mut self,
        now: u64,
        user: &User,
        work: Work,
        terms: Terms,
        client: Client,
    ) -> Result<JobId, Refusal> {
        terms::check(self, user, &work, &terms)?;
        floor::check(&self.hosts, user, terms.sharing, work.ranks)?;
        let terms = users::check(self.usage(), user, &work, terms)?;
        let id = self.next;
        self.next += 1;
        let attended = work.attended.then_some(Attendance::By(client));
        let mut entry = Entry::new(id, now, user, work, terms, attended);
        entry.view.submitted = self.day(now);
        self.jobs.insert(id, entry);
        self.actions.push_back(Action::Save(id));
        schedule::advance(self, now);
        Ok(id)
    }

    /// Time has passed: jobs that have run too long end, and those whose time has come begin.
    pub fn handle_time(&mut self, now: u64) {
        schedule::handle_time(self, now);
    }

    /// Slots that a job wants.
    pub(crate) fn wanted(&self, entry: &Entry) -> u32 {
        entry.view.ranks.min(self.slots())
    }

    fn slots(&self) -> u32 {
        self.hosts.iter().map(Host::slots).sum()
    }

    /// What users' limits are compared with.
    pub(crate) fn usage(&self) -> Usage<'_> {
        Usage { jobs: &self.jobs, limits: self.limits, slots: self.slots() }
    }

    /// Starts a job that finds this room.
    pub(crate) fn begin(&mut self, now: u64, id: JobId, room: &Room) {
        let Some(work) = self.jobs.get(&id).and_then(|entry| entry.work.clone()) else { return };
        let (hosts, parts) = room.parts(&self.hosts, &work);
        let day = self.day(now);
        let Some(entry) = self.jobs.get_mut(&id) else { return };
        entry.left = hosts.iter().copied().collect();
        entry.hosts = hosts;
        entry.row = room.row;
        entry.view.parts = parts.clone();
        entry.view.state = State::Running;
        entry.view.begun = Some(day);
        entry.begun = Some(now);
        entry.view.reason = None;
        let user = entry.view.user.clone();
        self.actions.push_back(Action::Save(id));
        for host in entry.hosts.clone() {
            let (user, work, parts) = (user.clone(), work.clone(), parts.clone());
            let start = Start { job: id, user, work, parts };
            self.actions.push_back(Action::Tell(host, Order::Start(Box::new(start))));
        }
    }

    pub(crate) fn shortage(&self, wanted: u32, room: &Room) -> String {
        let up: u32 = self.hosts.iter().filter(|host| host.takes_jobs()).map(Host::slots).sum();
        let memory = if room.lacks_memory { " with the memory that it needs" } else { "" };
        let text = format!("waits for {wanted} slots{memory}, {} are free", room.sum());
        if up >= wanted {
            return text;
        }
        let absent: Vec<String> = self.hosts.iter().filter_map(Host::absence).collect();
        format!("{text}: {}", absent.join(", "))
    }

    /// What people call a job.
    pub(crate) fn label(&self, id: JobId) -> String {
        self.view(id).map_or_else(|| id.to_string(), JobView::label)
    }

    /// What is known of a job.
    pub fn view(&self, id: JobId) -> Option<&JobView> {
        self.jobs.get(&id).map(|entry| &entry.view)
    }

    /// A job as it is to be written down.
    pub fn saved(&self, id: JobId) -> Option<(&JobView, Option<&Work>)> {
        self.jobs.get(&id).map(|entry| (&entry.view, entry.work.as_ref()))
    }

    /// What the ranks of a job are that is not over.
    pub fn kind_of(&self, id: JobId) -> Option<Kind> {
        Some(self.jobs.get(&id)?.work.as_ref()?.kind)
    }

    /// What the hosts of a job that runs were told to start.
    pub fn start_of(&self, id: JobId) -> Option<Start> {
        let entry = self.jobs.get(&id).filter(|entry| entry.is_resident())?;
        let (user, parts) = (entry.view.user.clone(), entry.view.parts.clone());
        Some(Start { job: id, user, work: entry.work.clone()?, parts })
    }

    /// All jobs, or those that are not over.
    pub fn views(&self, history: bool) -> Vec<JobView> {
        let views = self.jobs.values().map(|entry| &entry.view);
        views.filter(|view| history || !view.state.is_over()).cloned().collect()
    }

    /// What people call the jobs whose users could not be told of their end.
    pub fn untold(&self) -> Vec<String> {
        let views = self.jobs.values().map(|entry| &entry.view);
        views.filter(|view| view.untold().is_some()).map(JobView::label).collect()
    }

    /// All hosts.
    pub fn host_views(&self) -> Vec<HostView> {
        let floor = Floor::now(&self.hosts, &self.jobs);
        let view = |(index, host): (HostIndex, &Host)| HostView {
            host: host.name.clone(),
            presence: host.presence.clone(),
            slots: host.slots(),
            used: floor.used(index),
            jobs: self.jobs.iter().filter(|(_, e)| e.ranks_on(index) > 0).map(|(id, _)| *id).collect(),
            turns: host.turns,
        };
        self.hosts.iter().enumerate().map(view).collect()
    }

    /// What came of a checkpoint of a job, or why it could not be taken.
    pub fn saved_as(&mut self, job: JobId, outcome: Result<Checkpoint, String>) {
        let Some(entry) = self.jobs.get_mut(&job) else { return };
        match outcome {
            Ok(checkpoint) => {
                let view = &mut entry.view;
                (view.checkpoint, view.unsaved, view.uncopied) = (Some(checkpoint), None, None);
            }
            Err(why) => entry.view.unsaved = Some(why),
        }
        self.actions.push_back(Action::Save(job));
    }

    /// A job's last checkpoint is an earlier one again, or there is none: hosts could not keep a later one,
    /// and `why` says so, or the job has gone on from the earlier one.
    pub fn saved_before(&mut self, job: JobId, last: Option<Checkpoint>, why: Option<String>) {
        let Some(view) = self.jobs.get_mut(&job).map(|entry| &mut entry.view) else { return };
        (view.checkpoint, view.unsaved, view.uncopied) = (last, why, None);
        self.actions.push_back(Action::Save(job));
    }

    /// Whether a job has ended well, or was forgotten after its end, so that nobody needs its checkpoints.
    /// One that this queue has never had is another matter.
    pub fn needs_nothing_of(&self, job: JobId) -> bool {
        job < self.next && self.view(job).is_none_or(|view| view.state == State::Done)
    }

    /// What came of the copies of a checkpoint on other hosts. That of an older one does not count any more.
    pub fn copied_as(&mut self, job: JobId, epoch: Epoch, outcome: Result<(), String>) {
        let Some(view) = self.jobs.get_mut(&job).map(|entry| &mut entry.view) else { return };
        let Some(last) = view.checkpoint.as_mut().filter(|last| last.epoch == epoch) else { return };
        last.copied = outcome.is_ok();
        view.uncopied = outcome.err();
        self.actions.push_back(Action::Save(job));
    }

    /// Forgets the jobs that were over first, beyond so many. Those that others wait for, the tasks of arrays
    /// that go on, and jobs whose users are still to be told stay. Returns their numbers.
    pub fn forget(&mut self, keep: usize) -> Vec<JobId> {
        let is_over = |id: &JobId| self.view(*id).is_none_or(|view| view.state.is_over());
        let alive = self.jobs.values().filter(|entry| !entry.view.state.is_over());
        let terms = alive.map(|entry| &entry.view.terms);
        let wanted: BTreeSet<JobId> =
            terms.flat_map(|terms| terms.after.iter().chain(&terms.after_any)).copied().collect();
        let is_needed = |entry: &Entry| {
            let has_array = entry.view.task.is_some_and(|task| !is_over(&task.array));
            wanted.contains(&entry.view.id) || has_array || entry.is_to_be_told()
        };
        let mut over: Vec<&Entry> = self.jobs.values().filter(|entry| entry.view.state.is_over()).collect();
        // The clock of the day, which somebody may set, counts for those alone that were over before.
        over.sort_by_key(|entry| (entry.over, entry.view.ended.filter(|_| entry.over == 0), entry.view.id));
        let old = &over[..over.len().saturating_sub(keep)];
        let old: Vec<JobId> =
            old.iter().filter(|entry| !is_needed(entry)).map(|entry| entry.view.id).collect();
        old.iter().for_each(|id| drop(self.jobs.remove(id)));
        old
    }
}
