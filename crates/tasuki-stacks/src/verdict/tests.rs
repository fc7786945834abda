//! What is said of two ranks whose counters and functions are known.

mod users;

use super::*;
use crate::frame::{Frame, Thread};
use tasuki_ring::stats_page::{
    Carrier, EndpointRecord, Identity, Operation, OperationRecord, PeerRecord, PeerSnapshot,
};

/// The verdicts if all ranks have come to Tasuki.
fn verdicts(before: &[Snapshot], stacks: &[ProcessStacks], after: &[Snapshot]) -> Vec<Verdict> {
    super::verdicts(before, &Stacks { processes: stacks.to_vec(), ..Stacks::default() }, after)
}

/// Two ranks on hosts of their own, with what they have sent, received, hold unexpected and have pending;
/// a third argument says in which function each is.
fn job(counts: [(u64, u64, u64, u64); 2], calls: [Option<&str>; 2]) -> (Vec<Snapshot>, Vec<ProcessStacks>) {
    let page = |rank: usize| {
        let (sent, received, unexpected, pending) = counts[rank];
        let come =
            OperationRecord { operation: Operation::Unexpected, peer: Some(0), ..OperationRecord::default() };
        Snapshot {
            host: format!("n{rank}"),
            identity: Identity { address: rank.to_string(), ..Identity::default() },
            endpoint: EndpointRecord {
                messages_sent: sent,
                messages_received: received,
                unexpected,
                ..EndpointRecord::default()
            },
            peers: vec![PeerSnapshot {
                peer: PeerRecord {
                    name: (1 - rank).to_string(),
                    messages_sent: sent,
                    messages_received: received,
                    sends_pending: pending,
                    ..PeerRecord::default()
                },
                ..PeerSnapshot::default()
            }],
            operations: vec![come; unexpected as usize],
            ..Snapshot::default()
        }
    };
    let process = |rank: usize| {
        let frame = |name: &str| Frame { function: Some(name.into()), ..Frame::default() };
        let mut frames = vec![frame("main")];
        frames.splice(0..0, calls[rank].map(frame));
        ProcessStacks {
            host: format!("n{rank}"),
            rank: Some(rank as u32),
            ranks: Some(2),
            address: rank.to_string(),
            threads: vec![Thread { frames, ..Thread::default() }],
            ..ProcessStacks::default()
        }
    };
    ((0..2).map(page).collect(), (0..2).map(process).collect())
}

/// Pages as they are a moment later, if nothing has moved and ranks still look for messages.
fn later(pages: &[Snapshot]) -> Vec<Snapshot> {
    let mut pages = pages.to_vec();
    pages.iter_mut().for_each(|page| page.endpoint.progress_calls += 5);
    pages
}

fn state(counts: [(u64, u64, u64, u64); 2], calls: [Option<&str>; 2]) -> State {
    let (pages, stacks) = job(counts, calls);
    verdicts(&pages, &stacks, &later(&pages))[0].state
}

#[test]
fn only_what_no_message_can_end_is_stuck() {
    let (wait, quiet) = ([Some("MPI_Recv"), Some("MPI_Barrier")], [(3, 4, 0, 0), (4, 3, 0, 0)]);
    assert_eq!(state(quiet, wait), State::Stuck);
    assert_eq!(state(quiet, [Some("MPI_Recv"), None]), State::Late);
    assert_eq!(state(quiet, [Some("MPI_Recv"), Some("MPI_Test")]), State::Suspected, "it polls");
    assert_eq!(state([(3, 4, 0, 0), (5, 3, 0, 0)], wait), State::UnderWay, "one has not arrived");
    let sends = [Some("MPI_Send"), Some("MPI_Send")];
    assert_eq!(state([(3, 3, 1, 1), (3, 3, 1, 1)], sends), State::Stuck, "head to head");
    assert_eq!(state([(3, 3, 0, 1), (3, 3, 0, 0)], sends), State::UnderWay, "its message is not there");
}

#[test]
fn what_changes_or_stands_still_is_not_stuck() {
    let (pages, stacks) = job([(3, 4, 0, 0), (4, 3, 0, 0)], [Some("MPI_Recv"); 2]);
    let mut moved = later(&pages);
    moved[1].endpoint.messages_sent += 1;
    assert_eq!(verdicts(&pages, &stacks, &moved)[0].state, State::GoesOn);
    assert_eq!(verdicts(&pages, &stacks, &moved[..1])[0].state, State::GoesOn, "a rank has ended");
    let mut flows = later(&pages);
    flows[0].carried += 1;
    let verdict = &verdicts(&pages, &stacks, &flows)[0];
    assert_eq!(verdict.state, State::GoesOn, "a long message is not whole");
    assert!(verdict.stuck.is_empty(), "{}", verdict.why);
    assert_eq!(verdicts(&pages, &stacks, &pages)[0].state, State::Suspected, "they are stopped");
    let mut one_host = later(&pages);
    one_host.iter_mut().for_each(|page| page.host = "n1".into());
    let verdict = &verdicts(&pages, &stacks, &one_host)[0];
    assert!(verdict.state == State::Suspected && verdict.why.contains("n1"), "{}", verdict.why);
    one_host[0].peers[0].peer.carrier = Carrier::Shm;
    assert_eq!(verdicts(&pages, &stacks, &one_host)[0].state, State::Stuck);
}

#[test]
fn ranks_whose_counters_are_missing_are_told_and_the_others_count() {
    let (pages, stacks) = job([(3, 4, 0, 0), (4, 3, 0, 0)], [Some("MPI_Recv"); 2]);
    let after = later(&pages);
    let unread = |before: &[Snapshot], after: &[Snapshot]| {
        let found = verdicts(before, &stacks, after).remove(0);
        assert_eq!(found.state, State::GoesOn, "who has missed a host is to judge");
        (found.unread, found.why)
    };
    assert_eq!(unread(&pages, &after[..1]).0, ["n1"]);
    assert_eq!(unread(&pages[1..], &after).0, ["n0"]);
    assert_eq!(unread(&[], &[]).0, ["n0", "n1"]);
    let mut moved = after;
    moved[0].endpoint.messages_sent += 1;
    let (missing, why) = unread(&pages, &moved[..1]);
    assert!(missing.is_empty() && why == "messages of 1 of 2 ranks have moved meanwhile", "{why}");
}

#[test]
fn a_page_that_says_the_address_of_a_rank_is_not_taken_for_its_own() {
    let (mut pages, mut stacks) = job([(3, 4, 0, 0), (4, 3, 0, 0)], [Some("MPI_Recv"); 2]);
    for (rank, process) in stacks.iter_mut().enumerate() {
        process.pid = 40 + rank as u32;
        pages[rank].process = Some(process.pid);
    }
    let with_forged = |pages: &[Snapshot], sent| {
        let mut forged = pages[0].clone();
        (forged.pid, forged.process, forged.endpoint.messages_sent) = (40, Some(66), sent);
        [pages, &[forged]].concat()
    };
    let found = verdicts(&with_forged(&pages, 5), &stacks, &with_forged(&later(&pages), 6));
    assert_eq!(found[0].state, State::Stuck, "{}", found[0].why);
}

#[test]
fn pages_that_do_not_tell_of_all_pairs_leave_it_uncertain() {
    let (pages, stacks) = job([(3, 4, 0, 0), (4, 3, 0, 0)], [Some("MPI_Recv"); 2]);
    let mut after = later(&pages);
    assert_eq!(verdicts(&pages, &stacks, &after)[0].state, State::Stuck);
    after[1].peers_beyond = 3;
    let found = &verdicts(&pages, &stacks, &after)[0];
    assert_eq!(found.state, State::Suspected);
    assert!(found.why.contains("up to 3 others of a rank have no place on its page"), "{}", found.why);
}

#[test]
fn ranks_and_threads_that_could_send_are_looked_for() {
    let (pages, mut stacks) = job([(3, 4, 0, 0), (4, 3, 0, 0)], [Some("MPI_Recv"); 2]);
    let why = |stacks: &[ProcessStacks]| {
        let verdict = &verdicts(&pages, stacks, &later(&pages))[0];
        assert_eq!(verdict.state, State::Suspected, "{}", verdict.why);
        verdict.why.clone()
    };
    stacks.iter_mut().for_each(|process| process.ranks = Some(3));
    assert!(why(&stacks).contains("not there: 2"));
    stacks.iter_mut().for_each(|process| process.ranks = None);
    assert!(why(&stacks).contains("not known"));
    stacks.iter_mut().for_each(|process| process.ranks = Some(2));
    let frame = Frame { function: Some("worker".into()), ..Frame::default() };
    stacks[1].threads.push(Thread { frames: vec![frame], ..Thread::default() });
    assert!(why(&stacks).contains("another thread of rank 1 is outside MPI, in worker"));
}

/// A receive from the other of two ranks, with a tag, as Open MPI posts it.
fn receive(tag: u64) -> OperationRecord {
    OperationRecord { tagged: true, peer: Some(0), tag, ignore: 0b11 << 32, ..OperationRecord::default() }
}

/// Two ranks, each of which waits for the other one, with nothing under way.
fn circle() -> (Vec<Snapshot>, Vec<ProcessStacks>) {
    let (mut pages, stacks) = job([(3, 3, 0, 0); 2], [Some("MPI_Recv"); 2]);
    for page in &mut pages {
        page.operations = vec![receive(7)];
        page.endpoint.operations_complete = true;
    }
    (pages, stacks)
}

#[test]
fn who_waits_for_whom_is_said() {
    let (pages, stacks) = circle();
    let verdict = &verdicts(&pages, &stacks, &later(&pages))[0];
    assert_eq!((verdict.state, verdict.circle.as_slice()), (State::Stuck, &[0, 1][..]));
    assert_eq!(verdict.waits[0].operations, ["for a message from rank 1 with tag 7"]);
    assert!(verdict.advice[0].ends_with("0 for 1, 1 for 0"), "{:?}", verdict.advice);
}

#[test]
fn two_ranks_may_be_stuck_although_others_go_on() {
    let (mut pages, mut stacks) = circle();
    for rank in 2..4_u32 {
        let mut page = pages[0].clone();
        (page.identity.address, page.host) = (rank.to_string(), format!("n{rank}"));
        page.peers[0].peer = PeerRecord { name: "1".into(), ..PeerRecord::default() };
        pages.push(page);
        let address = rank.to_string();
        stacks.push(ProcessStacks { rank: Some(rank), address, ..stacks[0].clone() });
    }
    stacks.iter_mut().for_each(|process| process.ranks = Some(4));
    let mut after = later(&pages);
    after[2].endpoint.messages_sent += 9;
    let verdict = &verdicts(&pages, &stacks, &after)[0];
    assert_eq!(verdict.state, State::Stuck, "{}", verdict.why);
    assert_eq!(Vec::from_iter(verdict.stuck.clone()), [0, 1, 3], "rank 3 waits for rank 1");
    assert!(verdict.why.starts_with("ranks 0-1,3 can never go on"), "{}", verdict.why);
    // A long message that moves ends it, and so does one for one of them that has not arrived.
    let mut flows = after.clone();
    flows[1].carried += 1;
    assert_eq!(verdicts(&pages, &stacks, &flows)[0].state, State::GoesOn);
    after[0].peers[0].peer.messages_sent += 1;
    pages[0].peers[0].peer.messages_sent += 1;
    assert_eq!(verdicts(&pages, &stacks, &after)[0].state, State::GoesOn);
}

#[test]
fn what_nobody_can_send_any_more_is_told() {
    let (pages, mut stacks) = circle();
    stacks[1].threads[0].frames[0].function = Some("MPI_Finalize".into());
    let verdict = &verdicts(&pages, &stacks, &later(&pages))[0];
    assert_eq!(verdict.state, State::Stuck);
    assert!(verdict.why.contains("rank 1 has called MPI_Finalize"), "{}", verdict.why);
    stacks[0].threads[0].frames[0].function = Some("MPI_Finalize".into());
    assert_eq!(verdicts(&pages, &stacks, &later(&pages))[0].state, State::Suspected, "that is the end");
}

/// Frames of a rank in MPI_Init, innermost first, of which these are the innermost ones.
fn in_init(inner: &[&str]) -> Vec<Thread> {
    let names = inner.iter().chain(&["ompi_mpi_init", "MPI_Init", "main"]);
    let frames = names.map(|name| Frame { function: Some((*name).into()), ..Frame::default() });
    vec![Thread { frames: frames.collect(), ..Thread::default() }]
}

#[test]
fn a_rank_that_its_launcher_has_not_answered_is_told() {
    let (pages, stacks) = job([(0, 0, 0, 0); 2], [Some("MPI_Init"), None]);
    let waits = ProcessStacks {
        address: String::new(),
        pid: 812,
        threads: in_init(&["poll", "PMIx_Init"]),
        ..stacks[1].clone()
    };
    let here = |unattached: &ProcessStacks| Stacks {
        processes: stacks[..1].to_vec(),
        unattached: vec![unattached.clone()],
        ..Stacks::default()
    };
    let verdict = |stacks: &Stacks| {
        let found = super::verdicts(&pages[..1], stacks, &later(&pages[..1]));
        assert_eq!((found.len(), found[0].processes), (1, 2));
        (found[0].state, found[0].why.clone(), found[0].advice.concat())
    };
    let (state, why, advice) = verdict(&here(&waits));
    assert_eq!(state, State::Suspected);
    let said = "rank 1 has not come to Tasuki: process 812 on n1 is in MPI_Init and waits for its launcher, \
                in PMIx_Init";
    assert!(why.ends_with(said), "{why}");
    assert!(advice.contains("start the program again"), "{advice}");
    let reads = ProcessStacks { threads: stacks[1].threads.clone(), ..waits.clone() };
    let (state, why, advice) = verdict(&here(&reads));
    assert_eq!((state, advice.as_str()), (State::Late, ""));
    assert!(why.ends_with("wait for rank 1, outside MPI"), "{why}");
    // Over TCP it never comes.
    let frame = Frame { function: Some("MPI_Recv".into()), ..Frame::default() };
    let threads = vec![Thread { frames: vec![frame], ..Thread::default() }];
    let (_, why, _) = verdict(&here(&ProcessStacks { threads, ..waits.clone() }));
    assert!(why.ends_with("process 812 on n1 is in MPI_Recv, and does not use Tasuki"), "{why}");
}

#[test]
fn a_job_of_which_no_rank_has_come_is_told_if_one_is_in_mpi_init() {
    let (_, stacks) = job([(0, 0, 0, 0); 2], [None; 2]);
    let of = |threads: [Vec<Thread>; 2]| {
        let process = |(rank, threads): (usize, Vec<Thread>)| ProcessStacks {
            address: String::new(),
            threads,
            ..stacks[rank].clone()
        };
        let unattached = threads.into_iter().enumerate().map(process).collect();
        super::verdicts(&[], &Stacks { unattached, ..Stacks::default() }, &[])
    };
    let found = of([in_init(&["PMI_Barrier"]), in_init(&["PMI_Barrier"])]);
    let why = "no message moves, and none is under way; but ranks 0-1 have not come to Tasuki: process 0 on \
               n0 is in MPI_Init and waits for its launcher, in PMI_Barrier";
    assert_eq!((found[0].state, found[0].why.as_str()), (State::Suspected, why));
    assert!(of([stacks[0].threads.clone(), stacks[1].threads.clone()]).is_empty(), "it may be over TCP");
}
