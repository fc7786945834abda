//! `tasuki hang`: whether jobs go on, whom they wait for, and whether they ever can.

use crate::stacks::{look, tell_none};
use std::process::ExitCode;
use tasuki_args::HangArgs;
use tasuki_fleet::Fleet;
use tasuki_hang::{details, examine, title, word};
use tasuki_stacks::{Selection, State, Verdict as Found};
use tasuki_terminal::{Failure, Verdict, print_json, print_verdict};

/// The exit code if no message moves in a job.
const NOTHING_MOVES: u8 = 3;

/// Runs the command.
pub fn run(arguments: &HangArgs) -> Result<ExitCode, Failure> {
    let fleet = Fleet::find(arguments.lab.as_deref(), arguments.cluster.as_deref())?;
    let (job, user) = (arguments.job.clone(), arguments.user.clone());
    let selection = Selection { job, user, ..Selection::default() };
    let (found, problems) = examine(&fleet, || look(&fleet, &selection));
    if arguments.json {
        print_json(&found)?;
    } else if found.is_empty() {
        tell_none(&fleet, &selection, &problems);
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

fn show(found: &Found) {
    let verdict = match found.state {
        State::GoesOn => Verdict::Well,
        State::Late | State::UnderWay | State::Suspected => Verdict::Doubtful,
        State::Stuck => Verdict::Bad,
    };
    print_verdict(verdict, &format!("{}: ", title(found)), word(found.state), "");
    println!("{}", details(found));
}
