//! Jobs and hosts as tables and as JSON.

use crate::{
    failure::Failure,
    terminal::{print_json, table},
};
use std::{process::ExitCode, time::SystemTime};
use tasuki_control::{HostView, JobView, Presence};

/// Characters of a command that a table shows.
const COMMAND_MAX: usize = 48;

/// Prints jobs.
pub fn jobs(jobs: &[JobView], json: bool) -> Result<(), Failure> {
    if json {
        return print_json(&jobs);
    }
    if jobs.is_empty() {
        eprintln!("tasuki: no jobs; `tasuki jobs --history` lists those that are over");
        return Ok(());
    }
    let mut rows = table(["job", "state", "user", "ranks", "hosts", "time", "command", "why"]);
    for job in jobs {
        let hosts: Vec<&str> = job.parts.iter().map(|part| part.host.as_str()).collect();
        rows.add_row([
            job.id.to_string(),
            job.state.name().into(),
            job.user.clone(),
            job.ranks.to_string(),
            if hosts.is_empty() { "-".into() } else { hosts.join(" ") },
            duration(job),
            job.command.chars().take(COMMAND_MAX).collect(),
            job.reason.clone().unwrap_or_default(),
        ]);
    }
    println!("{rows}");
    Ok(())
}

/// How long a job has run, or ran.
fn duration(job: &JobView) -> String {
    let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let Some(begun) = job.begun else { return "-".into() };
    let seconds = job.ended.unwrap_or_else(now).saturating_sub(begun);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{}:{:02}", seconds / 60, seconds % 60),
        _ => format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60),
    }
}

/// Prints hosts. The exit code is 0 if all take part.
pub fn hosts(head: &str, hosts: &[HostView], json: bool) -> Result<ExitCode, Failure> {
    let is_well = hosts.iter().all(|host| host.presence == Presence::Up);
    let code = if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if json {
        print_json(&hosts)?;
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
    Ok(code)
}
