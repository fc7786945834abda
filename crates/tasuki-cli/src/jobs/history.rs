//! Jobs that are over, with what they took: as a table and as CSV.

use super::show::{command, elapsed, hosts, span};
use jiff::{Timestamp, tz::TimeZone};
use serde::Serialize;
use std::io;
use tasuki_control::JobView;
use tasuki_terminal::{Failure, table};

/// A row of the CSV. Times are in this machine's zone, with its distance from UTC.
#[derive(Serialize)]
struct Row<'a> {
    job: String,
    id: u64,
    name: Option<&'a str>,
    user: &'a str,
    state: &'a str,
    exit: Option<i32>,
    ranks: u32,
    hosts: String,
    submitted: String,
    start: Option<String>,
    end: Option<String>,
    elapsed_s: Option<u64>,
    held_s: u64,
    timeout_s: Option<u64>,
    priority: i32,
    mpi: Option<&'a str>,
    command: &'a str,
    reason: Option<&'a str>,
    untold: Option<&'a str>,
}

/// Prints jobs with start, end and exit code.
pub fn show(jobs: &[JobView]) {
    let mut rows = table([
        "job", "state", "user", "ranks", "hosts", "start", "end", "elapsed", "exit", "command", "why",
    ]);
    let dash = || "-".to_owned();
    for job in jobs {
        rows.add_row([
            job.label(),
            job.state.name().into(),
            job.user.clone(),
            job.ranks.to_string(),
            hosts(job),
            job.begun.map_or_else(dash, |time| local(time, "%m-%d %H:%M:%S")),
            job.ended.map_or_else(dash, |time| local(time, "%m-%d %H:%M:%S")),
            elapsed(job).map_or_else(dash, span),
            job.exit.map_or_else(dash, |exit| exit.to_string()),
            command(job),
            why(job),
        ]);
    }
    println!("{rows}");
}

/// Why a job ended as it did, and why its user was not told so.
fn why(job: &JobView) -> String {
    let untold = job.untold().map(|why| format!("its end was not told: {why}"));
    job.reason.clone().into_iter().chain(untold).collect::<Vec<_>>().join("; ")
}

/// Prints jobs as CSV (RFC 4180), a line of names first.
pub fn csv(jobs: &[JobView]) -> Result<(), Failure> {
    let mut writer = csv::Writer::from_writer(io::stdout().lock());
    let iso = |time| local(time, "%Y-%m-%dT%H:%M:%S%:z");
    for job in jobs {
        let row = Row {
            job: job.label(),
            id: job.id,
            name: job.terms.name.as_deref(),
            user: &job.user,
            state: job.state.name(),
            exit: job.exit,
            ranks: job.ranks,
            hosts: hosts(job),
            submitted: iso(job.submitted),
            start: job.begun.map(iso),
            end: job.ended.map(iso),
            elapsed_s: elapsed(job),
            held_s: job.held,
            timeout_s: job.terms.timeout,
            priority: job.terms.priority,
            mpi: job.mpi.as_deref(),
            command: &job.command,
            reason: job.reason.as_deref(),
            untold: job.untold(),
        };
        writer.serialize(row).map_err(|error| Failure::new(error.to_string()))?;
    }
    writer.flush()?;
    Ok(())
}

/// A time in this machine's zone.
pub fn local(seconds: u64, format: &str) -> String {
    let time = i64::try_from(seconds).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    let time = time.map(|time| time.to_zoned(TimeZone::system()));
    time.map_or_else(|| format!("{seconds} s"), |time| time.strftime(format).to_string())
}
