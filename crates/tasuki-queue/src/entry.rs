//! A job in the queue.

use crate::{Action, HostIndex, attendance::Attendance};
use std::collections::BTreeSet;
use tasuki_control::{Bytes, Ending, JobView, Kind, Part, Sharing, State, Terms, User, Work};

/// Characters of a command that are shown and kept.
const COMMAND_MAX: usize = 1000;

/// Variables that have the transport of ranks use nothing that CRIU does not bring back: TCP connections,
/// which it saves only while the network is locked on all hosts, and locks (fcntl(2)) of files that are
/// mapped, by which ranks of a host know in shared memory that the others live.
const FOR_CHECKPOINTS: [(&str, &str); 2] = [("TASUKI_FRAMING", "frames"), ("TASUKI_SHM", "0")];

/// Prepares what is to be run for checkpoints.
fn prepare(work: &mut Work) {
    for (name, value) in FOR_CHECKPOINTS.map(|(name, value)| (name.as_bytes(), value.as_bytes())) {
        work.env.retain(|(known, _)| known != name);
        work.env.push((Bytes::from(name), Bytes::from(value)));
    }
}

/// A job in the queue.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// What is shown of it; its times are those of the day.
    pub view: JobView,
    /// When it came, by the queue's own time.
    pub came: u64,
    /// When its ranks were started, by the queue's own time.
    pub begun: Option<u64>,
    /// What is to be run, until it is over.
    pub work: Option<Work>,
    /// The command whose end ends the job.
    pub attended: Option<Attendance>,
    /// Hosts that have ranks, in the order of the view's parts.
    pub hosts: Vec<HostIndex>,
    /// Hosts on which processes of it may be left.
    pub left: BTreeSet<HostIndex>,
    /// Ranks that have ended.
    pub ended: BTreeSet<u32>,
    /// How it is going to end, if that is known. A job without an MPI goes on although it is.
    pub verdict: Option<Ending>,
    /// Whether its hosts were told to end it.
    pub ending: bool,
    /// Since when its ranks stand still, because it is held or for an urgent job.
    pub frozen: Option<u64>,
    /// When its last checkpoint was begun, by the queue's own time.
    pub saved_at: Option<u64>,
    /// The number of that checkpoint.
    pub tried_epoch: u64,
    /// The row of the table of slices in which it has its slots, if it shares them.
    pub row: usize,
    /// Which job it was to be over since this queue began; 0: it is not over, or was before.
    pub over: u64,
}

impl Entry {
    pub fn new(
        id: u64,
        now: u64,
        user: &User,
        mut work: Work,
        terms: Terms,
        attended: Option<Attendance>,
    ) -> Self {
        if terms.is_saved() {
            prepare(&mut work);
        }
        let view = JobView {
            id,
            state: State::Waiting,
            user: user.name.clone(),
            ranks: work.ranks,
            command: work.command().chars().take(COMMAND_MAX).collect(),
            mpi: work.mpi.clone(),
            parts: Vec::new(),
            submitted: now,
            begun: None,
            ended: None,
            exit: None,
            reason: None,
            terms,
            task: None,
            held: 0,
            frozen: None,
            notice: None,
            ending: None,
            checkpoint: None,
            saving: None,
            unsaved: None,
            uncopied: None,
        };
        Self::of(view, Some(work), attended)
    }

    pub fn of(view: JobView, work: Option<Work>, attended: Option<Attendance>) -> Self {
        Self {
            came: view.submitted,
            begun: view.begun,
            view,
            work,
            attended,
            hosts: Vec::new(),
            left: BTreeSet::new(),
            ended: BTreeSet::new(),
            verdict: None,
            ending: false,
            frozen: None,
            saved_at: None,
            tried_epoch: 0,
            row: 0,
            over: 0,
        }
    }

    /// What tells its user that it is over, if that is wanted and not known to be done.
    pub fn notification(&self) -> Option<Action> {
        if !self.is_to_be_told() {
            return None;
        }
        let env = self.work.iter().flat_map(|work| &work.env);
        let mut path = env.filter(|(name, _)| name.as_slice() == b"PATH").map(|(_, path)| path.clone());
        Some(Action::Notify(self.view.id, path.next_back()))
    }

    /// Whether its user is to be told that it is over, and is not known to have been.
    pub fn is_to_be_told(&self) -> bool {
        self.view.terms.notify.is_some() && self.view.notice.is_none()
    }

    /// Whether its ranks were started.
    pub fn has_begun(&self) -> bool {
        !self.hosts.is_empty()
    }

    /// Whether it waits for its turn.
    pub fn is_waiting(&self) -> bool {
        self.view.state == State::Waiting
    }

    /// When it has run as long as it may; `None`: it has no limit, has not begun or stands still.
    pub fn deadline(&self) -> Option<u64> {
        let is_running = self.has_begun() && self.view.state == State::Running && self.frozen.is_none();
        let begun = self.begun.filter(|_| is_running)?;
        Some(begun.saturating_add(self.view.held).saturating_add(self.view.terms.timeout?))
    }

    /// Whether its ranks need each other.
    pub fn is_parallel(&self) -> bool {
        self.work.as_ref().is_some_and(|work| work.kind != Kind::Plain)
    }

    /// Whether its ranks run or stand still somewhere.
    pub fn is_resident(&self) -> bool {
        self.has_begun() && !self.view.state.is_over()
    }

    /// How it gets on with others.
    pub fn sharing(&self) -> Sharing {
        self.view.terms.sharing
    }

    /// Its hosts, and how many ranks it has on each.
    pub fn places(&self) -> impl Iterator<Item = (HostIndex, u32)> + '_ {
        self.hosts.iter().zip(&self.view.parts).map(|(host, part)| (*host, part.ranks.len() as u32))
    }

    /// Its part on a host.
    pub fn part(&self, host: HostIndex) -> Option<&Part> {
        let at = self.hosts.iter().position(|one| *one == host)?;
        self.view.parts.get(at)
    }

    /// Ranks that hold slots of a host.
    pub fn ranks_on(&self, host: HostIndex) -> u32 {
        if self.view.state.is_over() { 0 } else { self.part(host).map_or(0, |part| part.ranks.len() as u32) }
    }
}
