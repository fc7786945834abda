//! Jobs that share slots: rows of jobs that run at once and take turns (Ousterhout, Scheduling Techniques for
//! Concurrent Systems, 1982), and urgent jobs, for which others stand still.
//!
//! Three kinds of jobs: one that is alone holds its slots in all rows; one that shares holds them in its own
//! row, and runs in others where they are free; an urgent one takes slots that others hold, and these stand
//! still on all their hosts until it is over.

use crate::{HostIndex, Refusal, entry::Entry, queue::Queue};
use tasuki_control::{JobId, Punctuality, User, Work};

/// Most rows. Every further one makes all jobs slower and takes memory.
const ROWS_MAX: usize = 8;
/// Most rows where the memory of some job is not known.
const ROWS_UNKNOWN: usize = 3;

/// Slots that a job may take.
#[derive(Debug)]
pub(crate) struct Room {
    /// Host by host.
    pub free: Vec<u32>,
    /// The row, if the job shares slots.
    pub row: usize,
    /// What there is too little of, if that does not do.
    pub lacks: Lack,
}

/// What there is too little of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    Slots,
    Memory,
}

impl Lack {
    pub fn words(self) -> &'static str {
        match self {
            Lack::Slots => "",
            Lack::Memory => " with the memory that it needs",
        }
    }
}

/// What a job does with its slots.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Alone,
    Shares,
    Urgent,
}

fn class(work: Option<&Work>) -> Class {
    let sharing = work.map(|work| work.sharing).unwrap_or_default();
    match (sharing.urgent, sharing.share) {
        (true, _) => Class::Urgent,
        (false, true) => Class::Shares,
        (false, false) => Class::Alone,
    }
}

impl Entry {
    pub(crate) fn class(&self) -> Class {
        class(self.work.as_ref())
    }

    /// Whether its ranks run or stand still somewhere.
    pub(crate) fn is_resident(&self) -> bool {
        self.has_begun() && !self.view.state.is_over()
    }
}

impl Queue {
    /// A host has so much memory, in bytes.
    pub fn host_memory(&mut self, host: HostIndex, memory: u64) {
        self.hosts[host].memory = memory;
    }

    /// A host tells how well it has kept to the table of slices.
    pub fn kept(&mut self, host: HostIndex, kept: &Punctuality) {
        self.hosts[host].turns.add(kept);
    }

    pub(crate) fn is_urgent(&self, id: JobId) -> bool {
        self.jobs.get(&id).is_some_and(|entry| entry.class() == Class::Urgent)
    }

    /// Whether a user may submit such a job, and it can ever begin.
    pub(crate) fn check_sharing(&self, user: &User, work: &Work) -> Result<(), Refusal> {
        if work.sharing.urgent && !user.is_root {
            return Err(Refusal::Urgent);
        }
        let Some(memory) = work.sharing.memory else { return Ok(()) };
        let (wanted, each) = self.demand(work);
        let fits = |host: usize| self.fitting(host, each, 0);
        let is_known = self.hosts.iter().all(|host| host.memory > 0);
        let room: u64 = (0..self.hosts.len()).map(|host| u64::from(fits(host))).sum();
        match is_known && room < u64::from(wanted) {
            true => Err(Refusal::Memory { ranks: work.ranks, memory }),
            false => Ok(()),
        }
    }

    /// Slots that a job takes in all, and the memory that it needs for each, bytes.
    fn demand(&self, work: &Work) -> (u32, u64) {
        let all: u32 = self.hosts.iter().map(|host| host.slots()).sum();
        let wanted = work.ranks.min(all).max(1);
        let ranks = u64::from(work.ranks.div_ceil(wanted));
        (wanted, work.sharing.memory.unwrap_or(0).saturating_mul(ranks))
    }

    /// Slots of a host for which there is memory, where so much of it is promised to others.
    fn fitting(&self, host: HostIndex, each: u64, promised: u64) -> u32 {
        let (slots, memory) = (self.hosts[host].slots(), self.hosts[host].memory);
        if each == 0 || memory == 0 {
            return slots;
        }
        u32::try_from(memory.saturating_sub(promised) / each).unwrap_or(slots).min(slots)
    }

    /// Memory of a host that the jobs on it are said to need, bytes.
    fn promised(&self, host: HostIndex) -> u64 {
        let of = |entry: &Entry| {
            u64::from(entry.ranks_on(host)).saturating_mul(entry.sharing().memory.unwrap_or(0))
        };
        self.jobs.values().map(of).fold(0, u64::saturating_add)
    }

    /// Slots of a host that jobs of a kind hold.
    pub(crate) fn held(&self, host: HostIndex, is_it: impl Fn(&Entry) -> bool) -> u32 {
        let slots = self.hosts[host].slots();
        let held = self.jobs.values().filter(|entry| is_it(entry));
        held.map(|entry| entry.ranks_on(host).min(slots)).sum()
    }

    fn in_row(&self, host: HostIndex, row: usize) -> u32 {
        self.held(host, |entry| entry.class() == Class::Shares && entry.row == row)
    }

    fn row_count(&self) -> usize {
        let resident = self.jobs.values().filter(|entry| entry.is_resident());
        resident.filter(|entry| entry.class() == Class::Shares).map(|entry| entry.row + 1).max().unwrap_or(0)
    }

    /// The slots that a job may take now, `wanted` of which it needs.
    pub(crate) fn room(&self, work: &Work, wanted: u32) -> Room {
        let class = class(Some(work));
        let rows = self.row_count();
        let row_max = self.rows_max(work);
        let candidates = if class == Class::Shares { 0..(rows + 1).min(row_max) } else { 0..1 };
        let mut best = Room { free: vec![0; self.hosts.len()], row: 0, lacks: Lack::Slots };
        for row in candidates {
            let slots: Vec<u32> = (0..self.hosts.len()).map(|host| self.free(host, class, row)).collect();
            let (_, each) = self.demand(work);
            let fits =
                |(host, slots): (usize, &u32)| self.fitting(host, each, self.promised(host)).min(*slots);
            let free: Vec<u32> = slots.iter().enumerate().map(fits).collect();
            let (sum, most) = (free.iter().sum::<u32>(), best.free.iter().sum::<u32>());
            if slots.iter().sum::<u32>() >= wanted {
                best.lacks = Lack::Memory;
            }
            if sum > most || row == 0 {
                best = Room { free, row, lacks: best.lacks };
            }
            if sum >= wanted {
                break;
            }
        }
        best
    }

    /// Most rows with this job among those that share.
    fn rows_max(&self, work: &Work) -> usize {
        let resident = self.jobs.values().filter(|entry| entry.is_resident());
        let mut sharing = resident.filter(|entry| entry.class() == Class::Shares).map(Entry::sharing);
        let is_known = work.sharing.memory.is_some() && sharing.all(|sharing| sharing.memory.is_some());
        if is_known { ROWS_MAX } else { ROWS_UNKNOWN }
    }

    /// Slots of a host that a job of a kind may take in a row; none if the host is not up.
    fn free(&self, host: HostIndex, class: Class, row: usize) -> u32 {
        if !self.hosts[host].is_up() {
            return 0;
        }
        let urgent = self.held(host, |entry| entry.class() == Class::Urgent);
        let alone = self.held(host, |entry| entry.class() == Class::Alone);
        let most = || (0..self.row_count()).map(|row| self.in_row(host, row)).max().unwrap_or(0);
        let taken = match class {
            Class::Urgent => urgent,
            Class::Alone => urgent + alone + most(),
            Class::Shares => urgent + alone + self.in_row(host, row),
        };
        self.hosts[host].slots().saturating_sub(taken)
    }
}
