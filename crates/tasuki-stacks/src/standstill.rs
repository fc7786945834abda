//! Ranks of one job that can never go on, whatever the others do.

use crate::{
    calls,
    doubts::{only_waits, own_memory_of},
    envelope::Layout,
    frame::ProcessStacks,
    graph::{self, Rank},
    place::Place,
    waits::{Names, Wait, wait},
};
use std::collections::{BTreeMap, BTreeSet};
use tasuki_ring::stats_page::{Operation, Snapshot};

/// The ranks that wait for others, and those of them that can never go on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standstill {
    /// What each rank in MPI waits for, by rank.
    pub waits: Vec<Wait>,
    /// The ranks that can never go on.
    pub stuck: BTreeSet<u32>,
    /// Some of these, each of which waits for the next one, and the last one for the first one.
    pub circle: Vec<u32>,
    /// Ranks that are in the last function of MPI.
    pub ended: BTreeSet<u32>,
}

/// Of one job, whose ranks have the same place in all lists.
pub(crate) fn standstill(before: &[&Snapshot], stacks: &[&ProcessStacks], after: &[&Snapshot]) -> Standstill {
    let names: Names<'_> =
        stacks.iter().filter_map(|process| Some((process.address.as_str(), process.rank?))).collect();
    let ranks: BTreeSet<u32> = names.values().copied().collect();
    // Without one endpoint for each rank of one job nobody knows whose messages are whose.
    let is_one_job = ranks.len() == stacks.len()
        && stacks.iter().all(|process| process.ranks.is_some_and(|all| all as usize == stacks.len()));
    let layout = Layout::of(after.iter().copied());
    let own_memory = own_memory_of(after);
    let mut found = Standstill::default();
    let mut graph = BTreeMap::new();
    for ((old, process), page) in before.iter().zip(stacks).zip(after) {
        let Some(rank) = process.rank else { continue };
        let call = Place::of(&process.threads).call;
        // Ranks of its host may wake it through memory that is not seen.
        let is_seen = !own_memory.contains(page.host.as_str());
        let is_still = is_seen && tells_same(old, page) && !is_under_way(page, after);
        let wait = call.is_some().then(|| wait(rank, page, &names, layout));
        let state = match (&call, &wait) {
            (Some(call), _) if is_still && call == calls::LAST => Rank::Ended,
            (Some(_), Some(wait)) if is_still && only_waits(process, old, page) => match &wait.whom {
                Some(whom) => Rank::Waits(whom.clone()),
                None => Rank::WaitsForAny,
            },
            _ => Rank::Free,
        };
        if state == Rank::Ended {
            found.ended.insert(rank);
        }
        found.waits.extend(wait.filter(|_| state != Rank::Ended));
        graph.insert(rank, state);
    }
    found.waits.sort_by_key(|wait| wait.rank);
    if is_one_job {
        found.stuck = graph::stuck(&graph);
        found.circle = graph::circle(&graph, &found.stuck);
    }
    found
}

/// Whether a rank has sent and received nothing between two looks, and waits for the same as before.
fn tells_same(before: &Snapshot, after: &Snapshot) -> bool {
    let moved = |page: &Snapshot| {
        let all = &page.endpoint;
        (all.messages_sent, all.messages_received, all.bytes_sent, all.bytes_received, page.carried)
    };
    moved(before) == moved(after)
        && before.operations == after.operations
        && before.endpoint.operations_complete == after.endpoint.operations_complete
}

/// Whether a message to the rank with this page has not arrived, or not all of it; or may not have, as pages
/// do not tell of all pairs.
fn is_under_way(to: &Snapshot, all: &[&Snapshot]) -> bool {
    if all.iter().any(|page| page.peers_beyond > 0) {
        return true;
    }
    let address = to.identity.address.as_str();
    all.iter().filter(|from| from.identity.address != address).any(|from| {
        let Some(sent) = from.peers.iter().find(|peer| peer.peer.name == address) else { return false };
        let here = to.peers.iter().find(|peer| peer.peer.name == from.identity.address);
        let received = here.map_or(0, |peer| peer.peer.messages_received);
        let waiting = here.map_or(0, |here| {
            let is_its = |peer: Option<u32>| peer.is_some_and(|peer| peer as usize == here.index);
            to.operations
                .iter()
                .filter(|operation| operation.operation == Operation::Unexpected && is_its(operation.peer))
                .count() as u64
        });
        sent.peer.messages_sent != received || sent.peer.sends_pending > waiting
    })
}
