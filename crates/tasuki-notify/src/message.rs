//! What a user is told.

use serde_json::Value;
use tasuki_control::JobView;

/// A job's record as a server gets it: that of `tasuki jobs --json`, with what people call the job.
pub fn record(job: &JobView) -> Result<String, String> {
    let mut value = serde_json::to_value(job).map_err(|error| error.to_string())?;
    value["label"] = Value::String(job.label());
    Ok(value.to_string())
}

/// The subject of a message, in one line of ASCII.
pub fn subject(job: &JobView) -> String {
    format!("tasuki: job {} {}", job.label(), job.state.name())
}

/// A message for people.
pub fn text(job: &JobView) -> String {
    let hosts: Vec<&str> = job.parts.iter().map(|part| part.host.as_str()).collect();
    let name = job.terms.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    let mut text = format!("Job {}{name} of {} is over: {}", job.label(), job.user, job.state.name());
    if let Some(exit) = job.exit {
        text += &format!(", exit code {exit}");
    }
    if let Some(reason) = &job.reason {
        text += &format!("\nReason:  {reason}");
    }
    text += &format!("\nCommand: {}\nRanks:   {}", job.command, job.ranks);
    if !hosts.is_empty() {
        text += &format!("\nHosts:   {}", hosts.join(" "));
    }
    if let (Some(begun), Some(ended)) = (job.begun, job.ended) {
        text += &format!("\nElapsed: {} s", ended.saturating_sub(begun));
    }
    // A line of a single full stop would end the message early, for some mailers.
    let lines: Vec<&str> = text.lines().map(|line| if line == "." { ".." } else { line }).collect();
    lines.join("\n") + "\n"
}
