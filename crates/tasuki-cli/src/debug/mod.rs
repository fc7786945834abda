//! `tasuki debug`: a debugger on any rank, where it runs.

mod batch;
mod prompt;
mod start;
mod window;

use crate::stacks::look;
use std::{
    collections::BTreeSet,
    io::{self, IsTerminal},
    process::ExitCode,
};
use tasuki_args::{DebugArgs, DebugCommands};
use tasuki_debug::{
    Ranks, Target,
    session::{Answer, Interrupted, Session, groups},
    several_jobs,
};
use tasuki_fleet::Fleet;
use tasuki_stacks::{Group, Selection};
use tasuki_terminal::{Failure, print_json};

pub use self::{start::run as run_debugged, window::alone};

/// Runs the command.
pub fn run(arguments: &DebugArgs) -> Result<ExitCode, Failure> {
    let fleet = Fleet::find(arguments.lab.as_deref(), arguments.cluster.as_deref())?;
    let mut selection = Selection {
        job: arguments.job.clone(),
        user: arguments.user.clone(),
        program: arguments.program.clone(),
        ranks: arguments.ranks.clone(),
    };
    if arguments.waiting {
        selection.ranks = waiting(&fleet, &selection)?;
    }
    let mut ranks = Ranks::new(&fleet);
    let mut problems = ranks.find(&Target::Selection { selection, stopped: arguments.stopped });
    problems.extend(ranks.set_apart());
    if ranks.members.is_empty() {
        problems.iter().for_each(|problem| eprintln!("tasuki: {problem}"));
        if arguments.commands.json {
            print_json(&[(); 0])?;
        }
        let place = fleet.title();
        return Err(Failure::new(format!(
            "there is no such process on {place}; `tasuki stats` lists those that use Tasuki"
        )));
    }
    several_jobs(&ranks.members).map_or(Ok(()), |why| Err(Failure::new(why)))?;
    problems.iter().for_each(|problem| eprintln!("tasuki: {problem}"));
    let is_asked = arguments.commands.command.is_empty() && io::stdin().is_terminal();
    if arguments.tmux {
        return window::tmux(arguments, &ranks);
    }
    if ranks.members.len() == 1 && is_asked {
        return window::one(&fleet, &ranks.members[0]);
    }
    let mut session = Session::new(ranks)?;
    let lost = session.attach().map_err(interrupted)?;
    lost.iter().for_each(|problem| eprintln!("tasuki: {problem}"));
    let is_complete = problems.is_empty() && lost.is_empty();
    let ended = talk(&mut session, &arguments.commands);
    session.end();
    Ok(if ended? && is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Ctrl-C before all had a debugger.
fn interrupted(_: Interrupted) -> Failure {
    Failure { message: "interrupted".into(), code: 130 }
}

/// Gives the commands of the command line, or those that are typed. Returns whether it was not interrupted.
fn talk(session: &mut Session, commands: &DebugCommands) -> Result<bool, Failure> {
    if session.is_over() {
        return Ok(false);
    }
    match commands.command.is_empty() {
        true => prompt::run(session).map(|()| true),
        false => batch::run(session, commands),
    }
}

/// The ranks that are in a function of MPI.
fn waiting(fleet: &Fleet, selection: &Selection) -> Result<Vec<(u32, u32)>, Failure> {
    let stacks = look(fleet, selection);
    stacks.problems.iter().for_each(|problem| eprintln!("tasuki: {problem}"));
    let groups = Group::of(&stacks.processes).into_iter().filter(|group| group.place.call.is_some());
    let ranks: BTreeSet<u32> = groups.flat_map(|group| group.ranks).collect();
    if ranks.is_empty() {
        return Err(Failure::new(format!("no such rank on {} is in a function of MPI", fleet.title())));
    }
    Ok(ranks.into_iter().map(|rank| (rank, rank)).collect())
}

/// Prints answers, each line with the ranks that have said it.
fn show(session: &Session, command: &str, answers: &[Answer]) {
    for group in groups(command, answers) {
        let names = session.names(&group.of);
        let lines = group.text.lines().filter(|line| !line.trim().is_empty());
        lines.for_each(|line| println!("[{names}] {line}"));
    }
}
