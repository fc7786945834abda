//! Setting up, checking, and taking back what was done if that fails.

use crate::restore;
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use tasuki_apply::{ApplyOptions, HostOptions, HostStatus, Step, apply_all, status_all};
use tasuki_check::{Agents, CheckError, Checker, Options, Switches, add_firewalls, expected_cluster};
use tasuki_fleet::Fleet;
use tasuki_host::{Mode, Report};

/// What a check returns from which on programs do not run: 2 is a fault, 3 a host that was not checked.
const FAULT: u8 = 2;

/// The person who waits: what he is told, and what he is asked.
pub trait Voice: Sync {
    /// Work on all hosts goes on.
    fn progress(&self, step: Step<'_>);
    /// These changes would be made.
    fn would_change(&self, reports: &[Report]);
    /// Whether they may be made. It should end when the person interrupts.
    fn may_go_on(&self) -> bool;
    /// These changes were made.
    fn changed(&self, reports: &[Report]);
    /// The check goes on: the part that is done, from 0 to 1, and what is done now.
    fn checking(&self, done: f64, what: &str);
    /// This was found.
    fn checked(&self, report: &tasuki_check::Report);
    /// Hosts were set up before, and are left so although something failed.
    fn left(&self);
    /// Why the person no longer learns what is said; `None`: he does, as far as is known.
    fn unheard(&self) -> Option<String>;
    /// Hosts are as before again, or a report says why not.
    fn restored(&self, reports: &[Report]);
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Hosts are set up, and no fault was found.
    Ready,
    /// The person does not want it; nothing was changed.
    Declined,
    /// The person interrupted; hosts are as before.
    Interrupted,
    /// It failed, and why; hosts are as before.
    Failed(String),
}

/// Hosts that are to be set up.
pub struct Up<'a> {
    fleet: &'a Fleet,
    host_options: &'a HostOptions,
    options: &'a ApplyOptions,
    voice: &'a dyn Voice,
    interrupted: &'a AtomicBool,
    /// Whether an earlier `apply` has set hosts up. What it did is not ours to take back.
    was_set_up: bool,
}

impl<'a> Up<'a> {
    /// Asks how the hosts of a fleet are. `interrupted` is set once the person wants it to end.
    ///
    /// # Errors
    /// What hosts say that do not answer.
    pub fn new(
        fleet: &'a Fleet,
        host_options: &'a HostOptions,
        options: &'a ApplyOptions,
        voice: &'a dyn Voice,
        interrupted: &'a AtomicBool,
    ) -> Result<Self, String> {
        let all = status_all(fleet, host_options, &|step| voice.progress(step));
        let problems: Vec<String> = all.iter().filter_map(|host| host.problem.clone()).collect();
        if !problems.is_empty() {
            return Err(problems.join("\n"));
        }
        let is_set_up = |host: &HostStatus| host.status.as_ref().is_some_and(|status| status.changed > 0);
        let was_set_up = all.iter().any(is_set_up);
        Ok(Self { fleet, host_options, options, voice, interrupted, was_set_up })
    }

    /// Shows what would change, asks, sets up, and checks every cable. Unless that ends well the hosts are as
    /// before.
    pub fn run(&self) -> Ending {
        let would = self.apply(Mode::Show);
        self.voice.would_change(&would);
        if let Some(why) = problems(&would) {
            return Ending::Failed(why);
        }
        let is_nothing = would.iter().all(|report| report.changes.is_empty());
        if !is_nothing && !self.voice.may_go_on() {
            return if self.is_interrupted() { Ending::Interrupted } else { Ending::Declined };
        }
        // However this ends, be it by a panic.
        let mut undone = TakenBack { up: self, is_due: true };
        let ending = self.set_up();
        undone.is_due = ending != Ending::Ready;
        ending
    }

    /// Restores the hosts, unless they were set up before.
    pub fn take_back(&self) {
        if self.was_set_up {
            return self.voice.left();
        }
        let progress = |step: Step<'_>| self.voice.progress(step);
        self.voice.restored(&restore(self.fleet, self.host_options, &progress));
    }

    /// Whether the person wants it to end.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// How it ends because the person has interrupted, or no longer learns what is done.
    pub fn given_up(&self) -> Option<Ending> {
        match self.is_interrupted() {
            true => Some(Ending::Interrupted),
            false => self.voice.unheard().map(Ending::Failed),
        }
    }

    fn set_up(&self) -> Ending {
        if let Some(ending) = self.given_up() {
            return ending;
        }
        let changed = self.apply(Mode::Change);
        self.voice.changed(&changed);
        if let Some(why) = problems(&changed) {
            return Ending::Failed(why);
        }
        if let Some(ending) = self.given_up() {
            return ending;
        }
        let checked = self.check();
        match checked {
            _ if self.is_interrupted() => Ending::Interrupted,
            Err(error) => Ending::Failed(format!("the check could not be made: {error}")),
            Ok(report) => {
                self.voice.checked(&report);
                match report.exit_code() < FAULT {
                    true => self.given_up().unwrap_or(Ending::Ready),
                    false => Ending::Failed("the check has found faults".into()),
                }
            }
        }
    }

    fn apply(&self, mode: Mode) -> Vec<Report> {
        let progress = |step: Step<'_>| self.voice.progress(step);
        apply_all(self.fleet, self.host_options, self.options, mode, &progress)
    }

    /// Every cable and every host: the first stage of a check, and whether firewalls let hosts talk.
    fn check(&self) -> Result<tasuki_check::Report, CheckError> {
        let cluster = expected_cluster(self.fleet)?;
        let options = Options {
            stages: vec![1],
            // Nothing of the first stage is random.
            seed: 1,
            time: Duration::from_secs(1),
            total_bits_per_second: None,
            memory_mb: 0,
            errors_per_hour: 0.0,
        };
        let options = options.for_fleet(self.fleet);
        let mut progress = |done: f64, what: &str| self.voice.checking(done, what);
        let mut report = Checker::new(
            &cluster,
            Agents::start(self.fleet),
            Switches::of_fleet(self.fleet),
            options,
            &mut progress,
        )?
        .run();
        self.voice.checking(0.95, "firewalls");
        add_firewalls(self.fleet, &mut report)?;
        Ok(report)
    }
}

/// Takes back what was done when it is dropped, if that is due then.
struct TakenBack<'a> {
    up: &'a Up<'a>,
    is_due: bool,
}

impl Drop for TakenBack<'_> {
    fn drop(&mut self) {
        if self.is_due {
            self.up.take_back();
        }
    }
}

/// The problems of all hosts, one a line; `None`: there is none.
fn problems(reports: &[Report]) -> Option<String> {
    let all: Vec<&str> = reports.iter().flat_map(|report| &report.problems).map(String::as_str).collect();
    (!all.is_empty()).then(|| all.join("\n"))
}
