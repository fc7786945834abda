//! The first job that finds no slots, and which others may pass it.

use crate::{
    entry::Entry,
    floor::{Floor, Room},
    hosts::Host,
};
use tasuki_control::{JobId, Sharing};

/// The first job that finds no slots, and what others may have meanwhile.
pub(crate) struct Gate {
    pub job: JobId,
    sharing: Sharing,
    ranks: u32,
    /// Slots that it wants.
    wanted: u32,
    /// When it finds its slots, if every job runs as long as it may; `None`: some have no limit.
    until: Option<u64>,
    /// What is still taken then, also by those that pass.
    floor: Floor,
}

impl Gate {
    /// Whether a job may pass that finds this room, and takes it.
    pub fn admit(&mut self, hosts: &[Host], now: u64, entry: &Entry, room: &Room) -> bool {
        let (Some(until), Some(work)) = (self.until, &entry.work) else { return false };
        let timeout = entry.view.terms.timeout;
        if timeout.is_some_and(|timeout| now.saturating_add(timeout) <= until) {
            return true;
        }
        let (hosts, parts) = room.parts(hosts, work);
        let places = hosts.into_iter().zip(&parts).map(|(host, part)| (host, part.ranks.len() as u32));
        let mut floor = self.floor.clone();
        floor.add_at(entry.sharing(), room.row, places);
        let stays = self.finds_room(&floor);
        if stays {
            self.floor = floor;
        }
        stays
    }

    /// Whether the job finds its slots on such a floor.
    fn finds_room(&self, floor: &Floor) -> bool {
        floor.room(self.sharing, self.ranks, self.wanted).sum() >= self.wanted
    }
}

/// When a job finds the slots that it wants at the latest, and what is still taken then. `floor`: what `jobs`
/// have taken now.
pub(crate) fn gate_of<'a>(
    jobs: impl Iterator<Item = &'a Entry>,
    floor: Floor,
    now: u64,
    entry: &Entry,
    wanted: u32,
) -> Gate {
    let (job, sharing, ranks) = (entry.view.id, entry.sharing(), entry.view.ranks);
    let mut gate = Gate { job, sharing, ranks, wanted, until: None, floor };
    let running = jobs.filter(|entry| entry.is_resident());
    let mut ends: Vec<(u64, &Entry)> =
        running.filter_map(|entry| Some((ends_by(now, entry)?, entry))).collect();
    ends.sort_unstable_by_key(|(end, entry)| (*end, entry.view.id));
    for (end, entry) in ends {
        if gate.until.is_some_and(|until| until < end) {
            break;
        }
        gate.floor.remove(entry);
        if gate.until.is_none() && gate.finds_room(&gate.floor) {
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
