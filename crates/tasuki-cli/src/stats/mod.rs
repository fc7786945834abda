//! `tasuki stats`: the statistics pages of running processes, on all hosts.

mod rates;
mod render;

use crate::{
    args::StatsArgs,
    failure::Failure,
    terminal::{print_json, print_json_line},
};
use rates::Rates;
use serde::{Deserialize, Serialize};
use std::{
    io::{IsTerminal, Write},
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};
use tasuki_fleet::{Fleet, Task};
use tasuki_ring::stats_page::{Reader, Snapshot, list};
use tasuki_stripe::StripeCounts;
use tasuki_sys::netlink::Netlink;

/// The pages of one host.
#[derive(Debug, Default, Serialize, Deserialize)]
struct HostPages {
    /// Pages of processes that live.
    pages: Vec<Snapshot>,
    /// Pages that could not be read, and why.
    problems: Vec<String>,
    /// What the host striped over its NICs.
    #[serde(default)]
    striping: Option<StripeCounts>,
    /// Why that is not known: the counters are root's.
    #[serde(default)]
    striping_problem: Option<String>,
}

/// What one host striped.
#[derive(Debug, Serialize)]
struct HostStriping {
    /// Its name.
    host: String,
    #[serde(flatten)]
    counts: StripeCounts,
}

/// One look at all hosts.
#[derive(Debug, Default)]
struct Look {
    processes: Vec<Snapshot>,
    striping: Vec<HostStriping>,
    problems: Vec<String>,
    striping_problems: Vec<String>,
    at: Option<Instant>,
}

/// The internal command that runs on every host: its pages, as JSON.
pub fn pages() -> Result<ExitCode, Failure> {
    let mut found = HostPages::default();
    for path in list() {
        match Reader::open(&path) {
            Ok(reader) if reader.is_stale() => {}
            Ok(reader) => found.pages.push(reader.snapshot()),
            // Its process ended between listing and opening.
            Err(_) if !path.exists() => {}
            Err(error) => found.problems.push(error.to_string()),
        }
    }
    match Netlink::open()
        .map_err(|error| error.to_string())
        .and_then(|mut netlink| StripeCounts::read(&mut netlink).map_err(|error| error.to_string()))
    {
        Ok(striping) => found.striping = striping,
        Err(problem) => found.striping_problem = Some(problem),
    }
    print_json_line(&found)?;
    Ok(ExitCode::SUCCESS)
}

/// Runs the command.
pub fn run(arguments: &StatsArgs) -> Result<ExitCode, Failure> {
    let fleet = Fleet::find(arguments.lab.as_deref(), arguments.cluster.as_deref())?;
    if arguments.watch {
        return watch(arguments, &fleet);
    }
    let mut look = look(&fleet);
    if arguments.striping {
        look.problems.append(&mut look.striping_problems);
    }
    for problem in &look.problems {
        eprintln!("tasuki: {problem}");
    }
    if arguments.striping {
        show_striping(&look, arguments.json, &fleet.title())?;
    } else if arguments.json {
        print_json(&look.processes)?;
    } else if look.processes.is_empty() {
        eprintln!("tasuki: no process on {} uses Tasuki; `tasuki run` starts one", fleet.title());
    } else {
        print!("{}", render::totals(&look.processes));
    }
    Ok(if look.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn show_striping(look: &Look, json: bool, title: &str) -> Result<(), Failure> {
    if json {
        return print_json(&look.striping);
    }
    if look.striping.is_empty() {
        eprintln!(
            "tasuki: no host of {title} stripes; [striping] in the cluster file and `tasuki apply` begin it"
        );
    } else {
        print!("{}", render::striping(&look.striping));
    }
    Ok(())
}

fn look(fleet: &Fleet) -> Look {
    let mut look = Look { at: Some(Instant::now()), ..Look::default() };
    for answer in fleet.run_all(&Task::tasuki(["stats-pages"])) {
        let (name, label) = (answer.host.clone(), answer.label().to_owned());
        match answer.json::<HostPages>() {
            Ok(found) => {
                let problem = found.striping_problem.map(|problem| format!("{name}: {problem}"));
                look.striping_problems.extend(problem);
                look.striping.extend(found.striping.map(|counts| HostStriping { host: name, counts }));
                look.processes.extend(found.pages);
                look.problems.extend(found.problems.into_iter().map(|problem| format!("{label}: {problem}")));
            }
            Err(error) => look.problems.push(error.to_string()),
        }
    }
    look.processes.sort_by_key(|page| (page.rank.unwrap_or(u32::MAX), page.host.clone(), page.pid));
    look
}

/// Refreshes until Ctrl-C, which ends the process.
fn watch(arguments: &StatsArgs, fleet: &Fleet) -> Result<ExitCode, Failure> {
    let mut before = Look::default();
    let mut out = std::io::stdout();
    let on_screen = out.is_terminal() && !arguments.json;
    loop {
        let now = look(fleet);
        let rates = Rates::between(&before.processes, &now.processes, elapsed(&before, &now));
        if arguments.json {
            print_json_line(&serde_json::json!({ "processes": now.processes, "rates": rates }))?;
        } else {
            if on_screen {
                // Home, and clear to the end of the screen: no flicker. This is for the terminal to obey.
                out.write_all(b"\x1b[H\x1b[J")?;
            }
            println!("{}: {} processes use Tasuki; Ctrl-C ends", fleet.title(), now.processes.len());
            print!("{}", render::rates(&now.processes, &rates));
            now.problems.iter().for_each(|problem| println!("{problem}"));
        }
        out.flush()?;
        before = now;
        thread::sleep(Duration::from_secs_f64(arguments.interval));
    }
}

fn elapsed(before: &Look, now: &Look) -> Option<Duration> {
    Some(now.at?.duration_since(before.at?))
}
