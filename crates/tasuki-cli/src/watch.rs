//! `tasuki watch`: routes around dead cables, and what the watches of all hosts say.

use crate::apply::load;
use std::process::ExitCode;
use tasuki_apply::{cluster_checksum, state_folder};
use tasuki_args::WatchArgs;
use tasuki_fleet::{Fleet, Task, host_name};
use tasuki_host::daemon;
use tasuki_terminal::{Failure, print_json, table};
use tasuki_watch::Note;

/// Runs the command.
pub fn run(arguments: &WatchArgs) -> Result<ExitCode, Failure> {
    if arguments.status {
        return status(arguments);
    }
    let file = arguments.cluster.as_deref().ok_or_else(|| Failure::new("name a cluster file"))?;
    let cluster = load(file)?;
    let name = arguments.host.clone().unwrap_or_else(host_name);
    let host = cluster.host(&name).ok_or_else(|| {
        Failure::new(format!("the cluster has no host {name}; say with --host which of them this machine is"))
    })?;
    let sum = cluster_checksum(&cluster);
    let is_in_background = arguments.background;
    if is_in_background {
        daemon::leave_terminal();
    }
    let state = state_folder(arguments.state_dir.as_deref());
    tasuki_watch::run(cluster, (host, &state), sum, || match is_in_background {
        true => daemon::report_ready(),
        false => eprintln!("{name}: watching; Ctrl-C ends it"),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn status(arguments: &WatchArgs) -> Result<ExitCode, Failure> {
    let is_asked = arguments.lab.is_some() || arguments.cluster.is_some();
    if !is_asked {
        // Without a cluster or a lab it is about this machine, which may be a host of a lab.
        let notes: Vec<Note> = tasuki_watch::note().into_iter().collect();
        if notes.is_empty() {
            let none = "no watch runs on this machine; `tasuki apply` starts it".to_owned();
            return show(&notes, &[none], arguments.json);
        }
        return show(&notes, &[], arguments.json);
    }
    let fleet = Fleet::find(arguments.lab.as_deref(), arguments.cluster.as_deref())?;
    let (mut notes, mut problems) = (Vec::new(), Vec::new());
    for answer in fleet.run_all(&Task::tasuki(["watch", "--status", "--json"])) {
        let host = answer.host.clone();
        match answer.json::<Vec<Note>>() {
            Ok(found) if found.is_empty() => problems.push(format!("{host}: no watch runs")),
            Ok(found) => notes.extend(found),
            Err(error) => problems.push(error.to_string()),
        }
    }
    show(&notes, &problems, arguments.json)
}

fn show(notes: &[Note], problems: &[String], json: bool) -> Result<ExitCode, Failure> {
    if json {
        print_json(&notes)?;
    } else {
        let mut rows = table(["host", "process", "led around", "relays", "changes"]);
        for note in notes {
            let detour = |(to, by): &(String, Vec<String>)| format!("{to} by {}", by.join(", "));
            let detours: Vec<_> = note.detours.iter().map(detour).collect();
            let relays = if note.relays { "yes" } else { "as planned" };
            let detours = if detours.is_empty() { "-".into() } else { detours.join("; ") };
            rows.add_row([
                note.host.clone(),
                note.pid.to_string(),
                detours,
                relays.into(),
                note.changes.to_string(),
            ]);
        }
        if rows.row_count() > 0 {
            println!("{rows}");
        }
        let mut dead: Vec<_> = notes.iter().flat_map(|note| &note.dead).collect();
        dead.sort();
        dead.dedup();
        dead.iter().for_each(|way| println!("dead: {way}"));
    }
    problems.iter().for_each(|problem| eprintln!("tasuki: {problem}"));
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
