//! A verdict in words.

use tasuki_stacks::{Group, State, Verdict, Wait, job_in_words};
use tasuki_terminal::paragraph;

/// What is said in the place of a call where a rank is in none of MPI.
pub const OUTSIDE: &str = "(not in MPI)";
/// Ranks of one place of which is told what they wait for.
const WAITS_TOLD: usize = 4;

/// The job and its ranks.
pub fn title(found: &Verdict) -> String {
    let job = job_in_words(found.job.as_deref(), found.user.as_deref());
    format!("{}{job}, {} ranks", found.program, found.processes)
}

/// The word for what is said of a job.
pub fn word(state: State) -> &'static str {
    match state {
        State::GoesOn => "goes on",
        State::Late => "late",
        State::UnderWay => "under way",
        State::Suspected => "suspected",
        State::Stuck => "stuck",
    }
}

/// Why, where the ranks are, and what they wait for: lines that are indented.
pub fn details(found: &Verdict) -> String {
    let mut lines = vec![format!("  {}", paragraph(&found.why, 2))];
    if found.state != State::GoesOn {
        lines.extend(found.groups.iter().flat_map(|group| of_group(group, &found.waits)));
        lines.extend(found.advice.iter().map(|advice| format!("  {}", paragraph(advice, 2))));
    }
    lines.join("\n")
}

/// Where a group's ranks are, and what they wait for.
fn of_group(group: &Group, waits: &[Wait]) -> Vec<String> {
    let mut lines = vec![format!("  {}", paragraph(&place(group), 2))];
    let told: Vec<&Wait> =
        waits.iter().filter(|wait| group.ranks.contains(&wait.rank) && !wait.operations.is_empty()).collect();
    for wait in told.iter().take(WAITS_TOLD) {
        let words = [wait.operations.join(", and "), wait.reasons.join("; ")];
        let words: Vec<&str> = words.iter().map(String::as_str).filter(|words| !words.is_empty()).collect();
        let words = format!("rank {} waits {}", wait.rank, words.join("; "));
        lines.push(format!("    {}", paragraph(&words, 4)));
    }
    let more = told.len().saturating_sub(WAITS_TOLD);
    if more > 0 {
        lines.push(format!("    and {more} more, each for something of its own (--json has all)"));
    }
    lines
}

fn place(group: &Group) -> String {
    let call = group.place.call.as_deref().unwrap_or(OUTSIDE);
    let function = group.place.function.as_deref().unwrap_or("??");
    let source = group.place.source.as_ref().map_or(String::new(), |source| format!(" at {source}"));
    match group.place.call {
        Some(_) => format!("{}: {call}, called by {function}{source}", group.who()),
        None => format!("{}: {call} in {function}{source}", group.who()),
    }
}
