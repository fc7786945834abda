//! The records of all ranks as one trace.

use std::collections::{HashMap, VecDeque};

use crate::error::JoinError;
use crate::part::Part;
use crate::record::{Message, Name, Record};

/// The direction of a message, as its rank sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The rank sent it.
    Send,
    /// The rank received it.
    Receive,
}

/// A message at one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its direction.
    pub direction: Direction,
    /// The other rank.
    pub peer: u32,
    /// Length.
    pub bytes: u64,
    /// Computing since the event before, ns.
    pub compute: u64,
    /// When, ns since this rank's first event.
    pub at: u64,
}

/// What recorded messages have no place in the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Sends that no rank has received, or that went to no rank.
    pub sends: u64,
    /// Receives of which no rank has recorded the send.
    pub receives: u64,
    /// One-sided operations.
    pub one_sided: u64,
    /// Ranks whose records end early, because they did not close their endpoints.
    pub unfinished: u32,
}

/// A trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// Events by rank, in order. The k-th receive of a rank from another is the k-th send of that one to it.
    pub ranks: Vec<Vec<Event>>,
    /// Computing after the last event by rank, ns.
    pub ends: Vec<u64>,
    /// What is not in the trace.
    pub left_out: LeftOut,
}

/// An event before it is matched.
struct Draft {
    direction: Direction,
    peer: Option<u32>,
    message: Message,
}

/// Joins the parts of a job. Parts of one rank, which has had several endpoints, are put in order of time.
///
/// # Errors
/// If there is no part, or ranks are missing or unknown.
pub fn join(parts: &[Part]) -> Result<Joined, JoinError> {
    let size = ranks(parts)?;
    let names: HashMap<Name, u32> =
        parts.iter().filter_map(|part| Some((part.head.name, part.head.rank?))).collect();
    let mut left_out = LeftOut::default();
    let mut drafts: Vec<Vec<Draft>> = (0..size).map(|_| Vec::new()).collect();
    let mut closings: Vec<Option<u64>> = vec![None; size];
    for part in parts {
        let rank = part.head.rank.ok_or(JoinError::NoRank)? as usize;
        let closed = add_part(part, &names, &mut drafts[rank], &mut left_out);
        left_out.unfinished += u32::from(closed.is_none());
        closings[rank] = closings[rank].max(closed);
    }
    for rank in &mut drafts {
        rank.sort_by_key(|draft| draft.message.at);
    }
    let keep = matched(&drafts, &mut left_out);
    let lengths = lengths(&drafts, &keep);
    let both = drafts.iter().zip(&keep).enumerate();
    let (ranks, ends) = both.map(|(rank, (drafts, keep))| events(rank, drafts, keep, &lengths)).unzip();
    let ends = add_closings(ends, &closings);
    Ok(Joined { ranks, ends, left_out })
}

/// Number of ranks.
fn ranks(parts: &[Part]) -> Result<usize, JoinError> {
    let all: Option<Vec<u32>> = parts.iter().map(|part| part.head.rank).collect();
    let mut all = all.ok_or(JoinError::NoRank)?;
    all.sort_unstable();
    all.dedup();
    let last = *all.last().ok_or(JoinError::Nothing)?;
    match (0..).zip(&all).find(|(expected, rank)| expected != *rank) {
        Some((missing, _)) => Err(JoinError::Missing(missing, last)),
        None => Ok(all.len()),
    }
}

/// Adds the messages of a part. Returns what was computed before the endpoint was closed, if it was closed.
fn add_part(
    part: &Part,
    names: &HashMap<Name, u32>,
    drafts: &mut Vec<Draft>,
    left_out: &mut LeftOut,
) -> Option<u64> {
    let mut peers: HashMap<u32, u32> = HashMap::new();
    let mut closed = None;
    for record in &part.records {
        let (direction, message) = match *record {
            Record::Peer { peer, name } => {
                match names.get(&name) {
                    Some(rank) => peers.insert(peer, *rank),
                    None => peers.remove(&peer),
                };
                continue;
            }
            Record::End { compute, one_sided, .. } => {
                left_out.one_sided += one_sided;
                closed = Some(compute);
                continue;
            }
            Record::Send(message) => (Direction::Send, message),
            Record::Receive(message) => (Direction::Receive, message),
        };
        drafts.push(Draft { direction, peer: peers.get(&message.peer).copied(), message });
    }
    closed
}

/// What a receive and its send have in common: sender, receiver, tag, length.
type Key = (u32, u32, Option<u64>, u64);

/// Which events have their other end. Messages of a pair that are equal in tag and length are taken in the
/// order of their sending: libfabric matches them so.
fn matched(drafts: &[Vec<Draft>], left_out: &mut LeftOut) -> Vec<Vec<bool>> {
    let mut keep: Vec<Vec<bool>> = drafts.iter().map(|rank| vec![false; rank.len()]).collect();
    let mut sends: HashMap<Key, VecDeque<usize>> = HashMap::new();
    for (rank, place, draft, peer) in peers_of(drafts, Direction::Send) {
        sends.entry((rank, peer, draft.message.tag, draft.message.bytes)).or_default().push_back(place);
    }
    for (rank, place, draft, peer) in peers_of(drafts, Direction::Receive) {
        let key = (peer, rank, draft.message.tag, draft.message.bytes);
        if let Some(send) = sends.get_mut(&key).and_then(VecDeque::pop_front) {
            keep[peer as usize][send] = true;
            keep[rank as usize][place] = true;
        }
    }
    for (drafts, keep) in drafts.iter().zip(&keep) {
        for (draft, _) in drafts.iter().zip(keep).filter(|(_, keep)| !**keep) {
            match draft.direction {
                Direction::Send => left_out.sends += 1,
                Direction::Receive => left_out.receives += 1,
            }
        }
    }
    keep
}

/// All events of one direction whose other rank is known: rank, place among the rank's events, event, other
/// rank.
fn peers_of(drafts: &[Vec<Draft>], direction: Direction) -> impl Iterator<Item = (u32, usize, &Draft, u32)> {
    let ranks = (0u32..).zip(drafts);
    ranks.flat_map(move |(rank, drafts)| {
        let all = drafts.iter().enumerate().filter(move |(_, draft)| draft.direction == direction);
        all.filter_map(move |(place, draft)| Some((rank, place, draft, draft.peer?)))
    })
}

/// The lengths of the messages of every pair of sender and receiver that have both ends, in the order of
/// their sending.
fn lengths(drafts: &[Vec<Draft>], keep: &[Vec<bool>]) -> HashMap<(u32, u32), Vec<u64>> {
    let mut lengths: HashMap<(u32, u32), Vec<u64>> = HashMap::new();
    for (rank, place, draft, peer) in peers_of(drafts, Direction::Send) {
        if keep[rank as usize][place] {
            lengths.entry((rank, peer)).or_default().push(draft.message.bytes);
        }
    }
    lengths
}

/// The events of a rank that have both ends, and the computing of those after the last of them. Computing of
/// an event that is left out goes to the next one. A message that passed another one of its pair stands in
/// the order of sending.
fn events(
    rank: usize,
    drafts: &[Draft],
    keep: &[bool],
    lengths: &HashMap<(u32, u32), Vec<u64>>,
) -> (Vec<Event>, u64) {
    let mut events = Vec::new();
    let mut received: HashMap<u32, usize> = HashMap::new();
    let first = drafts.first().map_or(0, |draft| draft.message.at);
    let (mut compute, mut before) = (0u64, first);
    for (draft, keep) in drafts.iter().zip(keep) {
        // Endpoints of one process see the same computing: no more of it than time has passed.
        let at = draft.message.at;
        compute += draft.message.compute.min(at.saturating_sub(before));
        before = at;
        let (true, Some(peer)) = (*keep, draft.peer) else { continue };
        let bytes = match draft.direction {
            Direction::Send => draft.message.bytes,
            Direction::Receive => {
                let number = received.entry(peer).or_default();
                *number += 1;
                lengths[&(peer, rank as u32)][*number - 1]
            }
        };
        let compute = std::mem::take(&mut compute);
        events.push(Event { direction: draft.direction, peer, bytes, compute, at: at - first });
    }
    (events, compute)
}

fn add_closings(ends: Vec<u64>, closings: &[Option<u64>]) -> Vec<u64> {
    ends.into_iter().zip(closings).map(|(end, closing)| end + closing.unwrap_or(0)).collect()
}

#[cfg(test)]
#[path = "join_tests.rs"]
mod tests;
