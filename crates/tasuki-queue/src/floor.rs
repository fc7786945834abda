//! Which slots are taken, by whom: rows of jobs that run at once and take turns (Ousterhout, Scheduling
//! Techniques for Concurrent Systems, 1982), and urgent jobs, for which others stand still.
//!
//! Three kinds of jobs: one that is alone holds its slots in all rows; one that shares holds them in its own
//! row, and runs in others where they are free; an urgent one takes slots that others hold, and these stand
//! still on all their hosts until it is over.

use crate::{HostIndex, Refusal, entry::Entry, hosts::Host, place::deal};
use std::collections::BTreeMap;
use tasuki_control::{JobId, Part, Sharing, User, Work};

/// Most rows. Every further one makes all jobs slower and takes memory.
const ROWS_MAX: usize = 8;
/// Most rows where the memory of some job is not known.
const ROWS_UNKNOWN: usize = 3;

/// What a job does with its slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Alone,
    Shares,
    Urgent,
}

/// The kind of a job that gets on with others in this way.
pub(crate) fn class(sharing: Sharing) -> Class {
    match (sharing.urgent, sharing.share) {
        (true, _) => Class::Urgent,
        (false, true) => Class::Shares,
        (false, false) => Class::Alone,
    }
}

/// Slots that a job may take.
#[derive(Debug)]
pub(crate) struct Room {
    /// Host by host.
    pub free: Vec<u32>,
    /// The row, if the job shares slots.
    pub row: usize,
    /// There would be slots enough, but not the memory that the job needs.
    pub lacks_memory: bool,
}

impl Room {
    /// Free slots of all hosts.
    pub fn sum(&self) -> u32 {
        self.free.iter().sum()
    }

    /// The hosts on which a job begins that finds this room, and its part on each.
    pub fn parts(&self, hosts: &[Host], work: &Work) -> (Vec<HostIndex>, Vec<Part>) {
        let dealt = deal(work.spread, &self.free, work.ranks);
        let with_ranks = dealt.into_iter().enumerate().filter(|(_, ranks)| !ranks.is_empty());
        with_ranks.map(|(host, ranks)| (host, Part { host: hosts[host].name.clone(), ranks })).unzip()
    }
}

/// A host, and what jobs have taken of it.
#[derive(Clone, Debug, Default)]
struct Place {
    /// Slots; none if it is not up.
    slots: u32,
    /// Memory, bytes; 0: unknown.
    memory: u64,
    alone: u32,
    urgent: u32,
    /// Row by row.
    rows: Vec<u32>,
    /// Memory that jobs are said to need, bytes.
    promised: u64,
}

/// What some jobs have taken: those that run now, or others that might.
#[derive(Clone, Debug)]
pub(crate) struct Floor {
    hosts: Vec<Place>,
    /// Jobs that share slots and do not say what memory they need.
    unknown: usize,
}

impl Floor {
    /// Nothing is taken.
    fn empty(hosts: &[Host]) -> Self {
        let place = |host: &Host| Place {
            slots: if host.takes_jobs() { host.slots() } else { 0 },
            memory: host.memory,
            ..Place::default()
        };
        Self { hosts: hosts.iter().map(place).collect(), unknown: 0 }
    }

    /// Taken by the jobs that are there now.
    pub fn now(hosts: &[Host], jobs: &BTreeMap<JobId, Entry>) -> Self {
        let mut floor = Self::empty(hosts);
        jobs.values().filter(|entry| entry.is_resident()).for_each(|entry| floor.add(entry));
        floor
    }

    /// A job that has its parts and its row comes.
    pub fn add(&mut self, entry: &Entry) {
        self.add_at(entry.sharing(), entry.row, entry.places());
    }

    /// A job comes into a row, with so many ranks on each of its hosts.
    pub fn add_at(&mut self, sharing: Sharing, row: usize, places: impl Iterator<Item = (HostIndex, u32)>) {
        self.change((sharing, row), places, u32::wrapping_add, u64::wrapping_add);
        self.unknown += usize::from(is_unknown(sharing));
    }

    /// A job that had come goes.
    pub fn remove(&mut self, entry: &Entry) {
        let how = (entry.sharing(), entry.row);
        self.change(how, entry.places(), u32::wrapping_sub, u64::wrapping_sub);
        self.unknown -= usize::from(is_unknown(entry.sharing()));
    }

    /// Sums wrap: what is taken away was added before.
    fn change(
        &mut self,
        (sharing, row): (Sharing, usize),
        places: impl Iterator<Item = (HostIndex, u32)>,
        slots: fn(u32, u32) -> u32,
        memory: fn(u64, u64) -> u64,
    ) {
        for (host, ranks) in places {
            let place = &mut self.hosts[host];
            let held = ranks.min(place.slots);
            let sum = match class(sharing) {
                Class::Alone => &mut place.alone,
                Class::Urgent => &mut place.urgent,
                Class::Shares => {
                    place.rows.resize(place.rows.len().max(row + 1), 0);
                    &mut place.rows[row]
                }
            };
            *sum = slots(*sum, held);
            let needed = u64::from(ranks).saturating_mul(sharing.memory.unwrap_or(0));
            place.promised = memory(place.promised, needed);
        }
    }

    fn row_count(&self) -> usize {
        let last = |place: &Place| place.rows.iter().rposition(|held| *held > 0).map_or(0, |row| row + 1);
        self.hosts.iter().map(last).max().unwrap_or(0)
    }

    /// The slots that a job may take, which shall have so many ranks and needs `wanted` slots.
    pub fn room(&self, sharing: Sharing, ranks: u32, wanted: u32) -> Room {
        let class = class(sharing);
        let is_known = self.unknown == 0 && !is_unknown(sharing);
        let row_max = if is_known { ROWS_MAX } else { ROWS_UNKNOWN };
        let rows = if class == Class::Shares { (self.row_count() + 1).min(row_max) } else { 1 };
        let each = memory_each(sharing, ranks, wanted);
        let mut best = Room { free: vec![0; self.hosts.len()], row: 0, lacks_memory: false };
        let mut has_slots = false;
        for row in 0..rows {
            let slots: Vec<u32> = self.hosts.iter().map(|place| place.free(class, row)).collect();
            let fits = |(place, slots): (&Place, &u32)| place.fitting(each).min(*slots);
            let free = self.hosts.iter().zip(&slots).map(fits).collect();
            let room = Room { free, row, lacks_memory: false };
            has_slots |= slots.iter().sum::<u32>() >= wanted;
            let sum = room.sum();
            if sum > best.sum() {
                best = room;
            }
            if sum >= wanted {
                break;
            }
        }
        Room { lacks_memory: has_slots && best.sum() < wanted, ..best }
    }

    /// Slots that jobs hold on a host, as people count: no more than there are.
    pub fn used(&self, host: HostIndex) -> u32 {
        let Place { slots, alone, urgent, rows, .. } = &self.hosts[host];
        let all = rows.iter().fold(alone.saturating_add(*urgent), |sum, row| sum.saturating_add(*row));
        all.min(*slots)
    }
}

impl Place {
    /// Slots that a job of a kind may take in a row. Where an urgent job is, others would stand still.
    fn free(&self, class: Class, row: usize) -> u32 {
        let in_rows = match class {
            Class::Urgent => return self.slots.saturating_sub(self.urgent),
            _ if self.urgent > 0 => return 0,
            Class::Alone => self.rows.iter().max().copied(),
            Class::Shares => self.rows.get(row).copied(),
        };
        self.slots.saturating_sub(self.alone).saturating_sub(in_rows.unwrap_or(0))
    }

    /// Slots for which there is memory, where each needs so much.
    fn fitting(&self, each: u64) -> u32 {
        if each == 0 || self.memory == 0 {
            return self.slots;
        }
        let fitting = self.memory.saturating_sub(self.promised) / each;
        u32::try_from(fitting).unwrap_or(self.slots).min(self.slots)
    }
}

fn is_unknown(sharing: Sharing) -> bool {
    class(sharing) == Class::Shares && sharing.memory.is_none()
}

/// Memory that a job needs for each of its slots, bytes.
fn memory_each(sharing: Sharing, ranks: u32, wanted: u32) -> u64 {
    sharing.memory.unwrap_or(0).saturating_mul(u64::from(ranks.div_ceil(wanted.max(1))))
}

/// Whether a user may submit such a job, and it can ever begin.
pub(crate) fn check(hosts: &[Host], user: &User, sharing: Sharing, ranks: u32) -> Result<(), Refusal> {
    if sharing.urgent && !user.is_root {
        return Err(Refusal::Urgent);
    }
    let Some(memory) = sharing.memory else { return Ok(()) };
    let all: u32 = hosts.iter().map(Host::slots).sum();
    let wanted = ranks.min(all).max(1);
    let each = memory_each(sharing, ranks, wanted);
    let room = |host: &Host| Place { slots: host.slots(), memory: host.memory, ..Place::default() };
    let room: u32 = hosts.iter().map(|host| room(host).fitting(each)).sum();
    let is_known = hosts.iter().all(|host| host.memory > 0);
    if is_known && room < wanted { Err(Refusal::Memory { ranks, memory }) } else { Ok(()) }
}
