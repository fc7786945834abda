//! Says why a job does not go on, while it runs.

use crate::{
    blind::{self, Blind},
    details, examine, title, word,
};
use std::{
    collections::BTreeSet,
    convert::Infallible,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use tasuki_fleet::Fleet;
use tasuki_load::{Load, Lost, RankLoad, Watcher};
use tasuki_stacks::{Selection, Stacks, State, Verdict};

/// How often it is looked whether messages move.
const INTERVAL: Duration = Duration::from_secs(1);
/// How many times the limit a rank may be outside MPI before it is told that the others wait for it.
const PATIENCE: u32 = 20;
/// How long the end of a job waits for an examination. One that asks hosts which do not answer takes minutes,
/// and what it would find is of no use any more.
const LEAVE: Duration = Duration::from_secs(1);

/// Watches the job of one name, from another thread, until it is dropped.
pub struct HangWatch {
    end: Option<Sender<()>>,
    /// Nothing is ever sent; it ends with the thread.
    ended: Receiver<Infallible>,
    thread: Option<JoinHandle<()>>,
}

impl HangWatch {
    /// Begins to watch the job `job` on a fleet. It is examined when none of its messages has moved for
    /// `limit`. If nothing is seen of it although it runs, that is said once; `runs` says
    /// whether it runs, if that is known.
    pub fn start(
        fleet: Fleet,
        job: String,
        limit: Duration,
        runs: impl Fn() -> Option<bool> + Send + 'static,
    ) -> Self {
        Self::of(move |end| watch(fleet, &job, limit, &runs, end))
    }

    /// Of a thread that watches until the other end of its channel is gone.
    fn of(watch: impl FnOnce(&Receiver<()>) + Send + 'static) -> Self {
        let ((end, to_end), (alive, ended)) = (channel(), channel());
        let thread = thread::spawn(move || {
            let _ends_with_this_thread = alive;
            watch(&to_end);
        });
        Self { end: Some(end), ended, thread: Some(thread) }
    }
}

impl Drop for HangWatch {
    fn drop(&mut self) {
        drop(self.end.take());
        if self.ended.recv_timeout(LEAVE) == Err(RecvTimeoutError::Disconnected) {
            // A panic of the thread has been reported on stderr; there is nothing to be saved.
            let _ = self.thread.take().map(JoinHandle::join);
        }
    }
}

fn watch(fleet: Fleet, job: &str, limit: Duration, runs: &impl Fn() -> Option<bool>, ended: &Receiver<()>) {
    let mut watcher = Watcher::start(fleet, INTERVAL);
    let (mut since, mut due, mut is_told) = (Instant::now(), limit, false);
    let (begun, mut blind) = (Instant::now(), Blind::new(limit));
    let (mut seen, mut said) = (Seen::default(), BTreeSet::new());
    while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
        let load = watcher.load();
        let is_told_blind = || blind::tell(watcher.fleet(), job, runs() == Some(true));
        let is_due = |blind: &mut Blind| blind.is_due(begun.elapsed(), || runs() != Some(false));
        if is_seen(&load, job) || (load.awaited.is_empty() && is_due(&mut blind) && is_told_blind()) {
            blind.end();
        }
        // One that is held, or saved by a checkpoint, stands still for that. Its queue is asked when else
        // something would be said: one that was said to hang does not move again by being held.
        let stands = || !is_told && since.elapsed() >= due && runs() == Some(false);
        let is_moving = seen.moves(&load, job) || stands();
        seen.newly_silent(&load).iter().for_each(|words| eprintln!("tasuki: {words}"));
        if is_moving {
            (since, due) = (Instant::now(), limit);
            if std::mem::take(&mut is_told) {
                eprintln!("tasuki: messages move again");
            }
        } else if since.elapsed() >= due && !is_told {
            is_told = tell(watcher.fleet(), job, (since, limit), runs, &mut said);
            // Debuggers stop ranks for a moment, which those that compute are to notice seldom.
            due = since.elapsed() * 2;
        }
    }
}

/// Whether a rank of the job has counters.
fn is_seen(load: &Load, job: &str) -> bool {
    load.ranks.iter().any(|rank| rank.job.as_deref() == Some(job))
}

/// Where ranks of a job were seen.
#[derive(Default)]
struct Seen {
    hosts: BTreeSet<String>,
    /// Hosts of which it was said that they do not answer.
    told: BTreeSet<String>,
}

impl Seen {
    /// Whether messages of the job move, or nothing is known of it: it begins, or has ended. Ranks on a host
    /// that does not answer are not known to move, and hosts without a rank of it do not count.
    fn moves(&mut self, load: &Load, job: &str) -> bool {
        let ranks: Vec<_> = load.ranks.iter().filter(|rank| rank.job.as_deref() == Some(job)).collect();
        self.hosts.extend(ranks.iter().map(|rank| rank.host.clone()));
        let is_unknown = ranks.is_empty() && self.silent(load).next().is_none();
        let moves = |rank: &RankLoad| {
            let all = [rank.messages_sent, rank.messages_received, rank.sent, rank.received, rank.carried];
            all.iter().any(|per_second| *per_second > 0.0)
        };
        is_unknown || ranks.into_iter().any(moves)
    }

    /// Hosts that had ranks of the job and do not answer.
    fn silent<'a>(&'a self, load: &'a Load) -> impl Iterator<Item = &'a Lost> {
        load.lost.iter().filter(|lost| self.hosts.contains(&lost.host))
    }

    /// What is to be said of those that have become silent.
    fn newly_silent(&mut self, load: &Load) -> Vec<String> {
        let silent: Vec<&Lost> = self.silent(load).collect();
        let new = silent.iter().filter(|lost| !self.told.contains(&lost.host));
        let words = |lost: &&Lost| format!("{}: {}; what its ranks do is not known", lost.host, lost.why);
        let words = new.map(words).collect();
        self.told = silent.into_iter().map(|lost| lost.host.clone()).collect();
        words
    }
}

/// Says why nothing has moved since then; returns whether there was something to say. Why nothing is known of
/// any rank is said unless it is among what was `said`; nothing is if the job stands still meanwhile.
fn tell(
    fleet: &Fleet,
    job: &str,
    (since, limit): (Instant, Duration),
    runs: &impl Fn() -> Option<bool>,
    said: &mut BTreeSet<String>,
) -> bool {
    let selection = Selection { job: Some(job.to_owned()), ..Selection::default() };
    let (found, problems) = examine(fleet, || Stacks::of(fleet, &selection, |_| {}));
    let quiet = since.elapsed();
    if runs() == Some(false) {
        return false;
    }
    let told: Vec<&Verdict> = found.iter().filter(|found| is_told(found.state, quiet, limit)).collect();
    for found in &told {
        let (title, word) = (title(found), word(found.state));
        let seconds = quiet.as_secs();
        eprintln!("tasuki: {title}: {word}; no message has moved for {seconds} s\n{}", details(found));
    }
    for problem in problems {
        let is_new = said.insert(problem.clone());
        if !told.is_empty() || (found.is_empty() && is_new) {
            eprintln!("tasuki: {problem}");
        }
    }
    !told.is_empty()
}

/// Whether a state is told when nothing has moved for so long. Others that wait for a rank which computes, or
/// waits for a file, are no hang before that takes very long.
fn is_told(state: State, quiet: Duration, limit: Duration) -> bool {
    match state {
        State::GoesOn => false,
        State::Late => quiet >= limit * PATIENCE,
        State::UnderWay | State::Suspected | State::Stuck => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_computes_is_no_hang_before_twenty_times_the_limit() {
        let (limit, quiet) = (Duration::from_secs(5), Duration::from_secs(60));
        let told = |state, quiet| is_told(state, quiet, limit);
        assert!(!told(State::Late, quiet) && told(State::Late, limit * 20) && told(State::Stuck, limit));
        assert!(!told(State::GoesOn, limit * 1000));
    }

    /// What is seen of job 7: its ranks, as the host of each and what it sends; and hosts that do not answer.
    fn load(ranks: &[(&str, f64)], lost: &[&str]) -> Load {
        let rank = |&(host, sent): &(&str, f64)| RankLoad {
            host: host.into(),
            job: Some("7".into()),
            sent,
            ..RankLoad::default()
        };
        let silent = |host: &&str| Lost { host: (*host).into(), why: "it is off".into() };
        Load {
            ranks: ranks.iter().map(rank).collect(),
            lost: lost.iter().map(silent).collect(),
            ..Load::default()
        }
    }

    #[test]
    fn a_host_that_does_not_answer_is_no_movement() {
        let mut seen = Seen::default();
        assert!(seen.moves(&load(&[], &["n8"]), "7"), "the job begins");
        assert!(seen.moves(&load(&[("n1", 0.0), ("n3", 5.0)], &["n8"]), "7"));
        assert!(!seen.moves(&load(&[("n1", 0.0), ("n3", 0.0)], &["n8"]), "7"), "n8 has no rank of it");
        assert!(!seen.moves(&load(&[("n1", 0.0)], &["n3", "n8"]), "7"), "what n3 does is not known");
        assert!(seen.moves(&load(&[("n1", 1.0)], &["n3", "n8"]), "7"));
        assert!(!seen.moves(&load(&[], &["n1", "n3", "n8"]), "7"), "it has not ended for that");
        assert!(seen.moves(&load(&[], &["n8"]), "7"), "it has ended");
        let awaited = Load { awaited: vec!["n9".into()], ..load(&[("n1", 0.0)], &[]) };
        assert!(!seen.moves(&awaited, "7"));
    }

    #[test]
    fn a_long_message_moves_before_it_is_whole() {
        let mut seen = Seen::default();
        let mut long = load(&[("n1", 0.0), ("n3", 0.0)], &[]);
        assert!(!seen.moves(&long, "7"));
        long.ranks[1].carried = 1.0;
        assert!(seen.moves(&long, "7"));
    }

    #[test]
    fn a_host_with_ranks_that_does_not_answer_is_said_each_time_that_it_begins() {
        let mut seen = Seen::default();
        let mut said = |ranks: &[(&str, f64)], lost: &[&str]| {
            let load = load(ranks, lost);
            seen.moves(&load, "7");
            seen.newly_silent(&load)
        };
        assert_eq!(said(&[("n1", 0.0), ("n3", 0.0)], &["n8"]), [""; 0]);
        let silent = ["n3: it is off; what its ranks do is not known"];
        assert_eq!(said(&[("n1", 0.0)], &["n3", "n8"]), silent);
        assert_eq!(said(&[("n1", 0.0)], &["n3", "n8"]), [""; 0]);
        assert_eq!(said(&[("n1", 0.0), ("n3", 0.0)], &[]), [""; 0]);
        assert_eq!(said(&[("n1", 0.0)], &["n3"]), silent);
    }

    #[test]
    fn the_end_of_a_job_waits_for_no_host_that_does_not_answer() {
        let ((let_go, held), (left, is_left)) = (channel::<()>(), channel());
        thread::spawn(move || {
            // An examination that goes on until the test ends.
            let watch = HangWatch::of(move |_| assert!(held.recv().is_err()));
            drop(watch);
            left.send(()).expect("the test waits");
        });
        assert_eq!(is_left.recv_timeout(Duration::from_secs(60)), Ok(()));
        drop(let_go);
    }
}
