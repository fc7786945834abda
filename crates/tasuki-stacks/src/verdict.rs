//! Whether a job goes on, whom it waits for, and whether it ever can.
//!
//! The counters of all ranks are read twice, and where each rank is in between. If no counter has changed, as
//! many messages have arrived as were sent, and every send that is open has its message waiting at the other
//! end, then nothing is under way (F. Mattern, "Algorithms for distributed termination detection", 1987, the
//! four counter method). If besides every rank waits in a function of MPI that only a message can end, no
//! rank can send one.

use crate::{
    calls,
    doubts::{Ranks, doubts},
    frame::ProcessStacks,
    gather::Stacks,
    group::{Group, noun_and_ranks},
    init,
    jobs::SharedNames,
    standstill::{Standstill, standstill},
    waits::Wait,
};
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
    /// Its user, where processes of several users say that their job has this name.
    pub user: Option<String>,
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
    /// The ranks that can never go on, whatever the others do.
    pub stuck: BTreeSet<u32>,
    /// Some of these, each of which waits for the next one, and the last one for the first one.
    pub circle: Vec<u32>,
    /// What each rank that is in MPI waits for, by rank; none if messages move.
    pub waits: Vec<Wait>,
    /// Where the ranks are.
    pub groups: Vec<Group>,
    /// The hosts of ranks whose counters are not known, a name for each rank; none where messages move.
    #[serde(skip)]
    pub unread: Vec<String>,
}

/// Pages by the addresses of their endpoints and, as a page may say the address of any other, by the numbers
/// of their processes; and by addresses alone, for processes whose numbers are not known.
type Pages<'a> = HashMap<(&'a str, Option<u32>), &'a Snapshot>;

/// The page of a process.
fn page_of<'a, 'k>(
    pages: &HashMap<(&'k str, Option<u32>), &'a Snapshot>,
    process: &'k ProcessStacks,
) -> Option<&'a Snapshot> {
    let of = |pid| pages.get(&(process.address.as_str(), pid)).copied();
    of(Some(process.pid)).or_else(|| of(None))
}

/// The verdicts of all jobs, from pages that were read before and after the stacks. A job of which no rank
/// has come to Tasuki is among them if one is in MPI_Init: others do not use it.
pub fn verdicts<'a>(before: &'a [Snapshot], stacks: &Stacks, after: &'a [Snapshot]) -> Vec<Verdict> {
    let shared = SharedNames::among(stacks.all().map(ProcessStacks::claim));
    let mut jobs: BTreeMap<_, Vec<&ProcessStacks>> = BTreeMap::new();
    for process in &stacks.processes {
        jobs.entry(shared.key(process)).or_default().push(process);
    }
    for process in stacks.unattached.iter().filter(|process| init::is_in_init(process)) {
        jobs.entry(shared.key(process)).or_default();
    }
    let (before, after) = (by_address(before), by_address(after));
    let verdict = |(key, processes): ((Option<String>, Option<String>), Vec<&ProcessStacks>)| {
        let unattached: Vec<&ProcessStacks> =
            stacks.unattached.iter().filter(|process| shared.key(process) == key).collect();
        let groups = Group::of(processes.iter().chain(&unattached).copied());
        let pages = |of: &Pages<'a>| -> Option<Vec<&'a Snapshot>> {
            processes.iter().map(|process| page_of(of, process)).collect()
        };
        let all = processes.iter().chain(&unattached);
        let programs: BTreeSet<&str> = all.map(|process| process.program.as_str()).collect();
        let mut found = Verdict {
            program: programs.into_iter().collect::<Vec<_>>().join(", "),
            processes: processes.len() + unattached.len(),
            ..Verdict::new(key)
        };
        match pages(&before).zip(pages(&after)) {
            Some((before, after)) => {
                let ranks = Ranks { attached: &processes, unattached: &unattached };
                (found.state, found.why) = judge(&before, &ranks, &groups, &after);
                found.consider(standstill(&before, &processes, &after));
            }
            None => found.consider_some(&processes, &before, &after),
        }
        if found.state != State::GoesOn {
            let is_told = found.waits.iter().any(|wait| !wait.reasons.is_empty());
            found.advice.extend(calls::advice(&groups, is_told));
            found.advice.extend(init::advice(&unattached));
        }
        found.groups = groups;
        found
    };
    jobs.into_iter().map(verdict).collect()
}

impl Verdict {
    fn new((job, user): (Option<String>, Option<String>)) -> Self {
        Self {
            job,
            user,
            program: String::new(),
            processes: 0,
            state: State::GoesOn,
            why: "ranks have come or gone meanwhile".into(),
            advice: Vec::new(),
            stuck: BTreeSet::new(),
            circle: Vec::new(),
            waits: Vec::new(),
            groups: Vec::new(),
            unread: Vec::new(),
        }
    }

    /// Pages of some ranks are missing: what the others say counts if their messages move.
    fn consider_some(&mut self, processes: &[&ProcessStacks], before: &Pages<'_>, after: &Pages<'_>) {
        let pages = |process: &ProcessStacks| Some((page_of(before, process)?, page_of(after, process)?));
        let (old, new): (Vec<_>, Vec<_>) = processes.iter().filter_map(|process| pages(process)).unzip();
        match movement(&old, &new, processes.len()) {
            Some(why) => self.why = why,
            None => {
                let unread = processes.iter().filter(|process| pages(process).is_none());
                self.unread = unread.map(|process| process.host.clone()).collect();
            }
        }
    }

    /// Adds who waits for whom. Some ranks may wait for ever although the others go on.
    fn consider(&mut self, found: Standstill) {
        if !found.stuck.is_empty() {
            let who = |ranks: &BTreeSet<u32>| noun_and_ranks(&Vec::from_iter(ranks.iter().copied()));
            let count = found.stuck.len() + found.ended.len();
            self.why = match (count == self.processes, found.ended.is_empty()) {
                (true, true) => STUCK.into(),
                (true, false) => format!(
                    "{} waits in MPI for a message that nobody can send: {} has called {}",
                    who(&found.stuck),
                    who(&found.ended),
                    calls::LAST
                ),
                (false, _) => format!(
                    "{} can never go on: what could end the waiting, only ranks that wait as well could send",
                    who(&found.stuck)
                ),
            };
            self.state = State::Stuck;
        }
        if found.circle.len() > 1 {
            let links = found.circle.iter().zip(found.circle.iter().cycle().skip(1));
            let links: Vec<String> = links.map(|(from, to)| format!("{from} for {to}")).collect();
            self.advice.push(format!("these ranks wait for each other in a circle: {}", links.join(", ")));
        }
        (self.stuck, self.circle) = (found.stuck, found.circle);
        if self.state != State::GoesOn {
            self.waits = found.waits;
        }
    }
}

/// What is said if no rank can go on.
const STUCK: &str =
    "no message moves, none is under way, and every rank waits in MPI for one: it cannot go on";

fn by_address(pages: &[Snapshot]) -> Pages<'_> {
    let keys = |page: &Snapshot| [Some(page.process.unwrap_or(page.pid)), None];
    let all =
        pages.iter().flat_map(|page| keys(page).map(|key| ((page.identity.address.as_str(), key), page)));
    all.collect()
}

/// What has moved between two looks at some of so many ranks, which have the same place in both lists.
fn movement(before: &[&Snapshot], after: &[&Snapshot], ranks: usize) -> Option<String> {
    let counts = |page: &Snapshot| {
        let all = &page.endpoint;
        let sent = (all.messages_sent, all.messages_received, all.bytes_sent, all.bytes_received);
        (sent, page.carried, all.receives_posted, all.unexpected, page.sends_pending())
    };
    let moved = before.iter().zip(after).filter(|(before, after)| counts(before) != counts(after)).count();
    if moved > 0 {
        return Some(format!("messages of {moved} of {ranks} ranks have moved meanwhile"));
    }
    let bytes = on_the_cables(after).saturating_sub(on_the_cables(before));
    (bytes > IDLE_BYTES_MAX).then(|| format!("{bytes} bytes have gone over the cables meanwhile"))
}

/// Of one job, whose ranks have the same place in all lists.
fn judge(before: &[&Snapshot], stacks: &Ranks<'_>, groups: &[Group], after: &[&Snapshot]) -> (State, String) {
    if let Some(why) = movement(before, after, stacks.attached.len()) {
        return (State::GoesOn, why);
    }
    let (unknown, all) =
        (stacks.all().filter(|process| process.problem.is_some()).count(), stacks.all().count());
    if unknown > 0 {
        let why = format!("no message moves; where {unknown} of {all} ranks are is not known");
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
        None => (State::Stuck, STUCK.into()),
    }
}

/// Bytes of packets that all ranks have received from other hosts.
fn on_the_cables(pages: &[&Snapshot]) -> u64 {
    let rails = pages.iter().flat_map(|page| &page.peers).flat_map(|peer| &peer.rails);
    rails.map(|rail| rail.bytes_received).sum()
}

#[cfg(test)]
mod tests;
