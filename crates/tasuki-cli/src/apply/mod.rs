//! `tasuki apply`, `diff`, `undo` and `status`: on this machine, or on all hosts of a cluster.

mod show;
mod summary;

pub use show::{Form, reports};

use crate::{daemon, fleet};
use indicatif::ProgressBar;
use std::{
    io::Read,
    path::Path,
    process::ExitCode,
    sync::{Mutex, PoisonError},
};
use tasuki_apply::{ApplyOptions, HostOptions, HostStatus, Step, UnitWish};
use tasuki_args::{ApplyArgs, HostsArgs, OnOff, StateArgs};
use tasuki_cluster::Cluster;
use tasuki_fleet::{Fleet, host_name};
use tasuki_host::{Mode, Report};
use tasuki_terminal::{Failure, progress_bar};

/// Exit code of `diff` where hosts differ from the file; for trouble it is one more. Both are as diff(1) has
/// them.
const DIFFERENT: u8 = 1;

/// Sets hosts up.
pub fn apply(arguments: &ApplyArgs) -> Result<ExitCode, Failure> {
    let mode = mode(&arguments.hosts, arguments.dry_run);
    let reports = run(arguments, mode)?;
    show::reports(&reports, "changed", mode, form(&arguments.hosts, arguments.full))?;
    let is_well = reports.iter().all(|report| report.problems.is_empty());
    if arguments.runtime && mode == Mode::Change && is_well {
        let fleet = fleet_of(arguments.cluster.as_deref(), &arguments.hosts)?;
        daemon::start_all(&fleet.ok_or_else(|| Failure::new("name a cluster file or a --lab"))?)?;
    }
    Ok(code(&reports))
}

/// Says what `apply` would change.
pub fn diff(arguments: &ApplyArgs) -> Result<ExitCode, Failure> {
    let trouble = |failure: Failure| failure.with_code(DIFFERENT + 1);
    let reports = run(arguments, Mode::Show).map_err(trouble)?;
    show::reports(&reports, "changed", Mode::Show, form(&arguments.hosts, arguments.full))?;
    let has_problems = reports.iter().any(|report| !report.problems.is_empty());
    let is_different = reports.iter().any(|report| !report.changes.is_empty());
    Ok(match (has_problems, is_different) {
        (true, _) => ExitCode::from(DIFFERENT + 1),
        (_, true) => ExitCode::from(DIFFERENT),
        _ => ExitCode::SUCCESS,
    })
}

/// Restores hosts.
pub fn undo(arguments: &StateArgs) -> Result<ExitCode, Failure> {
    let hosts = &arguments.hosts;
    let mode = mode(hosts, arguments.dry_run);
    let reports = match fleet_of(arguments.cluster.as_deref(), hosts)? {
        Some(fleet) => tasuki_apply::undo_all(&fleet, &host_options(hosts), mode, &progress()),
        None => vec![tasuki_apply::undo(&own_name(hosts), &host_options(hosts), mode)],
    };
    show::reports(&reports, "restored", mode, form(hosts, arguments.full))?;
    Ok(code(&reports))
}

/// Says how hosts are.
pub fn status(arguments: &StateArgs) -> Result<ExitCode, Failure> {
    let hosts = &arguments.hosts;
    if arguments.dry_run || hosts.force {
        return Err(Failure::usage("status changes nothing: --dry-run and --force are for undo"));
    }
    let answers = match fleet_of(arguments.cluster.as_deref(), hosts)? {
        Some(fleet) => tasuki_apply::status_all(&fleet, &host_options(hosts), &progress()),
        None => vec![tasuki_apply::status(&own_name(hosts), &host_options(hosts))],
    };
    show::status(&answers, hosts.json)?;
    Ok(if answers.iter().all(HostStatus::is_well) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn mode(hosts: &HostsArgs, dry_run: bool) -> Mode {
    match (hosts.check, dry_run) {
        (true, _) => Mode::Check,
        (_, true) => Mode::Show,
        _ => Mode::Change,
    }
}

fn form(hosts: &HostsArgs, full: bool) -> Form {
    match (hosts.json, full) {
        (true, _) => Form::Json,
        (_, true) => Form::Full,
        _ => Form::Short,
    }
}

fn run(arguments: &ApplyArgs, mode: Mode) -> Result<Vec<Report>, Failure> {
    let hosts = &arguments.hosts;
    let (host_options, options) = (host_options(hosts), apply_options(arguments));
    if is_local(hosts) {
        let file = arguments.cluster.as_deref().ok_or_else(|| Failure::new("name a cluster file"))?;
        return Ok(vec![tasuki_apply::apply(&own_name(hosts), &host_options, &options, &load(file)?, mode)]);
    }
    let fleet = fleet_of(arguments.cluster.as_deref(), hosts)?;
    let fleet = fleet.ok_or_else(|| Failure::new("name a cluster file or a --lab"))?;
    Ok(tasuki_apply::apply_all(&fleet, &host_options, &options, mode, &progress()))
}

/// Whether only this machine is meant.
fn is_local(hosts: &HostsArgs) -> bool {
    hosts.local || hosts.host.is_some()
}

/// The name of this machine in the cluster.
fn own_name(hosts: &HostsArgs) -> String {
    hosts.host.clone().unwrap_or_else(host_name)
}

/// The hosts of a lab or of a cluster file; `None`: only this machine is meant.
fn fleet_of(file: Option<&Path>, hosts: &HostsArgs) -> Result<Option<Fleet>, Failure> {
    if is_local(hosts) {
        return Ok(None);
    }
    fleet::named(hosts.lab.as_deref(), file.map(load).transpose()?, &hosts.remote)
}

fn host_options(hosts: &HostsArgs) -> HostOptions {
    HostOptions { state_dir: hosts.state_dir.clone(), force: hosts.force }
}

fn apply_options(arguments: &ApplyArgs) -> ApplyOptions {
    ApplyOptions {
        offloads: match arguments.offloads {
            OnOff::On => Some(true),
            OnOff::Off => Some(false),
            OnOff::Keep => None,
        },
        rings: arguments.rings,
        rate: arguments.rate,
        no_names: arguments.no_names,
        allow_missing: arguments.allow_missing,
        stop_forwarding: arguments.stop_forwarding,
        no_watch: arguments.no_watch,
        watch_by_unit: arguments.watch_by_unit,
        runtime: arguments.runtime || arguments.runtime_unit,
        unit: match (arguments.persist, arguments.no_persist) {
            (true, _) => UnitWish::Install(arguments.unit_dir.clone()),
            (_, true) => UnitWish::Remove,
            _ => UnitWish::AsBefore,
        },
    }
}

/// Shows a progress bar for each thing that all hosts are asked for.
pub fn progress() -> impl Fn(Step<'_>) + Sync {
    let bar = Mutex::new(ProgressBar::hidden());
    move |step| {
        let mut bar = bar.lock().unwrap_or_else(PoisonError::into_inner);
        match step {
            Step::Begin(title, hosts) => *bar = progress_bar(hosts as u64).with_prefix(title.to_owned()),
            Step::Done(host) => {
                bar.inc(1);
                bar.set_message(host.to_owned());
            }
            Step::End => bar.finish_and_clear(),
        }
    }
}

/// Reads a cluster file; `-` is standard input.
pub fn load(file: &Path) -> Result<Cluster, Failure> {
    if file != Path::new("-") {
        return Ok(Cluster::load(file)?);
    }
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes)?;
    Ok(Cluster::parse_bytes(bytes, None)?)
}

fn code(reports: &[Report]) -> ExitCode {
    let is_well = reports.iter().all(|report| report.problems.is_empty());
    if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
