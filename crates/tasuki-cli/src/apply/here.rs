//! This machine alone.

use super::{
    delays::{self, Delays},
    show::HostStatus,
    state_folder,
};
use crate::{
    args::{ApplyArgs, HostsArgs, OnOff},
    failure::Failure,
    places::host_name,
    tune, watch,
};
use nix::sys::signal::{Signal, raise};
use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};
use tasuki_cluster::{AddressPlan, AddressStyle, Cluster, HostId};
use tasuki_host::{Change, HostError, Key, Mode, Persistence, Report, Setup, UNIT_FOLDER, Wanted};

/// Name of the variable that has `apply` killed, as by `kill -9`, after so many steps; for tests of `undo`.
const APPLY_STOP: &str = "TASUKI_APPLY_STOP_AFTER";
/// The same for `undo`.
const UNDO_STOP: &str = "TASUKI_UNDO_STOP_AFTER";

/// What goes wrong before there is a report becomes one.
fn failed(host: &str, error: impl std::fmt::Display) -> Report {
    Report { host: host.into(), problems: vec![error.to_string()], ..Report::default() }
}

/// Ends the process without further ado once so many steps are done, if the variable says so.
fn stop_after(variable: &str) -> impl FnMut(usize) + use<> {
    let limit: Option<usize> = std::env::var(variable).ok().and_then(|steps| steps.parse().ok());
    move |done| {
        if limit == Some(done) {
            // Nobody handles SIGKILL, so this does not return.
            let _ = raise(Signal::SIGKILL);
        }
    }
}

/// A connection that breaks must not leave half of the work done.
fn ignore_hangup() -> Result<(), Failure> {
    signal_hook::flag::register(signal_hook::consts::SIGHUP, Arc::default())?;
    Ok(())
}

/// Applies a cluster to this machine.
pub fn apply(arguments: &ApplyArgs, cluster: &Cluster, mode: Mode) -> Report {
    let name = arguments.hosts.host.clone().unwrap_or_else(host_name);
    try_apply(arguments, cluster, &name, mode).unwrap_or_else(|failure| failed(&name, failure.message))
}

fn try_apply(arguments: &ApplyArgs, cluster: &Cluster, name: &str, mode: Mode) -> Result<Report, Failure> {
    let host = find(cluster, name)?;
    let plan = AddressPlan::new(cluster)?;
    let folder = state_folder(&arguments.hosts);
    let mut setup = Setup::open(name, &folder, mode, arguments.hosts.force)?;
    let mut wanted = Wanted::new(cluster, &plan, host, arguments.rate);
    wanted.offloads = match arguments.offloads {
        OnOff::On => Some(true),
        OnOff::Off => Some(false),
        OnOff::Keep => None,
    };
    wanted.rings = arguments.rings;
    wanted.stop_forwarding = arguments.stop_forwarding;
    // Who has no address but those of his cables is reached by no other.
    let is_watchable = cluster.fallback && cluster.addressing.style == AddressStyle::Identity;
    let watched = is_watchable && !arguments.no_watch && cluster.hosts.len() > 1;
    wanted.watched = watched;
    if arguments.no_names {
        wanted.names.clear();
    }
    let delays = Delays::of(cluster, host, &folder);
    let looked = delays.look(mode)?;
    if !looked.problems.is_empty() && mode == Mode::Change {
        return Ok(Report { done: false, ..looked });
    }
    wanted.files.extend(delays.file());
    if let Some(unit_folder) = unit_folder(arguments, &setup)? {
        let mut persistence = Persistence {
            program: std::env::current_exe()?,
            unit_folder,
            state: std::path::absolute(&folder)?,
            cluster: cluster.to_toml(),
            // The record remembers the unit's folder.
            words: super::words(arguments, None),
            watched,
            tuned: delays.is_dynamic(),
        };
        if persistence.watched || persistence.tuned {
            persistence.words.push("--watch-by-unit".into());
        }
        wanted.files.extend(persistence.files(&wanted.plan));
    }
    ignore_hangup()?;
    if mode == Mode::Change && !(watched && watch::is_undisturbed(cluster)) {
        // Routes that it has changed would be taken for changes of somebody else.
        tasuki_watch::stop()?;
    }
    if mode == Mode::Change {
        delays.end_other_plan(&folder)?;
    }
    let mut report = setup.apply(&wanted, &mut stop_after(APPLY_STOP)).map_err(|error| unfinished(&error))?;
    let is_set_up = report.done;
    let delayed = if is_set_up { delays.set()? } else { looked };
    add(&mut report, delayed);
    reload_units(&report.changes, report.done);
    if is_set_up && watched && !arguments.watch_by_unit {
        watch::start(cluster, name)?;
    }
    if report.done {
        delays.follow(&folder, arguments.watch_by_unit)?;
    }
    Ok(report)
}

/// What came of another part of the same host.
pub fn add(report: &mut Report, other: Report) {
    report.changes.extend(other.changes);
    report.notes.extend(other.notes);
    report.problems.extend(other.problems);
    report.done &= other.done;
}

/// A change that the kernel refused although all looked well.
fn unfinished(error: &HostError) -> Failure {
    Failure::new(format!("{error}\nWhat was changed until then is written down; `tasuki undo` takes it back"))
}

fn find(cluster: &Cluster, name: &str) -> Result<HostId, Failure> {
    cluster.host(name).ok_or_else(|| {
        let names: Vec<_> = cluster.hosts.iter().map(|host| host.name.as_str()).collect();
        Failure::new(format!(
            "the cluster has no host {name}; it has {}. Say with --host which of them this machine is",
            names.join(", ")
        ))
    })
}

/// Where the systemd unit goes: as asked for, or where an earlier `--persist` put it.
fn unit_folder(arguments: &ApplyArgs, setup: &Setup) -> Result<Option<PathBuf>, Failure> {
    Ok(match (arguments.persist, arguments.no_persist) {
        (true, _) => Some(std::path::absolute(&arguments.unit_dir)?),
        (_, true) => None,
        _ => setup.unit_folder()?,
    })
}

/// Has a running systemd look at its units again if one of them was changed.
fn reload_units(changes: &[Change], done: bool) {
    let is_unit = |change: &Change| match &change.key {
        Key::File { path } => path.starts_with(UNIT_FOLDER),
        _ => false,
    };
    if done && Path::new("/run/systemd/system").exists() && changes.iter().any(is_unit) {
        let mut systemctl = Command::new("systemctl");
        systemctl.arg("daemon-reload").stdin(Stdio::null());
        if !systemctl.status().is_ok_and(|status| status.success()) {
            eprintln!("tasuki: `systemctl daemon-reload` failed; run it, so that systemd knows of the unit");
        }
    }
}

/// Restores this machine.
pub fn undo(hosts: &HostsArgs, mode: Mode) -> Report {
    let name = hosts.host.clone().unwrap_or_else(host_name);
    let undo = || {
        ignore_hangup()?;
        let mut setup = Setup::open(&name, &state_folder(hosts), mode, hosts.force)?;
        if mode == Mode::Change {
            watch::end()?;
        }
        // The last that was set goes first: what somebody set by hand, what the cluster file has set, all that is below.
        let mut delayed = Vec::new();
        if mode != Mode::Check && tune::is_tuned(hosts.state_dir.as_deref()) {
            delayed.push(tune::restore(hosts.state_dir.as_deref(), mode)?);
        }
        if mode != Mode::Check {
            delayed.extend(delays::restore(&name, &state_folder(hosts), mode)?);
        }
        let mut report = setup.undo(&mut stop_after(UNDO_STOP))?;
        if report.changes.is_empty() && !delayed.is_empty() {
            // That there was nothing to undo is not true.
            report.notes.clear();
        }
        delayed.into_iter().for_each(|delayed| add(&mut report, delayed));
        Ok(report)
    };
    let report = undo().unwrap_or_else(|failure: Failure| failed(&name, failure.message));
    reload_units(&report.changes, report.done);
    report
}

/// How this machine is.
pub fn status(hosts: &HostsArgs) -> HostStatus {
    let name = hosts.host.clone().unwrap_or_else(host_name);
    let look = || {
        let folder = state_folder(hosts);
        let mut status = Setup::open(&name, &folder, Mode::Show, false)?.status(&name)?;
        delays::add_status(&mut status, &folder)?;
        Ok::<_, Failure>(status)
    };
    match look() {
        Ok(status) => HostStatus { host: status.host.clone(), status: Some(status), problem: None },
        Err(failure) => HostStatus { host: name, status: None, problem: Some(failure.message) },
    }
}
