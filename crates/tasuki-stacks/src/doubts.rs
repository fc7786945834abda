//! What keeps it from being certain that a job of which no message moves can never go on.

use crate::{
    calls,
    frame::{ProcessStacks, Thread},
    group::{Group, spans_in_words},
    init,
    place::{self, Place, UNKNOWN},
};
use std::collections::{BTreeMap, BTreeSet};
use tasuki_ring::stats_page::{Carrier, Snapshot};

/// The processes of a job.
pub(crate) struct Ranks<'a> {
    /// Those with a page of statistics.
    pub attached: &'a [&'a ProcessStacks],
    /// Those that have not come to Tasuki.
    pub unattached: &'a [&'a ProcessStacks],
}

impl Ranks<'_> {
    /// All of them.
    pub(crate) fn all(&self) -> impl Iterator<Item = &ProcessStacks> {
        self.attached.iter().chain(self.unattached).copied()
    }
}

/// What keeps it from being certain that no rank can go on.
pub(crate) fn doubts(
    before: &[&Snapshot],
    ranks: &Ranks<'_>,
    groups: &[Group],
    after: &[&Snapshot],
) -> Option<String> {
    let stacks = ranks.attached;
    init::not_come(ranks.unattached)
        .or_else(|| incomplete(stacks))
        .or_else(|| other_call(groups))
        .or_else(|| stacks.iter().find_map(|process| other_thread(process)))
        .or_else(|| stacks.iter().find_map(|process| called_back(process)))
        .or_else(|| standing(before, after))
        .or_else(|| untold(after))
        .or_else(|| own_memory(after))
}

/// Whether this rank waits in a function of MPI that only a message ends, and does nothing besides.
pub(crate) fn only_waits(process: &ProcessStacks, before: &Snapshot, after: &Snapshot) -> bool {
    let call = Place::of(&process.threads).call;
    call.is_some_and(|call| calls::only_messages_end(&call))
        && other_thread(process).is_none()
        && called_back(process).is_none()
        && !stands(before, after)
}

/// Hosts whose ranks may talk through shared memory of the MPI's own.
pub(crate) fn own_memory_of<'a>(pages: &[&'a Snapshot]) -> BTreeSet<&'a str> {
    let mut hosts: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
    for page in pages {
        let (ranks, shared) = hosts.entry(&page.host).or_default();
        *ranks += 1;
        *shared |= page.peers.iter().any(|peer| peer.peer.carrier == Carrier::Shm);
    }
    hosts.into_iter().filter(|(_, (ranks, shared))| *ranks > 1 && !shared).map(|(host, _)| host).collect()
}

/// Ranks that are not there could send.
fn incomplete(stacks: &[&ProcessStacks]) -> Option<String> {
    let sizes: BTreeSet<Option<u32>> = stacks.iter().map(|process| process.ranks).collect();
    let ranks: BTreeSet<u32> = stacks.iter().filter_map(|process| process.rank).collect();
    let size = match sizes.into_iter().collect::<Vec<_>>()[..] {
        [Some(size)] => size,
        [None] => return Some("how many ranks there should be is not known".into()),
        _ => return Some("ranks of several jobs are looked at together: name one".into()),
    };
    let missing = missing(size, &ranks);
    if !missing.is_empty() {
        let missing = spans_in_words(&missing);
        return Some(format!(
            "of {size} ranks these are not there: {missing}; they have ended, their MPI_Init has not come \
             to Tasuki, or they do not use it"
        ));
    }
    let processes: BTreeSet<_> = stacks.iter().map(|process| (&process.host, process.pid)).collect();
    (processes.len() != size as usize)
        .then(|| "ranks of several jobs are looked at together: name one".into())
}

/// The first and last of each span of ranks below `size` that are not there. A process says itself how many
/// ranks there are, and may say four billion.
fn missing(size: u32, there: &BTreeSet<u32>) -> Vec<(u32, u32)> {
    let (mut spans, mut next) = (Vec::new(), 0);
    for rank in there.iter().copied().take_while(|rank| *rank < size).chain([size]) {
        if rank > next {
            spans.push((next, rank - 1));
        }
        next = rank.saturating_add(1);
    }
    spans
}

/// Some functions are ended by other things than messages.
fn other_call(groups: &[Group]) -> Option<String> {
    let calls = groups.iter().filter_map(|group| group.place.call.as_deref());
    let call = calls.into_iter().find(|call| !calls::only_messages_end(call))?;
    if call == UNKNOWN {
        return Some("in which function of MPI ranks are is not known: it has no symbols".into());
    }
    Some(format!("{call} returns without a message, or waits for something else"))
}

/// A thread that runs the program's own functions could send.
fn other_thread(process: &ProcessStacks) -> Option<String> {
    let own = |thread: &Thread| {
        let is_outside = Place::of(std::slice::from_ref(thread)).call.is_none();
        let frame = thread.frames.iter().find(|frame| frame.library.is_none() && frame.function.is_some())?;
        is_outside.then(|| frame.to_string())
    };
    let frame = process.threads.iter().find_map(own)?;
    let rank = process.rank.map_or_else(|| format!("process {}", process.pid), |rank| format!("rank {rank}"));
    Some(format!("another thread of {rank} is outside MPI, in {frame}"))
}

/// A function of the program that MPI calls, such as one that reduces, ends by itself.
fn called_back(process: &ProcessStacks) -> Option<String> {
    let frame = process.threads.iter().find_map(|thread| place::called_back(&thread.frames))?;
    Some(format!("MPI has called the program's {frame}, which may return"))
}

/// A rank that is stopped would go on when it is continued.
fn standing(before: &[&Snapshot], after: &[&Snapshot]) -> Option<String> {
    let count = before.iter().zip(after).filter(|(before, after)| stands(before, after)).count();
    (count > 0).then(|| {
        format!("{count} ranks do not look for messages: they are stopped, or wait elsewhere in MPI")
    })
}

/// Whether a rank has not looked for messages.
fn stands(before: &Snapshot, after: &Snapshot) -> bool {
    before.endpoint.progress_calls == after.endpoint.progress_calls
}

/// A message between ranks that have no place on each other's pages may be under way.
fn untold(pages: &[&Snapshot]) -> Option<String> {
    let count = pages.iter().map(|page| page.peers_beyond).max().filter(|count| *count > 0)?;
    Some(format!(
        "ranks do not tell of all pairs: up to {count} others of a rank have no place on its page, so a \
         message between these may be under way"
    ))
}

/// Messages within a host may go by memory of the MPI's own.
fn own_memory(pages: &[&Snapshot]) -> Option<String> {
    let host = own_memory_of(pages).into_iter().next()?;
    Some(format!(
        "the ranks on {host} may talk through shared memory of the MPI's own, which is not seen here"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_ranks_are_found_in_the_time_that_those_take_which_are_there() {
        let of = |size, there: &[u32]| missing(size, &there.iter().copied().collect());
        assert_eq!(of(4, &[0, 1, 2, 3]), []);
        assert_eq!(of(8, &[1, 2, 5, 9]), [(0, 0), (3, 4), (6, 7)]);
        assert_eq!(of(u32::MAX, &[7]), [(0, 6), (8, u32::MAX - 1)]);
        assert_eq!(of(u32::MAX, &[u32::MAX]), [(0, u32::MAX - 1)]);
    }
}
