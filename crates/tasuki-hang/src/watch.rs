//! Says why a job does not go on, while it runs.

use crate::{
    blind::{self, Blind},
    details, examine, title, word,
};
use std::{
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use tasuki_fleet::Fleet;
use tasuki_load::{Load, Watcher};
use tasuki_stacks::{Selection, Stacks, State, Verdict};

/// How often it is looked whether messages move.
const INTERVAL: Duration = Duration::from_secs(1);
/// How many times the limit a rank may be outside MPI before it is told that the others wait for it.
const PATIENCE: u32 = 20;

/// Watches the job of one name, from another thread, until it is dropped.
pub struct HangWatch {
    end: Option<Sender<()>>,
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
        let (end, ended) = channel();
        let thread = thread::spawn(move || watch(fleet, &job, limit, &runs, &ended));
        Self { end: Some(end), thread: Some(thread) }
    }
}

impl Drop for HangWatch {
    fn drop(&mut self) {
        drop(self.end.take());
        // A panic of the thread has been reported on stderr; there is nothing to be saved.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn watch(fleet: Fleet, job: &str, limit: Duration, runs: &impl Fn() -> Option<bool>, ended: &Receiver<()>) {
    let mut watcher = Watcher::start(fleet, INTERVAL);
    let (mut since, mut due, mut is_told) = (Instant::now(), limit, false);
    let (begun, mut blind) = (Instant::now(), Blind::new(limit));
    while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
        let load = watcher.load();
        let is_told_blind = || blind::tell(watcher.fleet(), job, runs() == Some(true));
        let is_due = |blind: &mut Blind| blind.is_due(begun.elapsed(), || runs() != Some(false));
        if is_seen(&load, job) || (load.awaited.is_empty() && is_due(&mut blind) && is_told_blind()) {
            blind.end();
        }
        if moves(&load, job) {
            (since, due) = (Instant::now(), limit);
            if std::mem::take(&mut is_told) {
                eprintln!("tasuki: messages move again");
            }
        } else if since.elapsed() >= due && !is_told {
            is_told = tell(watcher.fleet(), job, since, limit);
            // Debuggers stop ranks for a moment, which those that compute are to notice seldom.
            due = since.elapsed() * 2;
        }
    }
}

/// Whether a rank of the job has counters.
fn is_seen(load: &Load, job: &str) -> bool {
    load.ranks.iter().any(|rank| rank.job.as_deref() == Some(job))
}

/// Whether messages of the job move, or nothing is known of it: it begins, or has ended.
fn moves(load: &Load, job: &str) -> bool {
    let mut ranks = load.ranks.iter().filter(|rank| rank.job.as_deref() == Some(job)).peekable();
    let is_unknown = ranks.peek().is_none() || !load.lost.is_empty() || !load.awaited.is_empty();
    is_unknown
        || ranks.any(|rank| rank.messages_sent + rank.messages_received + rank.sent + rank.received > 0.0)
}

/// Says why nothing has moved since then; returns whether there was something to say.
fn tell(fleet: &Fleet, job: &str, since: Instant, limit: Duration) -> bool {
    let selection = Selection { job: Some(job.to_owned()), ..Selection::default() };
    let (found, problems) = examine(fleet, || Stacks::of(fleet, &selection, |_| {}));
    let quiet = since.elapsed();
    let told: Vec<&Verdict> = found.iter().filter(|found| is_told(found.state, quiet, limit)).collect();
    for found in &told {
        let (title, word) = (title(found), word(found.state));
        let seconds = quiet.as_secs();
        eprintln!("tasuki: {title}: {word}; no message has moved for {seconds} s\n{}", details(found));
    }
    if !told.is_empty() {
        problems.iter().for_each(|problem| eprintln!("tasuki: {problem}"));
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
}
