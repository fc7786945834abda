//! The first job that finds no slots, and which others may pass it.

use crate::{
    entry::Entry,
    floor::{Floor, Room},
    queue::Queue,
};
use tasuki_control::{JobId, Sharing};

/// The first job that finds no slots, and what others may have meanwhile.
pub(crate) struct Gate {
    pub job: JobId,
    sharing: Sharing,
    ranks: u32,
    /// When it finds its slots, if every job runs as long as it may; `None`: some have no limit.
    until: Option<u64>,
    /// What is still taken then, also by those that pass.
    floor: Floor,
}

impl Gate {
    /// Whether a job may pass that finds this room, and takes it.
    pub fn admit(&mut self, queue: &Queue, now: u64, entry: &Entry, room: &Room) -> bool {
        let (Some(until), Some(work)) = (self.until, &entry.work) else { return false };
        let timeout = entry.view.terms.timeout;
        if timeout.is_some_and(|timeout| now.saturating_add(timeout) <= until) {
            return true;
        }
        let (hosts, parts) = queue.parts(work, room);
        let mut passing = entry.clone();
        (passing.hosts, passing.view.parts, passing.row) = (hosts, parts, room.row);
        let mut floor = self.floor.clone();
        floor.add(&passing);
        let stays = self.finds_room(queue, &floor);
        if stays {
            self.floor = floor;
        }
        stays
    }

    /// Whether the job finds its slots on such a floor.
    fn finds_room(&self, queue: &Queue, floor: &Floor) -> bool {
        let wanted = queue.slots_wanted(self.ranks);
        floor.room(self.sharing, self.ranks, wanted).sum() >= wanted
    }
}

/// When a job finds its slots at the latest, and what is still taken then.
pub(crate) fn gate_of(queue: &Queue, now: u64, entry: &Entry) -> Gate {
    let floor = Floor::now(queue);
    let (job, sharing, ranks) = (entry.view.id, entry.sharing(), entry.view.ranks);
    let mut gate = Gate { job, sharing, ranks, until: None, floor };
    let running = queue.jobs.values().filter(|entry| entry.is_resident());
    let mut ends: Vec<(u64, &Entry)> =
        running.filter_map(|entry| Some((ends_by(now, entry)?, entry))).collect();
    ends.sort_unstable_by_key(|(end, entry)| (*end, entry.view.id));
    for (end, entry) in ends {
        if gate.until.is_some_and(|until| until < end) {
            break;
        }
        gate.floor.remove(entry);
        if gate.until.is_none() && gate.finds_room(queue, &gate.floor) {
            gate.until = Some(end);
        }
    }
    gate
}

/// When a job that runs is over at the latest; `None`: that is not known.
fn ends_by(now: u64, entry: &Entry) -> Option<u64> {
    match entry.ending {
        true => Some(now),
        false => entry.deadline().map(|end| end.max(now)),
    }
}
