//! What a call would do, found out before anything is done.

use super::{Report, Setup, check};
use crate::{HostError, Wanted, journal::Record};

impl Setup {
    /// The report of an [`Setup::apply`] that would be refused; `None`: nothing prevents it. Changes nothing
    /// on the host, so that daemons which have to end before an `apply` need not end for one that is refused.
    ///
    /// # Errors
    /// If the host, or its record, cannot be read.
    pub fn refused_apply(&mut self, wanted: &Wanted) -> Result<Option<Report>, HostError> {
        let (_, report) = self.foresee_apply(wanted)?;
        if report.problems.is_empty() {
            return Ok(None);
        }
        self.tidy_up()?;
        Ok(Some(report))
    }

    /// The report of an [`Setup::undo`] that would be refused; `None`: nothing prevents it. Changes nothing
    /// on the host.
    ///
    /// # Errors
    /// If the host, or its record, cannot be read.
    pub fn refused_undo(&mut self) -> Result<Option<Report>, HostError> {
        let Some((record, restarted)) = self.journal.load()? else { return Ok(None) };
        let report = self.foresee_undo(&record, restarted)?;
        Ok((!report.problems.is_empty()).then_some(report))
    }

    /// The record as it is before an `apply`, and what that would change, with what prevents it.
    pub(super) fn foresee_apply(&mut self, wanted: &Wanted) -> Result<(Record, Report), HostError> {
        let loaded = self.journal.load()?;
        let fresh = || Record::new(&self.host, &wanted.cluster);
        let mut record = loaded.map_or_else(fresh, |(record, _)| record);
        (record.host, record.cluster) = (self.host.clone(), wanted.cluster.clone());
        record.nics = wanted.nics;
        let mut report = Report { host: self.host.clone(), ..Report::default() };
        report.problems = check::interfaces(&self.host, &self.kernel, wanted);
        if report.problems.is_empty() {
            self.plan(wanted, &record, &mut report)?;
            self.check(&mut report)?;
            // An `undo` is not refused for that: it restores all else, and keeps what is left in the record.
            report.problems.extend(check::files(&self.host, &report.changes, self.mode));
        }
        Ok((record, report))
    }

    /// What an `undo` of this record would change, with what prevents it. `restarted`: the record is of an
    /// earlier start of the machine.
    pub(super) fn foresee_undo(&mut self, record: &Record, restarted: bool) -> Result<Report, HostError> {
        let mut report = Report { host: self.host.clone(), ..Report::default() };
        if restarted {
            report
                .notes
                .push("the host was restarted since: addresses, routes and settings went with that".into());
        }
        report.changes = self.changes_back(record, &mut report.notes)?;
        self.check(&mut report)?;
        Ok(report)
    }
}
