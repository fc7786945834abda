//! `tasuki top`: what hosts, NICs, ranks and jobs do now.

use crate::fleet::tell_missing;
use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
    thread,
    time::Duration,
};
use tasuki_args::{TopArgs, TopTable};
use tasuki_fleet::Fleet;
use tasuki_load::{Load, Watcher};
use tasuki_terminal::{Failure, print_json_line, width};
use tasuki_top::{Options, View};

/// How long hosts may take for their first two answers, beside the interval between them.
const FIRST_ANSWERS: Duration = Duration::from_secs(15);

/// The internal command that every host runs: answers each line of its input with what the host does.
pub fn agent() -> Result<ExitCode, Failure> {
    tasuki_load::agent::run(io::stdin().lock(), io::stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}

/// Runs the command.
pub fn run(arguments: &TopArgs) -> Result<ExitCode, Failure> {
    let fleet = Fleet::find(arguments.lab.as_deref(), arguments.cluster.as_deref())?;
    let interval = Duration::from_secs_f64(arguments.interval);
    if arguments.json {
        return lines(fleet, interval);
    }
    if arguments.once || !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return once(fleet, interval);
    }
    let view = match arguments.table {
        TopTable::Hosts => View::Hosts,
        TopTable::Nics => View::Nics,
        TopTable::Ranks => View::Ranks,
        TopTable::Jobs => View::Jobs,
    };
    tasuki_top::run(fleet, &Options { view, interval })?;
    Ok(ExitCode::SUCCESS)
}

/// Prints all tables that have rows.
fn once(fleet: Fleet, interval: Duration) -> Result<ExitCode, Failure> {
    let mut watcher = Watcher::start(fleet, interval);
    watcher.wait_for_rates(interval + FIRST_ANSWERS);
    let load = watcher.load();
    println!("{}, rates of {} s", load.title, interval.as_secs_f64());
    for view in View::ALL {
        let table = view.table(&load);
        if table.row_count() > 0 {
            println!("\n{}", table.text(width()));
        }
    }
    if load.ranks.is_empty() && !load.hosts.is_empty() {
        println!("\nno process uses Tasuki; `tasuki run` starts one");
    }
    let missing = missing(&load);
    load.problems.iter().for_each(|problem| eprintln!("tasuki: {problem}"));
    tell_missing(watcher.fleet(), &missing);
    Ok(if missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Hosts of which nothing is known, and why.
fn missing(load: &Load) -> Vec<String> {
    let lost = load.lost.iter().map(|lost| format!("{}: {}", lost.host, lost.why));
    lost.chain(load.awaited.iter().map(|host| format!("{host}: it has not answered yet"))).collect()
}

/// Prints a line for every look, until Ctrl-C ends the process or the reader goes away.
fn lines(fleet: Fleet, interval: Duration) -> Result<ExitCode, Failure> {
    let mut watcher = Watcher::start(fleet, interval);
    watcher.wait_for_rates(interval + FIRST_ANSWERS);
    loop {
        print_json_line(&watcher.load())?;
        io::stdout().flush()?;
        thread::sleep(interval);
    }
}
