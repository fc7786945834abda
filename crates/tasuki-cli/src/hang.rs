//! `tasuki hang`: whether jobs go on, whom they wait for, and whether they ever can.

use crate::stacks::{OUTSIDE, look, tell_none};
use std::{
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};
use tasuki_args::HangArgs;
use tasuki_fleet::Fleet;
use tasuki_stacks::{Group, Selection, State, Verdict as Found, verdicts};
use tasuki_stats::Look;
use tasuki_terminal::{Failure, Verdict, paragraph, print_json, print_verdict};

/// How long counters must not have changed, at least. Ranks bring theirs up to date five times a second.
const QUIET: Duration = Duration::from_secs(2);
/// The exit code if no message moves in a job.
const NOTHING_MOVES: u8 = 3;

/// Runs the command.
pub fn run(arguments: &HangArgs) -> Result<ExitCode, Failure> {
    let fleet = Fleet::find(arguments.lab.as_deref(), arguments.cluster.as_deref())?;
    let (began, before) = (Instant::now(), Look::at(&fleet));
    let selection = Selection { job: arguments.job.clone(), ..Selection::default() };
    let stacks = look(&fleet, &selection);
    thread::sleep(QUIET.saturating_sub(began.elapsed()));
    let after = Look::at(&fleet);
    let mut found = verdicts(&before.processes, &stacks.processes, &after.processes);
    let problems = [before.problems, stacks.problems, after.problems].concat();
    if !problems.is_empty() {
        found.iter_mut().for_each(doubt);
    }
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

/// Not all hosts have answered: there may be ranks that could send.
fn doubt(found: &mut Found) {
    if found.state == State::Stuck {
        found.state = State::Suspected;
        found.why = "no message moves, and none is under way; but not all of it is known (see below)".into();
    }
}

fn show(found: &Found) {
    let job = found.job.as_ref().map_or(String::new(), |job| format!(" (job {job})"));
    let (verdict, word) = match found.state {
        State::GoesOn => (Verdict::Well, "goes on"),
        State::Late => (Verdict::Doubtful, "late"),
        State::UnderWay => (Verdict::Doubtful, "under way"),
        State::Suspected => (Verdict::Doubtful, "suspected"),
        State::Stuck => (Verdict::Bad, "stuck"),
    };
    let processes = found.processes;
    print_verdict(verdict, &format!("{}{job}, {processes} ranks: ", found.program), word, "");
    println!("  {}", paragraph(&found.why, 2));
    if found.state != State::GoesOn {
        found.groups.iter().for_each(|group| println!("  {}", paragraph(&place(group), 2)));
        found.advice.iter().for_each(|advice| println!("  {}", paragraph(advice, 2)));
    }
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
