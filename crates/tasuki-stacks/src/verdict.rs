//! Whether a job goes on, whom it waits for, and whether it ever can.
//!
//! The counters of all ranks are read twice, and where each rank is in between. If no counter has changed, as
//! many messages have arrived as were sent, and every send that is open has its message waiting at the other
//! end, then nothing is under way (F. Mattern, "Algorithms for distributed termination detection", 1987, the
//! four counter method). If besides every rank waits in a function of MPI that only a message can end, no
//! rank can send one.

use crate::{calls, doubts::doubts, frame::ProcessStacks, group::Group};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tasuki_ring::stats_page::Snapshot;

/// More bytes than this on the cables are content. Ranks that only wait exchange a few packets, to see
/// whether their peers live.
const IDLE_BYTES_MAX: u64 = 64 << 10;

/// What is said of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Messages move.
    GoesOn,
    /// No message moves: ranks wait in MPI for others that are elsewhere.
    Late,
    /// No message moves, although some are under way.
    UnderWay,
    /// No message moves, and it looks as if none could; something keeps this from being certain.
    Suspected,
    /// No message moves, and none ever will.
    Stuck,
}

/// What is said of the ranks of one job, or of all ranks outside the resident runtime: they may belong
/// together although they run different programs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The job of the resident runtime.
    pub job: Option<String>,
    /// The programs' names.
    pub program: String,
    /// How many processes there are.
    pub processes: usize,
    /// What is said.
    pub state: State,
    /// Why, in words.
    pub why: String,
    /// What to look for, in words.
    pub advice: Vec<String>,
    /// Where the ranks are.
    pub groups: Vec<Group>,
}

/// The verdicts of all jobs, from pages that were read before and after the stacks.
pub fn verdicts<'a>(before: &'a [Snapshot], stacks: &[ProcessStacks], after: &'a [Snapshot]) -> Vec<Verdict> {
    let mut jobs: BTreeMap<_, Vec<&ProcessStacks>> = BTreeMap::new();
    for process in stacks {
        jobs.entry(process.job.clone()).or_default().push(process);
    }
    let (before, after) = (by_address(before), by_address(after));
    let verdict = |(job, processes): (Option<String>, Vec<&ProcessStacks>)| {
        let groups = Group::of(processes.iter().copied());
        let pages = |of: &HashMap<&str, &'a Snapshot>| -> Option<Vec<&'a Snapshot>> {
            processes.iter().map(|process| of.get(process.address.as_str()).copied()).collect()
        };
        let (state, why) = match pages(&before).zip(pages(&after)) {
            Some((before, after)) => judge(&before, &processes, &groups, &after),
            None => (State::GoesOn, "ranks have come or gone meanwhile".into()),
        };
        let advice = if state == State::GoesOn { Vec::new() } else { calls::advice(&groups) };
        let programs: BTreeSet<&str> = processes.iter().map(|process| process.program.as_str()).collect();
        let program = programs.into_iter().collect::<Vec<_>>().join(", ");
        Verdict { job, program, processes: processes.len(), state, why, advice, groups }
    };
    jobs.into_iter().map(verdict).collect()
}

fn by_address(pages: &[Snapshot]) -> HashMap<&str, &Snapshot> {
    pages.iter().map(|page| (page.identity.address.as_str(), page)).collect()
}

/// Of one job, whose ranks have the same place in all lists.
fn judge(
    before: &[&Snapshot],
    stacks: &[&ProcessStacks],
    groups: &[Group],
    after: &[&Snapshot],
) -> (State, String) {
    let counts = |page: &Snapshot| {
        let all = &page.endpoint;
        let sent = (all.messages_sent, all.messages_received, all.bytes_sent, all.bytes_received);
        (sent, all.receives_posted, all.unexpected, page.sends_pending())
    };
    let moved = before.iter().zip(after).filter(|(before, after)| counts(before) != counts(after)).count();
    if moved > 0 {
        return (
            State::GoesOn,
            format!("messages of {moved} of {} ranks have moved meanwhile", stacks.len()),
        );
    }
    let bytes = on_the_cables(after).saturating_sub(on_the_cables(before));
    if bytes > IDLE_BYTES_MAX {
        return (State::GoesOn, format!("{bytes} bytes have gone over the cables meanwhile"));
    }
    let unknown = stacks.iter().filter(|process| process.problem.is_some()).count();
    if unknown > 0 {
        let why = format!("no message moves; where {unknown} of {} ranks are is not known", stacks.len());
        return (State::Suspected, why);
    }
    let outside: Vec<&Group> = groups.iter().filter(|group| group.place.call.is_none()).collect();
    if !outside.is_empty() {
        let why = match outside.len() == groups.len() {
            true => "no message moves: no rank is in MPI, they compute or wait for something else".into(),
            false => {
                let who: Vec<String> = outside.iter().map(|group| group.who()).collect();
                format!("no message moves: the others may wait for {}, outside MPI", who.join(" and "))
            }
        };
        return (State::Late, why);
    }
    let total = |of: fn(&Snapshot) -> u64| after.iter().map(|page| of(page)).sum::<u64>();
    let sent = total(|page| page.endpoint.messages_sent);
    let received = total(|page| page.endpoint.messages_received);
    let (pending, unexpected) = (total(Snapshot::sends_pending), total(|page| page.endpoint.unexpected));
    if sent != received || pending > unexpected {
        let why = format!(
            "no message has come meanwhile: {sent} were sent and {received} have arrived, {pending} sends \
             are not complete, and {unexpected} messages wait for a receive; they are long, or do not arrive"
        );
        return (State::UnderWay, why);
    }
    match doubts(before, stacks, groups, after) {
        Some(doubt) => (State::Suspected, format!("no message moves, and none is under way; but {doubt}")),
        None => {
            let why =
                "no message moves, none is under way, and every rank waits in MPI for one: it cannot go on";
            (State::Stuck, why.into())
        }
    }
}

/// Bytes of packets that all ranks have received from other hosts.
fn on_the_cables(pages: &[&Snapshot]) -> u64 {
    let rails = pages.iter().flat_map(|page| &page.peers).flat_map(|peer| &peer.rails);
    rails.map(|rail| rail.bytes_received).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Frame, Thread};
    use tasuki_ring::stats_page::{Carrier, EndpointRecord, Identity, PeerRecord, PeerSnapshot};

    /// Two ranks on hosts of their own, with what they have sent, received, hold unexpected and have pending;
    /// a third argument says in which function each is.
    fn job(
        counts: [(u64, u64, u64, u64); 2],
        calls: [Option<&str>; 2],
    ) -> (Vec<Snapshot>, Vec<ProcessStacks>) {
        let page = |rank: usize| {
            let (sent, received, unexpected, pending) = counts[rank];
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
                    peer: PeerRecord { sends_pending: pending, ..PeerRecord::default() },
                    ..PeerSnapshot::default()
                }],
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
        assert_eq!(verdicts(&pages, &stacks, &pages)[0].state, State::Suspected, "they are stopped");
        let mut one_host = later(&pages);
        one_host.iter_mut().for_each(|page| page.host = "n1".into());
        let verdict = &verdicts(&pages, &stacks, &one_host)[0];
        assert!(verdict.state == State::Suspected && verdict.why.contains("n1"), "{}", verdict.why);
        one_host[0].peers[0].peer.carrier = Carrier::Shm;
        assert_eq!(verdicts(&pages, &stacks, &one_host)[0].state, State::Stuck);
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
}
