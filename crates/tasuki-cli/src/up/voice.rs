//! What `tasuki up` says and asks while hosts are set up.

use crate::{
    apply::{self, Form},
    check,
};
use indicatif::ProgressBar;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::{
    io::{BufRead, IsTerminal, Write, stdin, stdout},
    os::fd::AsFd,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};
use tasuki_apply::Step;
use tasuki_host::{Mode, Report};
use tasuki_terminal::{percent_bar, written};
use tasuki_up::Voice;

/// Steps of the bar of the check.
const PARTS: f64 = 1000.0;
/// How often it is looked whether Ctrl-C came while an answer is awaited, milliseconds.
const LOOK_MS: u16 = 100;

/// What was reported, for `--json`.
#[derive(Default)]
pub struct Told {
    /// What `apply` has changed.
    pub changed: Vec<Report>,
    /// What the check has found.
    pub check: Option<tasuki_check::Report>,
    /// What was taken back.
    pub restored: Vec<Report>,
}

/// The terminal.
pub struct Terminal<'a> {
    /// Whether nothing is asked.
    pub yes: bool,
    /// Whether only JSON is printed, at the end.
    pub quiet: bool,
    /// The command that restores the hosts.
    pub down: &'a str,
    /// Set by Ctrl-C.
    pub interrupted: &'a AtomicBool,
    /// What was reported.
    pub told: Mutex<Told>,
    step: Box<dyn Fn(Step<'_>) + Sync + 'a>,
    /// The bar of the check, while it goes on.
    bar: Mutex<Option<ProgressBar>>,
}

impl<'a> Terminal<'a> {
    /// A terminal on which nothing was said yet.
    pub fn new(yes: bool, quiet: bool, down: &'a str, interrupted: &'a AtomicBool) -> Self {
        let step = Box::new(apply::progress());
        Self { yes, quiet, down, interrupted, told: Mutex::default(), step, bar: Mutex::default() }
    }

    fn tell(&self, change: impl FnOnce(&mut Told)) {
        change(&mut self.told.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn end_bar(&self) {
        if let Some(bar) = self.bar.lock().unwrap_or_else(PoisonError::into_inner).take() {
            bar.finish_and_clear();
        }
    }

    fn reports(&self, reports: &[Report], verb: &str, mode: Mode) {
        if !self.quiet {
            // Only JSON can fail to be printed.
            let _ = apply::reports(reports, verb, mode, Form::Brief);
        }
    }
}

impl Voice for Terminal<'_> {
    fn progress(&self, step: Step<'_>) {
        (self.step)(step);
    }

    fn would_change(&self, reports: &[Report]) {
        self.reports(reports, "changed", Mode::Show);
    }

    fn may_go_on(&self) -> bool {
        if self.yes {
            return true;
        }
        if !stdin().is_terminal() {
            eprintln!("tasuki: nobody can be asked: standard input is no terminal; --yes answers");
            return false;
        }
        print!("\nSet these hosts up? `{}` makes them as they are now. [y/N] ", self.down);
        let _ = stdout().flush();
        answer(self.interrupted).is_some_and(|line| matches!(line.trim(), "y" | "Y" | "yes"))
    }

    fn changed(&self, reports: &[Report]) {
        self.reports(reports, "changed", Mode::Change);
        self.tell(|told| told.changed = reports.to_vec());
    }

    fn checking(&self, done: f64, what: &str) {
        let mut bar = self.bar.lock().unwrap_or_else(PoisonError::into_inner);
        let bar = bar.get_or_insert_with(|| percent_bar(PARTS as u64).with_prefix("check"));
        bar.set_position((done * PARTS) as u64);
        bar.set_message(what.to_owned());
    }

    fn checked(&self, report: &tasuki_check::Report) {
        self.end_bar();
        if !self.quiet {
            check::show(report);
        }
        self.tell(|told| told.check = Some(report.clone()));
    }

    fn left(&self) {
        self.end_bar();
        eprintln!(
            "tasuki: hosts were set up before, and stay as they are now; `{}` makes them as they were before \
             that",
            self.down
        );
    }

    fn unheard(&self) -> Option<String> {
        written().err().map(|failure| failure.message)
    }

    fn restored(&self, reports: &[Report]) {
        self.end_bar();
        eprintln!("tasuki: taking back what was done");
        self.reports(reports, "restored", Mode::Change);
        self.tell(|told| told.restored = reports.to_vec());
    }
}

/// A line from standard input; `None`: it ended, or Ctrl-C came first.
fn answer(interrupted: &AtomicBool) -> Option<String> {
    let stdin = stdin();
    loop {
        let mut waits = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
        let ready = poll(&mut waits, PollTimeout::from(LOOK_MS));
        if interrupted.load(Ordering::Relaxed) {
            println!();
            return None;
        }
        if matches!(ready, Ok(1..)) {
            let mut line = String::new();
            return stdin.lock().read_line(&mut line).ok().filter(|read| *read > 0).map(|_| line);
        }
    }
}
