//! Jobs and hosts as tables and as JSON.

use super::history::local;
use std::{process::ExitCode, time::SystemTime};
use tasuki_control::{HostRecord, HostView, JobRecord, JobView, Presence, State, UserLimits};
use tasuki_terminal::{Failure, counted, print_json, table};

/// Characters of a command that a table shows.
const COMMAND_MAX: usize = 48;

/// Prints jobs as JSON.
pub fn json(jobs: &[JobView]) -> Result<(), Failure> {
    print_json(&jobs.iter().map(|job| JobRecord::of(job, elapsed(job))).collect::<Vec<_>>())
}

/// Prints jobs that are not over.
pub fn jobs(jobs: &[JobView]) {
    let has_saved = jobs.iter().any(|job| job.interval().is_some());
    let mut names = vec!["job", "state", "user", "ranks", "hosts", "time", "command", "why"];
    if has_saved {
        names.insert(6, "checkpoint");
    }
    let mut rows = table([]);
    rows.set_header(names);
    for job in jobs {
        let mut row = vec![
            job.label(),
            job.state.name().into(),
            job.user.clone(),
            job.ranks.to_string(),
            hosts(job),
            elapsed(job).map_or_else(|| "-".into(), span),
            command(job),
            why(job),
        ];
        if has_saved {
            row.insert(6, checkpoint(job));
        }
        rows.add_row(row);
    }
    println!("{rows}");
}

/// The last checkpoint of a job with what it took, and how often there is one.
fn checkpoint(job: &JobView) -> String {
    let Some(every) = job.interval().map(tasuki_control::span) else { return "-".into() };
    match &job.checkpoint {
        None => format!("none yet, every {every}"),
        Some(last) => {
            let taken = local(last.taken, "%m-%d %H:%M:%S");
            let copied = if last.copied { ", copied" } else { "" };
            format!("{taken}, {}{copied}, every {every}", last.cost())
        }
    }
}

/// Warns of jobs whose users could not be told of their end.
pub fn untold(jobs: &[String]) {
    let Some(last) = jobs.last() else { return };
    let count = counted(jobs.len(), "job", "s");
    eprintln!(
        "tasuki: of {count} the end could not be told, at last of {last}: `tasuki jobs --history` says why"
    );
}

/// Why a job waits, with the time that it waits for.
fn why(job: &JobView) -> String {
    let unsaved = job.unsaved.as_ref().map(|why| format!("not saved: {why}"));
    let uncopied = job.uncopied.as_ref().map(|why| format!("not copied: {why}"));
    let saving = job.saving.map(|seconds| format!("has stood still for a checkpoint for {seconds} s"));
    let reasons = [job.reason.clone(), saving, unsaved, uncopied];
    let reason = reasons.into_iter().flatten().collect::<Vec<_>>().join("; ");
    match job.terms.begin.filter(|begin| job.state == State::Waiting && *begin > now()) {
        Some(begin) => format!("{reason}: {}", local(begin, "%Y-%m-%d %H:%M:%S")),
        None => reason,
    }
}

/// The hosts of a job, as a table shows them.
pub fn hosts(job: &JobView) -> String {
    let hosts: Vec<&str> = job.parts.iter().map(|part| part.host.as_str()).collect();
    if hosts.is_empty() { "-".into() } else { hosts.join(" ") }
}

/// The name of a job, or else its command, as a table shows it.
pub fn command(job: &JobView) -> String {
    job.terms.name.as_ref().unwrap_or(&job.command).chars().take(COMMAND_MAX).collect()
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// How many seconds a job has run, or ran.
pub fn elapsed(job: &JobView) -> Option<u64> {
    Some(job.ended.unwrap_or_else(now).saturating_sub(job.begun?))
}

/// A number of seconds, as a table shows it.
pub fn span(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{}:{:02}", seconds / 60, seconds % 60),
        _ => format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60),
    }
}

/// Prints hosts. The exit code is 0 if all take part.
pub fn all_hosts(
    head: &str,
    hosts: &[HostView],
    limits: UserLimits,
    json: bool,
) -> Result<ExitCode, Failure> {
    let is_well = hosts.iter().all(|host| host.presence == Presence::Up);
    let code = if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if json {
        print_json(&HostRecord::all(head, hosts, limits))?;
        return Ok(code);
    }
    let mut rows = table(["host", "slots", "used", "jobs", "missed", "state"]);
    for host in hosts {
        let state = match &host.presence {
            Presence::Up if host.host == head => "up, keeps the queue".into(),
            Presence::Up => "up".into(),
            Presence::Lost(why) => format!("lost: {why}"),
            Presence::Other(version) => format!("runs {version}: install the same version on all hosts"),
        };
        let jobs: Vec<String> = host.jobs.iter().map(ToString::to_string).collect();
        let jobs = if jobs.is_empty() { "-".into() } else { jobs.join(" ") };
        let missed = match host.turns {
            turns if turns.switches == 0 => "-".into(),
            turns => format!("{} of {}", turns.missed, turns.switches),
        };
        rows.add_row([host.host.clone(), host.slots.to_string(), host.used.to_string(), jobs, missed, state]);
    }
    println!("{rows}");
    if let Some(words) = limits.words() {
        println!("each user but root: {words}");
    }
    Ok(code)
}
