//! Debuggers of several ranks that are given commands together.

use crate::{Merged, Ranks, State, merged};
use nix::libc::SIGINT;
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};
use tasuki_stacks::ranks_in_words;

/// How long hosts are asked to wait for news at once.
const LOOK: Duration = Duration::from_millis(250);
/// After such a time without news, what some ranks have said is shown although others still run.
const QUIET: Duration = Duration::from_secs(1);
/// How long ranks may take to stop when they are told to.
const STOP: Duration = Duration::from_secs(5);
/// How often ranks are told to stop before they are given up.
const STOPS: u32 = 3;
/// Commands whose answers hold addresses that differ between ranks and say nothing to a reader of all.
const FRAMES: [&str; 24] = [
    "bt",
    "backtrace",
    "where",
    "frame",
    "f",
    "up",
    "down",
    "thread",
    "info",
    "continue",
    "c",
    "next",
    "n",
    "step",
    "s",
    "finish",
    "fin",
    "until",
    "advance",
    "stepi",
    "si",
    "nexti",
    "ni",
    "signal",
];

/// What a rank has said: its place among the members, and the words.
pub type Answer = (usize, String);

/// How a command came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All ranks have stopped, by themselves or at a time limit, or are gone.
    Settled,
    /// Ctrl-C has stopped them.
    Interrupted,
    /// Some did not stop.
    GivenUp,
}

/// Ctrl-C was typed before all had a debugger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

/// Debuggers and what is known of them here.
pub struct Session {
    /// The debuggers.
    pub ranks: Ranks,
    interrupted: Arc<AtomicBool>,
}

impl Session {
    /// Of processes that have no debuggers yet. From now on, Ctrl-C does not end this process.
    ///
    /// # Errors
    /// If the signal cannot be caught.
    pub fn new(ranks: Ranks) -> io::Result<Self> {
        let interrupted = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGINT, Arc::clone(&interrupted))?;
        Ok(Self { ranks, interrupted })
    }

    /// Whether Ctrl-C was typed since the last time.
    pub fn was_interrupted(&self) -> bool {
        self.interrupted.swap(false, Ordering::Relaxed)
    }

    /// Runs a debugger for each. Returns which processes could not be had, and why.
    ///
    /// # Errors
    /// If Ctrl-C was typed meanwhile. All processes go on then.
    pub fn attach(&mut self) -> Result<Vec<String>, Interrupted> {
        self.ranks.attach();
        // Agents see to the time limit.
        while self.ranks.members.iter().any(|member| member.state == State::Busy) {
            if self.was_interrupted() {
                self.end();
                return Err(Interrupted);
            }
            self.ranks.wait(LOOK);
        }
        let lost = self.ranks.set_lost_apart();
        self.ranks.members.iter_mut().for_each(|member| member.text.clear());
        Ok(lost)
    }

    /// Whether no debugger is left.
    pub fn is_over(&self) -> bool {
        self.ranks.members.iter().all(|member| matches!(member.state, State::Gone(_)))
    }

    /// The members of these ranks that have a debugger; no span: all.
    pub fn of(&self, spans: &[(u32, u32)]) -> Vec<usize> {
        let is_meant =
            |rank| spans.is_empty() || spans.iter().any(|(from, to)| (*from..=*to).contains(&rank));
        let members = self.ranks.members.iter().enumerate();
        let such = members.filter(|(_, member)| {
            !matches!(member.state, State::Gone(_))
                && (spans.is_empty() || member.debuggee.rank.is_some_and(is_meant))
        });
        such.map(|(at, _)| at).collect()
    }

    /// What these members are called.
    pub fn names(&self, of: &[usize]) -> String {
        let ranks: Option<Vec<u32>> = of.iter().map(|&at| self.ranks.members[at].debuggee.rank).collect();
        match ranks {
            Some(mut ranks) => {
                ranks.sort_unstable();
                ranks_in_words(&ranks)
            }
            None => of.iter().map(|&at| self.ranks.members[at].name()).collect::<Vec<_>>().join(","),
        }
    }

    /// Gives members a command, and hands on what they answer, some at a time. With a limit, ranks that still
    /// run then are stopped. Ctrl-C stops them, too.
    pub fn perform(
        &mut self,
        of: &[usize],
        command: &str,
        limit: Option<Duration>,
        hand_on: impl FnMut(&Self, Vec<Answer>),
    ) -> End {
        self.ranks.command(of, command);
        let in_background = command.ends_with('&');
        self.settle(of, in_background, limit, hand_on)
    }

    /// Waits until these members have stopped or are gone; in the background, until their debuggers have
    /// taken the command.
    pub fn settle(
        &mut self,
        of: &[usize],
        in_background: bool,
        limit: Option<Duration>,
        mut hand_on: impl FnMut(&Self, Vec<Answer>),
    ) -> End {
        let mut end = limit.map(|limit| Instant::now() + limit);
        let (mut open, mut done) = (of.to_vec(), Vec::new());
        let (mut last, mut stops, mut ended) = (Instant::now(), 0, End::Settled);
        loop {
            let state = |at: &usize| &self.ranks.members[*at].state;
            let is_open =
                |at: &usize| state(at).is_at_work() && !(in_background && *state(at) == State::Running);
            let (still, ready): (Vec<usize>, Vec<usize>) = open.iter().partition(|at| is_open(at));
            if !ready.is_empty() {
                last = Instant::now();
            }
            open = still;
            done.extend(ready);
            if open.is_empty() || (!done.is_empty() && last.elapsed() >= QUIET) {
                let answers = std::mem::take(&mut done).into_iter().map(|at| self.take(at)).collect();
                hand_on(self, answers);
            }
            if open.is_empty() {
                return ended;
            }
            let is_late = end.is_some_and(|end| Instant::now() >= end);
            let is_told = self.was_interrupted();
            if is_told {
                ended = End::Interrupted;
            }
            if is_told || is_late {
                if stops == STOPS {
                    let names = self.names(&open);
                    eprintln!("tasuki: rank {names} does not stop: `ranks` says what it does");
                    return End::GivenUp;
                }
                stops += 1;
                self.ranks.interrupt(&open);
                end = Some(Instant::now() + STOP);
            }
            self.ranks.wait(LOOK);
        }
    }

    fn take(&mut self, at: usize) -> Answer {
        let member = &mut self.ranks.members[at];
        let mut text = std::mem::take(&mut member.text);
        if let State::Gone(why) = &member.state {
            text += &format!("({why})\n");
        }
        (at, text)
    }

    /// Lets all go on without a debugger.
    pub fn end(&mut self) {
        let all = self.ranks.all();
        self.ranks.detach(&all);
    }
}

/// Answers to a command that are the same, of those that have said something.
pub fn groups(command: &str, answers: &[Answer]) -> Vec<Merged> {
    let word = command.split([' ', '/', '&']).next().unwrap_or_default();
    let mut groups = merged(answers.iter().map(|(_, text)| text.as_str()), FRAMES.contains(&word));
    groups.iter_mut().for_each(|group| group.of.iter_mut().for_each(|at| *at = answers[*at].0));
    groups
}
