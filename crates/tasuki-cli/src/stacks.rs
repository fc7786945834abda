//! `tasuki stacks`: where ranks are in their program.

use std::{io, process::ExitCode};
use tasuki_args::StacksArgs;
use tasuki_fleet::Fleet;
use tasuki_hang::OUTSIDE;
use tasuki_stacks::{Group, HostStacks, ProcessStacks, Selection, Stacks, not_come, ranks_in_words};
use tasuki_terminal::{Failure, paragraph, print_json, print_json_line, progress_bar, table, width};

/// The internal command that every host runs: reads which processes are meant, and prints where they are,
/// both as JSON.
pub fn agent() -> Result<ExitCode, Failure> {
    print_json_line(&HostStacks::local(&serde_json::from_reader(io::stdin().lock())?))?;
    Ok(ExitCode::SUCCESS)
}

/// Runs the command.
pub fn run(arguments: &StacksArgs) -> Result<ExitCode, Failure> {
    let fleet = Fleet::find(arguments.lab.as_deref(), arguments.cluster.as_deref())?;
    let selection = Selection {
        job: arguments.job.clone(),
        user: arguments.user.clone(),
        program: arguments.program.clone(),
        ranks: arguments.ranks.clone(),
    };
    let stacks = look(&fleet, &selection);
    let (groups, is_none) = (Group::of(stacks.all()), stacks.all().next().is_none());
    if arguments.json {
        let (processes, unattached) = (&stacks.processes, &stacks.unattached);
        let found = serde_json::json!({ "groups": groups, "processes": processes, "unattached": unattached });
        print_json(&found)?;
    } else if is_none {
        tell_none(&fleet, &selection, &stacks.problems);
    } else {
        show(&groups);
        if arguments.all {
            stacks.all().for_each(show_process);
        }
        if let Some(which) = not_come(&stacks.unattached.iter().collect::<Vec<_>>()) {
            println!("\n{}", paragraph(&which, 0));
        }
    }
    stacks.problems.iter().for_each(|problem| eprintln!("tasuki: {problem}"));
    let is_complete = stacks.problems.is_empty() && !is_none;
    Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Asks all hosts, which takes seconds.
pub fn look(fleet: &Fleet, selection: &Selection) -> Stacks {
    let bar = progress_bar(fleet.len() as u64).with_prefix("hosts");
    let stacks = Stacks::of(fleet, selection, |host| {
        bar.set_message(host.to_owned());
        bar.inc(1);
    });
    bar.finish_and_clear();
    stacks
}

/// Says that there is nothing to look at, unless that is not known because of problems.
pub fn tell_none(fleet: &Fleet, selection: &Selection, problems: &[String]) {
    if !problems.is_empty() {
        return;
    }
    let is_any = selection.ranks.is_empty() && selection.program.is_none() && selection.user.is_none();
    let such = if is_any { "" } else { "such " };
    let job = selection.job.as_ref().map_or(String::new(), |job| format!(" in job {job}"));
    let place = fleet.title();
    eprintln!("tasuki: no {such}process on {place} uses Tasuki{job}; `tasuki stats` lists those that do");
}

/// The ranks of a group, or how many processes without a rank it has.
fn who(group: &Group) -> String {
    match group.ranks.is_empty() {
        true => format!("{} without a rank", group.processes),
        false => ranks_in_words(&group.ranks),
    }
}

fn show(groups: &[Group]) {
    let mut rows = table(["program", "ranks", "in", "called by", "at", "receives", "unexpected", "sends"]);
    for group in groups {
        rows.add_row([
            group.title(),
            who(group),
            group.place.call.clone().unwrap_or_else(|| OUTSIDE.into()),
            group.place.function.clone().unwrap_or_else(|| "??".into()),
            group.place.source.clone().unwrap_or_else(|| "-".into()),
            group.receives_posted.to_string(),
            group.unexpected.to_string(),
            group.sends_pending.to_string(),
        ]);
    }
    println!("{}", rows.keys(2).right_from(5).text(width()));
    for group in groups.iter().filter(|group| group.path.len() > 1) {
        println!("\n{}, {}:", group.program, group.who());
        group.path.iter().for_each(|frame| println!("  {frame}"));
        group.place.call.iter().for_each(|call| println!("  {call}"));
    }
}

fn show_process(process: &ProcessStacks) {
    let rank = process.rank.map_or(String::new(), |rank| format!("rank {rank}, "));
    println!("\n{rank}process {} on {}, {}:", process.pid, process.host, process.program);
    for thread in &process.threads {
        println!("  thread {} {}", thread.id, thread.name);
        thread.frames.iter().for_each(|frame| println!("    {frame}"));
    }
}
