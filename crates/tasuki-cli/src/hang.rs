//! `tasuki hang`: whether jobs go on, whom they wait for, and whether they ever can.

use crate::stacks::{OUTSIDE, look, tell_none};
use std::{
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};
use tasuki_args::HangArgs;
use tasuki_fleet::Fleet;
use tasuki_stacks::{Group, Selection, Stacks, State, Verdict as Found, Wait, verdicts};
use tasuki_stats::Look;
use tasuki_terminal::{Failure, Verdict, paragraph, print_json, print_verdict};

/// How long counters must not have changed, at least. Ranks bring theirs up to date five times a second.
const QUIET: Duration = Duration::from_secs(2);
/// Ranks of one place of which is told what they wait for.
const WAITS_TOLD: usize = 4;
/// The exit code if no message moves in a job.
const NOTHING_MOVES: u8 = 3;

/// Runs the command.
pub fn run(arguments: &HangArgs) -> Result<ExitCode, Failure> {
    let fleet = Fleet::find(arguments.lab.as_deref(), arguments.cluster.as_deref())?;
    let selection = Selection { job: arguments.job.clone(), ..Selection::default() };
    let (found, problems) = examine(&fleet, || look(&fleet, &selection));
    if arguments.json {
        print_json(&found)?;
    } else if found.is_empty() {
        tell_none(&fleet, &selection);
    } else {
        found.iter().for_each(show);
    }
    problems.iter().for_each(|problem| eprintln!("tasuki: {problem}"));
    let all_go_on = found.iter().all(|found| found.state == State::GoesOn);
    Ok(match (problems.is_empty() && !found.is_empty(), all_go_on) {
        (true, true) => ExitCode::SUCCESS,
        (true, false) => ExitCode::from(NOTHING_MOVES),
        (false, _) => ExitCode::FAILURE,
    })
}

/// The verdicts of all jobs that `stacks` looks at, which takes seconds; and what is not known, and why.
pub fn examine(fleet: &Fleet, stacks: impl FnOnce() -> Stacks) -> (Vec<Found>, Vec<String>) {
    let (began, before) = (Instant::now(), Look::at(fleet));
    let stacks = stacks();
    thread::sleep(QUIET.saturating_sub(began.elapsed()));
    let after = Look::at(fleet);
    let mut found = verdicts(&before.processes, &stacks.processes, &after.processes);
    let problems = [before.problems, stacks.problems, after.problems].concat();
    if !problems.is_empty() {
        found.iter_mut().for_each(doubt);
    }
    (found, problems)
}

/// Not all hosts have answered: there may be ranks that could send.
fn doubt(found: &mut Found) {
    if found.state == State::Stuck {
        found.state = State::Suspected;
        found.why = "no message moves, and none is under way; but not all of it is known (see below)".into();
    }
}

fn show(found: &Found) {
    let verdict = match found.state {
        State::GoesOn => Verdict::Well,
        State::Late | State::UnderWay | State::Suspected => Verdict::Doubtful,
        State::Stuck => Verdict::Bad,
    };
    print_verdict(verdict, &format!("{}: ", title(found)), word(found.state), "");
    println!("{}", details(found));
}

/// The job and its ranks.
pub fn title(found: &Found) -> String {
    let job = found.job.as_ref().map_or(String::new(), |job| format!(" (job {job})"));
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
pub fn details(found: &Found) -> String {
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
