//! Ranks that are at one place of their program.

use crate::{
    frame::{Frame, ProcessStacks},
    jobs::{SharedNames, job_in_words},
    place::Place,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// Ranks of one job that are at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Group {
    /// The job of the resident runtime.
    pub job: Option<String>,
    /// Their user, where processes of several users say that their job has this name.
    pub user: Option<String>,
    /// The program's name.
    pub program: String,
    /// Where they are.
    pub place: Place,
    /// Their ranks, in order; those without a rank are not among them.
    pub ranks: Vec<u32>,
    /// How many processes they are.
    pub processes: usize,
    /// Receives that they have posted and that no message has matched yet.
    pub receives_posted: u64,
    /// Messages that have come before a receive for them.
    pub unexpected: u64,
    /// Sends that are not complete.
    pub sends_pending: u64,
    /// Calls of the program itself down to that place, outermost first, of the first of them.
    pub path: Vec<Frame>,
}

impl Group {
    /// Its program, and its job if that has a name.
    pub fn title(&self) -> String {
        self.program.clone() + &job_in_words(self.job.as_deref(), self.user.as_deref())
    }

    /// Its ranks with their noun, or how many processes it has if these have no ranks.
    pub fn who(&self) -> String {
        match (self.ranks.is_empty(), self.processes) {
            (true, 1) => "a process without a rank".into(),
            (true, count) => format!("{count} processes without a rank"),
            (false, _) => noun_and_ranks(&self.ranks),
        }
    }

    /// The groups of all processes whose threads are known, the largest of each job first.
    pub fn of<'a>(processes: impl IntoIterator<Item = &'a ProcessStacks>) -> Vec<Self> {
        let processes: Vec<&ProcessStacks> = processes.into_iter().collect();
        let shared = SharedNames::among(processes.iter().map(|process| process.claim()));
        let mut groups: BTreeMap<_, Self> = BTreeMap::new();
        for process in processes.into_iter().filter(|process| process.problem.is_none()) {
            let place = Place::of(&process.threads);
            let (job, user) = shared.key(process);
            let key = (job, user.clone(), process.program.clone(), place.clone());
            let group = groups.entry(key).or_insert_with(|| Self { user, ..Self::new(process, place) });
            group.ranks.extend(process.rank);
            group.processes += 1;
            group.receives_posted += process.receives_posted;
            group.unexpected += process.unexpected;
            group.sends_pending += process.sends_pending;
        }
        let mut groups: Vec<Self> = groups.into_values().collect();
        groups.iter_mut().for_each(|group| group.ranks.sort_unstable());
        groups.sort_by_key(|group| {
            let (job, user, program) = (group.job.clone(), group.user.clone(), group.program.clone());
            (job, user, program, usize::MAX - group.processes)
        });
        groups
    }

    fn new(process: &ProcessStacks, place: Place) -> Self {
        Self {
            job: process.job.clone(),
            user: None,
            program: process.program.clone(),
            path: path(process, &place),
            place,
            ranks: Vec::new(),
            processes: 0,
            receives_posted: 0,
            unexpected: 0,
            sends_pending: 0,
        }
    }
}

/// The frames from a thread's outermost one to the place's function, of the thread that is there.
fn path(process: &ProcessStacks, place: &Place) -> Vec<Frame> {
    let is_place = |frame: &Frame| frame.function == place.function && frame.source() == place.source;
    let of_thread = |frames: &[Frame]| {
        let at = frames.iter().position(is_place)?;
        Some(frames[at..].iter().rev().cloned().collect::<Vec<_>>())
    };
    let known = process.threads.iter().find_map(|thread| of_thread(&thread.frames));
    let mut path = known.unwrap_or_default();
    // What a program's start is made of says nothing about the program.
    let main = path.iter().position(|frame| frame.name() == "main").unwrap_or(0);
    path.drain(..main);
    path
}

/// Ranks with their noun: `rank 7`, `ranks 0-3,7`.
pub(crate) fn noun_and_ranks(ranks: &[u32]) -> String {
    let noun = if ranks.len() == 1 { "rank" } else { "ranks" };
    format!("{noun} {}", ranks_in_words(ranks))
}

/// Ranks as `0-3,7`.
pub fn ranks_in_words(ranks: &[u32]) -> String {
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for &rank in ranks {
        match spans.last_mut() {
            Some((_, last)) if *last == rank => {}
            Some((_, last)) if last.checked_add(1) == Some(rank) => *last = rank,
            _ => spans.push((rank, rank)),
        }
    }
    spans_in_words(&spans)
}

/// Spans of ranks, as their first and last, as `0-3,7`.
pub(crate) fn spans_in_words(spans: &[(u32, u32)]) -> String {
    let word = |(first, last): &(u32, u32)| match last - first {
        0 => first.to_string(),
        _ => format!("{first}-{last}"),
    };
    spans.iter().map(word).collect::<Vec<_>>().join(",")
}

/// Ranks as `0,4-7`, as the first and last of each span.
///
/// # Errors
/// In words: what is no rank.
pub fn spans(text: &str) -> Result<Vec<(u32, u32)>, String> {
    text.split(',').map(span).collect()
}

/// The first and the last of some ranks: `4-7`, or `3`, which is both.
///
/// # Errors
/// In words: what is no rank.
pub fn span(text: &str) -> Result<(u32, u32), String> {
    let text = text.trim();
    let number = |text: &str| text.trim().parse().map_err(|_| format!("{text:?} is no rank; write 0,4-7"));
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (number(first)?, number(last)?);
    if first > last {
        return Err(format!("{text:?} begins behind its end"));
    }
    Ok((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Thread;

    fn frame(function: &str, line: Option<u32>) -> Frame {
        Frame {
            function: Some(function.into()),
            file: line.map(|_| "a.c".into()),
            line,
            library: line.is_none().then(|| "lib.so".into()),
            calls: None,
        }
    }

    fn process(rank: u32, frames: &[Frame]) -> ProcessStacks {
        let thread = Thread { id: 1, frames: frames.to_vec(), ..Thread::default() };
        ProcessStacks {
            program: "a".into(),
            rank: Some(rank),
            threads: vec![thread],
            receives_posted: 1,
            ..Default::default()
        }
    }

    #[test]
    fn ranks_at_one_place_are_one_group_whatever_their_library_does() {
        let outer = [frame("step", Some(7)), frame("main", Some(9)), frame("__libc_start_call_main", None)];
        let waits = |inner: &str| [&[frame(inner, None), frame("MPI_Recv", None)][..], &outer].concat();
        let computes = [&[frame("relax", Some(3))][..], &outer].concat();
        let unknown = ProcessStacks { problem: Some("no gdb".into()), ..process(9, &[]) };
        let groups = Group::of(&[
            process(0, &waits("poll")),
            process(1, &computes),
            process(2, &waits("spin")),
            unknown,
        ]);
        assert_eq!(groups.len(), 2);
        let (waiting, computing) = (&groups[0], &groups[1]);
        assert_eq!((waiting.ranks.as_slice(), waiting.receives_posted), (&[0, 2][..], 2));
        assert_eq!(waiting.place.call.as_deref(), Some("MPI_Recv"));
        let names = |group: &Group| group.path.iter().map(Frame::to_string).collect::<Vec<_>>();
        assert_eq!(names(waiting), ["main at a.c:9", "step at a.c:7"]);
        assert_eq!(names(computing), ["main at a.c:9", "step at a.c:7", "relax at a.c:3"]);
        assert_eq!((computing.ranks.as_slice(), computing.place.call.as_deref()), (&[1][..], None));
    }

    #[test]
    fn ranks_of_two_users_are_two_groups_though_their_jobs_have_one_number() {
        let of = |user: &str, rank| ProcessStacks {
            job: Some("7".into()),
            user: Some(user.into()),
            ..process(rank, &[frame("main", Some(9))])
        };
        let titles = |processes: &[ProcessStacks]| {
            Group::of(processes).iter().map(|group| (group.title(), group.ranks.clone())).collect::<Vec<_>>()
        };
        let (anna, otto) = ([of("anna", 0), of("anna", 1)], of("otto", 0));
        assert_eq!(titles(&anna), [("a (job 7)".into(), vec![0, 1])]);
        let both = [&anna[..], &[otto]].concat();
        let told = [("a (job 7 of anna)".into(), vec![0, 1]), ("a (job 7 of otto)".into(), vec![0])];
        assert_eq!(titles(&both), told);
    }

    #[test]
    fn ranks_are_written_as_spans() {
        assert_eq!(ranks_in_words(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        assert_eq!((ranks_in_words(&[]), ranks_in_words(&[3, 3])), (String::new(), "3".into()));
    }

    #[test]
    fn ranks_are_numbers_and_spans() {
        assert_eq!((span("3"), span("4-7")), (Ok((3, 3)), Ok((4, 7))));
        assert_eq!(spans("3,4-7"), Ok(vec![(3, 3), (4, 7)]));
        for wrong in ["", "x", "-1", "1-", "7-4", "4294967296"] {
            assert!(span(wrong).is_err() && spans(wrong).is_err(), "{wrong:?}");
        }
    }
}
