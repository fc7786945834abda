//! `tasuki stats`: the statistics pages of running processes, on all hosts.

mod render;
mod watched;

use std::{
    io::{IsTerminal, Write},
    process::ExitCode,
    thread,
    time::Duration,
};
use tasuki_args::StatsArgs;
use tasuki_fleet::Fleet;
use tasuki_stats::{HostPages, Look};
use tasuki_terminal::{Failure, print_json, print_json_line, width, written};

/// The internal command that every host runs: prints its statistics pages as JSON.
pub fn pages() -> Result<ExitCode, Failure> {
    print_json_line(&HostPages::local())?;
    Ok(ExitCode::SUCCESS)
}

/// Runs the command.
pub fn run(arguments: &StatsArgs) -> Result<ExitCode, Failure> {
    let fleet = Fleet::find(arguments.lab.as_deref(), arguments.cluster.as_deref())?;
    if arguments.watch {
        return watch(arguments, &fleet);
    }
    let mut look = Look::at(&fleet);
    if arguments.striping {
        look.problems.append(&mut look.striping_problems);
    }
    for problem in look.problems.iter().chain(&look.notes) {
        eprintln!("tasuki: {problem}");
    }
    if arguments.striping {
        show_striping(&look, arguments.json, &fleet.title())?;
    } else if arguments.json {
        print_json(&look.processes)?;
    } else if look.processes.is_empty() {
        if look.problems.is_empty() {
            eprintln!("tasuki: no process on {} uses Tasuki; `tasuki run` starts one", fleet.title());
        }
    } else {
        print!("{}", render::totals(&look.processes));
    }
    Ok(if look.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn show_striping(look: &Look, json: bool, title: &str) -> Result<(), Failure> {
    if json {
        return print_json(&look.striping);
    }
    if look.striping.is_empty() && look.problems.is_empty() {
        eprintln!(
            "tasuki: no host of {title} stripes; [striping] in the cluster file and `tasuki apply` begin it"
        );
    } else {
        print!("{}", render::striping(&look.striping));
    }
    Ok(())
}

/// Prints again and again until Ctrl-C ends the process.
fn watch(arguments: &StatsArgs, fleet: &Fleet) -> Result<ExitCode, Failure> {
    let mut before = Look::default();
    let mut out = std::io::stdout();
    let on_screen = out.is_terminal() && !arguments.json;
    loop {
        let now = Look::at(fleet);
        let rates = now.rates_since(&before);
        if arguments.json {
            print_json_line(&serde_json::json!({ "processes": now.processes, "rates": rates }))?;
        } else {
            if on_screen {
                // Moves the cursor home and clears to the end of the screen, which does not flicker. The
                // terminal is to obey this, so it does not pass through `visible`.
                out.write_all(b"\x1b[H\x1b[J")?;
            }
            let (tables, left_out) = watched::rates(&now.processes, &rates, width(), arguments.all);
            let rest = match left_out {
                0 => String::new(),
                count => format!("; {count} columns do not fit: --all"),
            };
            println!("{}: {} processes use Tasuki{rest}; Ctrl-C ends", fleet.title(), now.processes.len());
            print!("{tables}");
            now.problems.iter().for_each(|problem| println!("{problem}"));
        }
        written()?;
        before = now;
        thread::sleep(Duration::from_secs_f64(arguments.interval));
    }
}
