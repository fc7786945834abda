//! `tasuki run --report`: the record of a job.

use crate::trace::typed;
use jiff::Zoned;
use std::{ffi::OsString, fs, path::Path, time::Instant};
use tasuki_fleet::Fleet;
use tasuki_load::Counters;
use tasuki_process::quote;
use tasuki_report::{Report, page};
use tasuki_terminal::Failure;
use tasuki_trace::Joined;

/// What is known before a job begins.
pub struct Before {
    counters: Counters,
    began: Instant,
}

impl Before {
    /// Reads the counters of all hosts, and the clock.
    pub fn of(fleet: &Fleet) -> Self {
        Self { counters: Counters::of(fleet), began: Instant::now() }
    }

    /// The record of the job, once it has ended.
    pub fn report(self, fleet: &Fleet, program: &[OsString], trace: &Joined) -> Report {
        let seconds = self.began.elapsed().as_secs_f64();
        let nics = Counters::of(fleet).since(&self.counters, fleet);
        Report::of(typed(program), seconds, trace, nics)
    }
}

/// Writes a record, as JSON if the file's name says so, and says on standard error what is worth a look.
pub fn write(report: &Report, file: &Path) -> Result<(), Failure> {
    let is_json = file.extension().is_some_and(|extension| extension == "json");
    let text = match is_json {
        true => serde_json::to_string_pretty(report)? + "\n",
        false => page(report, &Zoned::now().strftime("%Y-%m-%d %H:%M %Z").to_string()),
    };
    fs::write(file, text).map_err(|error| Failure::new(format!("{}: {error}", file.display())))?;
    let share = report.share_in_mpi() * 100.0;
    eprintln!(
        "tasuki: {}: {:.2} s, in MPI for {share:.0} % of the ranks' time",
        quote(file.as_os_str()),
        report.seconds
    );
    report.warnings.iter().for_each(|warning| eprintln!("tasuki: {warning}"));
    Ok(())
}
