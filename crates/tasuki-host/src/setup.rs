//! Setting a host up and restoring it: everything is checked first, then recorded, then changed.

mod carrier;
mod check;
mod filters;
mod hold;
mod rehearse;
mod tune;

pub(crate) use check::other_nic;
pub use tune::Wish;

use crate::{
    Change, HostError, Key, Value, Wanted,
    desired::{insert_before_settings, of_offloads, of_plan, of_watch},
    difference::{difference, keep_edits, reverse, spare_forwarding},
    journal::{Journal, Record},
    kernel::Kernel,
    login::Login,
    names::{HOSTS_FILE, with_names},
    persist::UNIT,
    rings::of_rings,
};
use carrier::Carriers;
use filters::spare_filters;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use tasuki_cluster::HostPlan;

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Report what would be changed. Needs no rights.
    Show,
    /// Report also whether it could be changed: rights, and the record's folder.
    Check,
    /// Make the changes.
    Change,
}

/// The result of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Host name.
    pub host: String,
    /// The changes that were made, or would be, in order.
    pub changes: Vec<Change>,
    /// What the user should know.
    pub notes: Vec<String>,
    /// What prevents the changes. If there is anything, `apply` has changed nothing.
    pub problems: Vec<String>,
    /// Whether the changes were made.
    pub done: bool,
}

/// Is called with the number of steps done, before the first step and after every one.
pub type Steps<'a> = &'a mut dyn FnMut(usize);

/// A host, with its record of changes.
pub struct Setup {
    host: String,
    kernel: Kernel,
    journal: Journal,
    mode: Mode,
    /// Whether to touch the interface by which the user is logged in.
    force: bool,
}

impl Setup {
    /// Opens the network namespace of the calling thread, and the folder of the record. `host` is the name in
    /// messages.
    pub fn open(host: &str, folder: &Path, mode: Mode, force: bool) -> Result<Self, HostError> {
        if mode != Mode::Show && !nix::unistd::Uid::effective().is_root() {
            return Err(HostError::NotRoot { host: host.into() });
        }
        let journal = match mode {
            Mode::Show => Journal::read_only(host, folder),
            _ => Journal::lock(host, folder)?,
        };
        Ok(Self { host: host.into(), kernel: Kernel::open(host)?, journal, mode, force })
    }

    pub(crate) fn parts(&mut self) -> (&mut Kernel, &Journal) {
        (&mut self.kernel, &self.journal)
    }

    /// Brings the host into the wanted state, or reports what that would take. The record is on the disk
    /// before the first change.
    pub fn apply(&mut self, wanted: &Wanted, steps: Steps) -> Result<Report, HostError> {
        let (mut record, mut report) = self.foresee_apply(wanted)?;
        if self.mode != Mode::Change || !report.problems.is_empty() {
            self.tidy_up()?;
            return Ok(report);
        }
        let watched = if wanted.watched { of_watch(&wanted.plan) } else { Vec::new() };
        let guarded = self.kernel.read_all(&watched)?;
        if report.changes.is_empty() {
            // The record is of this start of the machine from now on.
            let known = self.journal.load()?;
            let is_old = known.as_ref().is_some_and(|(_, is_old)| *is_old);
            let has_new_wish = known.is_some_and(|(known, _)| known.nics != record.nics);
            if record.guard(guarded) || is_old || has_new_wish {
                self.journal.save(&record)?;
            }
            self.tidy_up()?;
            report.done = true;
            return Ok(report);
        }
        record.add(&report.changes);
        record.guard(guarded);
        self.journal.save(&record)?;
        let carriers = Carriers::of(&self.kernel, &report.changes);
        self.make(&report.changes, steps)?;
        record.settle(&watched);
        self.journal.save(&record)?;
        carriers.wait(&mut self.kernel, &mut report.notes)?;
        self.verify(wanted, &record, &mut report)?;
        report.done = true;
        Ok(report)
    }

    /// The cabled NICs of a plan that are not there.
    pub fn missing(&self, plan: &HostPlan) -> Vec<String> {
        let names = plan.cabled().map(|(interface, _)| interface);
        names.filter(|name| self.kernel.link(name).is_err()).map(str::to_owned).collect()
    }

    /// The folder of the systemd unit that an earlier `apply` installed, if one did.
    pub fn unit_folder(&self) -> Result<Option<PathBuf>, HostError> {
        let Some((record, _)) = self.journal.load()? else { return Ok(None) };
        let folder = |change: &Change| match &change.key {
            Key::File { path } if path.ends_with(UNIT) => path.parent().map(Path::to_path_buf),
            _ => None,
        };
        Ok(record.changes.iter().find_map(folder))
    }

    /// Removes a folder that was made for a record which was not written.
    fn tidy_up(&self) -> Result<(), HostError> {
        match self.mode {
            Mode::Show => Ok(()),
            _ if self.journal.load()?.is_some() => Ok(()),
            _ => self.journal.remove(),
        }
    }

    fn plan(&mut self, wanted: &Wanted, record: &Record, report: &mut Report) -> Result<(), HostError> {
        let mut desired = of_plan(&wanted.plan);
        let mut offloads = of_offloads(&mut self.kernel, wanted)?;
        offloads.extend(of_rings(&self.kernel, wanted, &mut report.notes)?);
        insert_before_settings(&mut desired, offloads);
        desired.extend(wanted.files.iter().cloned());
        if !wanted.names.is_empty() {
            let key = Key::File { path: HOSTS_FILE.into() };
            let text = match self.kernel.read(&key)? {
                Value::Text(text) => text,
                _ => String::new(),
            };
            desired.push((key, Value::Text(with_names(&text, &wanted.names))));
        }
        let made = &record.changes;
        let keys = desired.iter().map(|(key, _)| key).chain(made.iter().map(|change| &change.key));
        let actual = self.kernel.read_all(keys)?;
        if !wanted.stop_forwarding {
            report.notes.extend(spare_forwarding(&mut desired, &actual, made));
        }
        report.changes = difference(&desired, &actual, made);
        report.notes.extend(keep_edits(&mut report.changes, made));
        report.notes.extend(spare_filters(&mut self.kernel, &mut report.changes)?);
        report.notes.extend(check::notes(&self.kernel, wanted, &report.changes));
        Ok(())
    }

    /// Finds out what prevents the changes.
    fn check(&mut self, report: &mut Report) -> Result<(), HostError> {
        report.problems.extend(check::settings(&self.host, &report.changes, self.mode));
        if self.force {
            return Ok(());
        }
        let login = Login::find(&mut self.kernel)?;
        if let Some((change, interface, why)) = login.touched_by(&report.changes) {
            let problem = HostError::Login {
                host: self.host.clone(),
                interface: interface.into(),
                why: why.into(),
                what: change.key.to_string(),
            };
            report.problems.push(problem.to_string());
        }
        Ok(())
    }

    fn make(&mut self, changes: &[Change], steps: Steps) -> Result<(), HostError> {
        steps(0);
        for (number, change) in changes.iter().enumerate() {
            self.kernel.write(&change.key, &change.to)?;
            steps(number + 1);
        }
        Ok(())
    }

    /// Reads the state again, because a driver may accept a setting without an error and not keep it. Keys
    /// that a watch may change, and that this call did not change, are left out: the watch leads around links
    /// that were reset until they are back.
    fn verify(&mut self, wanted: &Wanted, record: &Record, report: &mut Report) -> Result<(), HostError> {
        self.kernel.refresh()?;
        let mut again = Report::default();
        self.plan(wanted, record, &mut again)?;
        let guarded = if wanted.watched { of_watch(&wanted.plan) } else { Vec::new() };
        let was_made = |key: &Key| report.changes.iter().any(|change| change.key == *key);
        let is_odd = |change: &&Change| !guarded.contains(&change.key) || was_made(&change.key);
        let odd: Vec<_> = again
            .changes
            .iter()
            .filter(is_odd)
            .map(|change| {
                format!("{}: {} was set to {} but is {}", self.host, change.key, change.to, change.from)
            })
            .collect();
        report.problems.extend(odd);
        Ok(())
    }

    /// Restores the host as it was before the first `apply`, or reports what that would take. What cannot be
    /// restored is reported and stays in the record.
    pub fn undo(&mut self, steps: Steps) -> Result<Report, HostError> {
        let Some((mut record, restarted)) = self.journal.load()? else {
            self.tidy_up()?;
            let notes = vec!["nothing was applied, so there is nothing to undo".into()];
            return Ok(Report { host: self.host.clone(), notes, done: true, ..Report::default() });
        };
        let mut report = self.foresee_undo(&record, restarted)?;
        if self.mode != Mode::Change || !report.problems.is_empty() {
            return Ok(report);
        }
        steps(0);
        let carriers = Carriers::of(&self.kernel, &report.changes);
        let mut failed = Vec::new();
        for (number, change) in report.changes.iter().enumerate() {
            if let Err(error) = self.kernel.write(&change.key, &change.to) {
                report.problems.push(format!("{} is not restored: {error}", change.key));
                failed.push(change.key.clone());
            }
            steps(number + 1);
        }
        // The kernel removes the routes of an interface with its last address, and its neighbours when it
        // goes down. What was restored before that is restored again.
        self.kernel.refresh()?;
        for change in self.changes_back(&record, &mut Vec::new())? {
            if !failed.contains(&change.key) && self.kernel.write(&change.key, &change.to).is_err() {
                report.problems.push(format!("{} is not restored: it is {}", change.key, change.from));
                failed.push(change.key);
            }
        }
        if failed.is_empty() {
            self.journal.remove()?;
            report.done = true;
        } else {
            record.changes.retain(|change| failed.contains(&change.key));
            self.journal.save(&record)?;
        }
        carriers.wait(&mut self.kernel, &mut report.notes)?;
        Ok(report)
    }

    fn changes_back(&mut self, record: &Record, notes: &mut Vec<String>) -> Result<Vec<Change>, HostError> {
        let made = &record.changes;
        let actual = self.kernel.read_all(made.iter().map(|change| &change.key))?;
        let mut changes = reverse(made, &actual);
        notes.extend(keep_edits(&mut changes, made));
        notes.extend(spare_filters(&mut self.kernel, &mut changes)?);
        Ok(changes)
    }
}
