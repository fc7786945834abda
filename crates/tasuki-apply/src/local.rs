//! Setting up, restoring and asking the host that this process runs on.

use crate::{
    ApplyError, ApplyOptions, HostOptions, HostStatus, UnitWish, crash_point,
    delays::{self, Delays},
    record::{RUNTIME_FOLDER, state_folder, undo_at},
    report::{failed, merge},
    tuning::{is_tuned, restore_tuning},
    watcher,
};
use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};
use tasuki_cluster::{AddressPlan, AddressStyle, Cluster, HostId, HostPlan};
use tasuki_host::{Change, Key, Mode, NicWish, Persistence, Report, Setup, UNIT_FOLDER, Wanted, daemon};

/// Applies a cluster to this host, as its host `name`. What goes wrong is in the report.
pub fn apply(
    name: &str,
    host_options: &HostOptions,
    options: &ApplyOptions,
    cluster: &Cluster,
    mode: Mode,
) -> Report {
    let applied = Applying::prepare(name, host_options, options, cluster, mode).and_then(Applying::run);
    applied.unwrap_or_else(|error| failed(name, error))
}

/// One application of a cluster to this host.
struct Applying<'a> {
    name: &'a str,
    options: &'a ApplyOptions,
    cluster: &'a Cluster,
    mode: Mode,
    /// Folder of the record.
    folder: PathBuf,
    setup: Setup,
    wanted: Wanted,
    /// The host's plan with all NICs of the file.
    plan: HostPlan,
    /// NICs of the file that are not there, and are left out.
    missing: Vec<String>,
    delays: Delays,
}

impl<'a> Applying<'a> {
    /// Reads the host's record, and works out what the host is to have.
    fn prepare(
        name: &'a str,
        host_options: &HostOptions,
        options: &'a ApplyOptions,
        cluster: &'a Cluster,
        mode: Mode,
    ) -> Result<Self, ApplyError> {
        let host = find(cluster, name)?;
        let plan = AddressPlan::new(cluster)?;
        let folder = state_folder(host_options.state_dir.as_deref());
        let setup = Setup::open(name, &folder, mode, host_options.force)?;
        let mut wanted = Wanted::new(cluster, &plan, host, options.rate);
        wanted.nics = NicWish { offloads: options.offloads, rings: options.rings };
        wanted.stop_forwarding = options.stop_forwarding;
        // Hosts with no address but those of their cables cannot be reached by way of others.
        let is_watchable = cluster.fallback && cluster.addressing.style == AddressStyle::Identity;
        wanted.watched = is_watchable && !options.no_watch && cluster.hosts.len() > 1;
        if options.no_names {
            wanted.names.clear();
        }
        let plan = wanted.plan.clone();
        let missing = if options.allow_missing { setup.missing(&plan) } else { Vec::new() };
        wanted.plan.leave_out(&missing);
        let delays = Delays::of(cluster, host, &missing, &folder);
        Ok(Self { name, options, cluster, mode, folder, setup, wanted, plan, missing, delays })
    }

    fn run(mut self) -> Result<Report, ApplyError> {
        let delay_report = self.delays.look(self.mode)?;
        if !delay_report.problems.is_empty() && self.mode == Mode::Change {
            return Ok(Report { done: false, ..delay_report });
        }
        self.want_files()?;
        ignore_hangup()?;
        if self.mode == Mode::Change {
            // Daemons do not end for an `apply` that is refused.
            if let Some(mut refused) = self.setup.refused_apply(&self.wanted)? {
                merge(&mut refused, delay_report);
                return Ok(refused);
            }
            self.make_way()?;
        }
        let mut stop_after = crash_point::in_apply();
        let mut report = self.setup.apply(&self.wanted, &mut stop_after).map_err(ApplyError::Unfinished)?;
        report.notes.extend(self.missing.iter().map(|nic| {
            let later = if self.wanted.watched { "; tasuki watch sets it up when it comes" } else { "" };
            format!("there is no interface {nic}: left out{later}")
        }));
        if self.mode != Mode::Change {
            let cluster = watcher::cluster_checksum(self.cluster);
            report.notes.extend(watcher::take_detours(&mut report.changes, Some(cluster)));
        }
        let is_set_up = report.done;
        merge(&mut report, if is_set_up { self.delays.set()? } else { delay_report });
        reload_units(&mut report);
        // Units of daemons need the unit that applies the cluster file. systemd starts that one with them,
        // and it needs the record.
        drop(self.setup);
        if is_set_up && self.wanted.watched && !self.options.watch_by_unit {
            watcher::start(self.cluster, self.name, &self.folder)?;
        }
        if report.done {
            self.delays.follow(&self.folder, self.options.watch_by_unit)?;
        }
        Ok(report)
    }

    /// Adds the files that the host is to have: the plan of delays that follow the load, and systemd units.
    fn want_files(&mut self) -> Result<(), ApplyError> {
        self.wanted.files.extend(self.delays.file());
        let unit_folder = match &self.options.unit {
            UnitWish::AsBefore => self.setup.unit_folder()?,
            UnitWish::Install(folder) => Some(std::path::absolute(folder)?),
            UnitWish::Remove => None,
        };
        let Some(unit_folder) = unit_folder else {
            // Without systemd nobody would read it.
            if !self.wanted.names.is_empty() && daemon::runs_systemd() {
                self.wanted.files.extend(tasuki_host::names_end(Path::new(UNIT_FOLDER)));
            }
            return Ok(());
        };
        let state = std::path::absolute(&self.folder)?;
        let runtime = state.join(RUNTIME_FOLDER);
        // Where the daemon has its keys already, it stays, whether or not it was asked for again.
        let has_runtime = self.options.runtime || runtime.exists();
        let mut persistence = Persistence {
            runtime: has_runtime.then_some(runtime),
            program: std::env::current_exe()?,
            unit_folder,
            state,
            cluster: self.cluster.to_toml(),
            // The unit's folder is not among them, because the record remembers it.
            argv: ApplyOptions { allow_missing: true, ..self.options.clone() }.argv(),
            watched: self.wanted.watched,
            tuned: self.delays.is_dynamic(),
        };
        if persistence.watched || persistence.tuned {
            persistence.argv.push("--watch-by-unit".into());
        }
        self.wanted.files.extend(persistence.files(&self.plan));
        Ok(())
    }

    /// Ends daemons that follow another plan.
    fn make_way(&self) -> Result<(), ApplyError> {
        if !(self.wanted.watched && watcher::is_undisturbed(self.cluster)) {
            // Routes that the watch has changed would be taken for another program's changes.
            tasuki_watch::stop()?;
        }
        self.delays.end_other_plan(&self.folder)
    }
}

/// A connection that breaks, and with it a terminal, must not leave half of the work done.
fn ignore_hangup() -> Result<(), ApplyError> {
    signal_hook::flag::register(signal_hook::consts::SIGHUP, Arc::default())?;
    Ok(())
}

fn find(cluster: &Cluster, name: &str) -> Result<HostId, ApplyError> {
    cluster.host(name).ok_or_else(|| ApplyError::NoHost {
        name: name.into(),
        hosts: cluster.hosts.iter().map(|host| host.name.clone()).collect(),
    })
}

/// Has a running systemd read its units again if the report says that one of them was changed.
fn reload_units(report: &mut Report) {
    let is_unit = |change: &Change| match &change.key {
        Key::File { path } => path.starts_with(UNIT_FOLDER),
        _ => false,
    };
    if !report.done || !daemon::runs_systemd() || !report.changes.iter().any(is_unit) {
        return;
    }
    let mut systemctl = Command::new("systemctl");
    systemctl.arg("daemon-reload").stdin(Stdio::null());
    if !systemctl.status().is_ok_and(|status| status.success()) {
        let note = "`systemctl daemon-reload` failed; run it, so that systemd knows of the unit";
        report.notes.push(note.into());
    }
}

/// Restores this host, as the host `name`. What goes wrong is in the report.
pub fn undo(name: &str, options: &HostOptions, mode: Mode) -> Report {
    let mut report = try_undo(name, options, mode).unwrap_or_else(|error| failed(name, error));
    reload_units(&mut report);
    report
}

fn try_undo(name: &str, options: &HostOptions, mode: Mode) -> Result<Report, ApplyError> {
    ignore_hangup()?;
    let state_dir = options.state_dir.as_deref();
    let folder = state_folder(state_dir);
    let mut setup = Setup::open(name, &folder, mode, options.force)?;
    if mode == Mode::Change {
        // Nothing is ended or removed for an `undo` that is refused.
        if let Some(refused) = setup.refused_undo()? {
            return Ok(refused);
        }
        // Keys and jobs go with the cluster that they were made for.
        tasuki_runtime::remove_local(&folder.join(RUNTIME_FOLDER))?;
        watcher::end()?;
    }
    // What was set last is taken back first: delays by hand or by load, delays of the cluster file, all else.
    let mut delayed = Vec::new();
    if mode != Mode::Check && is_tuned(state_dir) {
        delayed.push(restore_tuning(state_dir, mode)?);
    }
    if mode != Mode::Check {
        delayed.extend(undo_at(name, &delays::folder(&folder), mode)?);
    }
    let mut report = setup.undo(&mut crash_point::in_undo())?;
    if report.changes.is_empty() && !delayed.is_empty() {
        // The note of an empty record says that there was nothing to undo, which is not true of all of them.
        report.notes.clear();
    }
    delayed.into_iter().for_each(|delayed| merge(&mut report, delayed));
    Ok(report)
}

/// How this host is, as the host `name`.
pub fn status(name: &str, options: &HostOptions) -> HostStatus {
    let look = || {
        let folder = state_folder(options.state_dir.as_deref());
        let mut status = Setup::open(name, &folder, Mode::Show, false)?.status(name)?;
        status.led_around = watcher::take_detours(&mut status.drift, None);
        delays::add_status(&mut status, &folder)?;
        Ok::<_, ApplyError>(status)
    };
    match look() {
        Ok(status) => HostStatus { host: status.host.clone(), status: Some(status), problem: None },
        Err(error) => HostStatus { host: name.into(), status: None, problem: Some(error.to_string()) },
    }
}
