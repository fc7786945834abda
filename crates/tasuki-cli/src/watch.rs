//! `tasuki watch`, and how `apply` and `undo` start and end it.

use crate::{
    apply::load,
    args::WatchArgs,
    background,
    failure::Failure,
    places::{Places, as_input, host_name},
    terminal::{print_json, table},
};
use std::process::ExitCode;
use tasuki_cluster::Cluster;
use tasuki_host::WATCH_UNIT;
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
    let sum = text_sum(&cluster);
    let is_in_background = arguments.background;
    if is_in_background {
        background::leave_terminal();
    }
    tasuki_watch::run(cluster, host, sum, || match is_in_background {
        true => background::be_silent(),
        false => eprintln!("{name}: watching; Ctrl-C ends it"),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn text_sum(cluster: &Cluster) -> u32 {
    crc32c::crc32c(cluster.to_toml().as_bytes())
}

/// Whether a watch of this very cluster runs and leads nobody around.
pub fn is_undisturbed(cluster: &Cluster) -> bool {
    let note = tasuki_watch::note();
    note.is_some_and(|note| note.cluster == text_sum(cluster) && note.detours.is_empty() && !note.relays)
}

/// Starts the watch of this host, unless it runs: by its unit where there is one, or as a process in the background.
pub fn start(cluster: &Cluster, name: &str) -> Result<(), Failure> {
    if tasuki_watch::note().is_some() {
        return Ok(());
    }
    let file = as_input(&cluster.to_toml())?;
    let words = ["watch", "-", "--background", "--host", name];
    background::start(WATCH_UNIT, &words, file).map_err(|failure| {
        Failure::new(format!(
            "the host is set up, but `tasuki watch` does not start: {} (--no-watch does without)",
            failure.message
        ))
    })
}

/// Ends the watch of this host.
pub fn end() -> Result<(), Failure> {
    background::systemctl("stop", WATCH_UNIT);
    tasuki_watch::stop()?;
    Ok(())
}

fn status(arguments: &WatchArgs) -> Result<ExitCode, Failure> {
    let is_asked = arguments.lab.is_some() || arguments.cluster.is_some();
    if !is_asked {
        // This machine, or a host of a lab that asks for itself.
        let notes: Vec<Note> = tasuki_watch::note().into_iter().collect();
        return show(&notes, &[], arguments.json);
    }
    let places = Places::find(arguments.lab.as_deref(), arguments.cluster.as_deref())?;
    let (mut notes, mut problems) = (Vec::new(), Vec::new());
    for answer in places.ask(&["watch", "--status", "--json"]) {
        let host = answer.host.unwrap_or_default();
        match answer.text.map(|text| serde_json::from_str::<Vec<Note>>(&text)) {
            Ok(Ok(found)) if found.is_empty() => problems.push(format!("{host}: no watch runs")),
            Ok(Ok(found)) => notes.extend(found),
            Ok(Err(error)) => problems.push(format!("{host}: {error}; is its tasuki of another version?")),
            Err(problem) => problems.push(format!("{host}: {problem}")),
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
        println!("{rows}");
        let mut dead: Vec<_> = notes.iter().flat_map(|note| &note.dead).collect();
        dead.sort();
        dead.dedup();
        dead.iter().for_each(|way| println!("dead: {way}"));
    }
    problems.iter().for_each(|problem| eprintln!("tasuki: {problem}"));
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
