//! `tasuki apply`, `diff`, `undo` and `status`: on this machine, or on all hosts of a cluster.

mod delays;
mod fleet;
mod here;
mod show;

use crate::{
    args::{ApplyArgs, HostsArgs, StateArgs},
    failure::Failure,
};
pub use delays::end as end_tuner;
pub use here::add;
pub use show::reports;

use fleet::Fleet;
use std::{
    io::Read,
    path::{Path, PathBuf},
    process::ExitCode,
};
use tasuki_cluster::Cluster;
use tasuki_host::{Mode, Report, Status};

/// Exit code of `diff` where hosts differ from the file, as diff(1) has it; trouble is one more.
const DIFFERENT: u8 = 1;

/// Sets hosts up.
pub fn apply(arguments: &ApplyArgs) -> Result<ExitCode, Failure> {
    let mode = mode(&arguments.hosts, arguments.dry_run);
    let reports = run(arguments, mode)?;
    show::reports(&reports, "changed", mode, arguments.hosts.json)?;
    Ok(code(&reports))
}

/// Says what `apply` would change.
pub fn diff(arguments: &ApplyArgs) -> Result<ExitCode, Failure> {
    let trouble = |failure: Failure| failure.with_code(DIFFERENT + 1);
    let reports = run(arguments, Mode::Show).map_err(trouble)?;
    show::reports(&reports, "changed", Mode::Show, arguments.hosts.json)?;
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
    let mode = mode(&arguments.hosts, arguments.dry_run);
    let reports = match Fleet::of(arguments.cluster.as_deref(), &arguments.hosts)? {
        Some(fleet) => fleet.change("undo", &[], mode),
        None => vec![here::undo(&arguments.hosts, mode)],
    };
    show::reports(&reports, "restored", mode, arguments.hosts.json)?;
    Ok(code(&reports))
}

/// Says how hosts are.
pub fn status(arguments: &StateArgs) -> Result<ExitCode, Failure> {
    let answers = match Fleet::of(arguments.cluster.as_deref(), &arguments.hosts)? {
        Some(fleet) => fleet.status(),
        None => vec![here::status(&arguments.hosts)],
    };
    show::status(&answers, arguments.hosts.json)?;
    let is_well = |answer: &show::HostStatus| {
        let is_as_set = |status: &Status| {
            status.drift.is_empty() && status.following.as_ref().is_none_or(|following| following.runs)
        };
        answer.problem.is_none() && answer.status.as_ref().is_some_and(is_as_set)
    };
    Ok(if answers.iter().all(is_well) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn mode(hosts: &HostsArgs, dry_run: bool) -> Mode {
    match (hosts.check, dry_run) {
        (true, _) => Mode::Check,
        (_, true) => Mode::Show,
        _ => Mode::Change,
    }
}

fn run(arguments: &ApplyArgs, mode: Mode) -> Result<Vec<Report>, Failure> {
    let hosts = &arguments.hosts;
    if hosts.here || hosts.host.is_some() {
        let file = arguments.cluster.as_deref().ok_or_else(|| Failure::new("name a cluster file"))?;
        return Ok(vec![here::apply(arguments, &load(file)?, mode)]);
    }
    let fleet = Fleet::of(arguments.cluster.as_deref(), hosts)?;
    let fleet = fleet.ok_or_else(|| Failure::new("name a cluster file or a --lab"))?;
    let mut words = words(arguments, fleet.offloads());
    if arguments.persist {
        words.extend(["--persist".into(), "--unit-dir".into(), arguments.unit_dir.display().to_string()]);
    }
    if arguments.no_persist {
        words.push("--no-persist".into());
    }
    Ok(fleet.change("apply", &words, mode))
}

/// The options that every host is told, besides those about its systemd unit.
fn words(arguments: &ApplyArgs, lab_offloads: Option<bool>) -> Vec<String> {
    let offloads = match (arguments.offloads, lab_offloads) {
        (crate::args::OnOff::On, _) => Some("on"),
        (crate::args::OnOff::Off, _) | (_, Some(false)) => Some("off"),
        _ => None,
    };
    let mut words = Vec::new();
    let mut option = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.extend([name.to_owned(), value]);
        }
    };
    option("--offloads", offloads.map(str::to_owned));
    option("--rings", arguments.rings.map(|length| length.to_string()));
    option("--rate", arguments.rate.map(|rate| rate.to_string()));
    let flags = [
        ("--no-names", arguments.no_names),
        ("--stop-forwarding", arguments.stop_forwarding),
        ("--no-watch", arguments.no_watch),
    ];
    words.extend(flags.iter().filter(|(_, on)| *on).map(|(name, _)| (*name).to_owned()));
    words
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

/// Where this host keeps its record.
fn state_folder(hosts: &HostsArgs) -> PathBuf {
    state_folder_or(hosts.state_dir.as_deref())
}

/// The folder that was asked for, or where this host keeps its record.
pub fn state_folder_or(asked: Option<&Path>) -> PathBuf {
    // A lab's hosts share the machine's /var; their /run is their own.
    let default =
        if Path::new(tasuki_lab::HOST_SOCKET).exists() { "/run/tasuki-state" } else { "/var/lib/tasuki" };
    asked.map_or_else(|| default.into(), Path::to_path_buf)
}

fn code(reports: &[Report]) -> ExitCode {
    let is_well = reports.iter().all(|report| report.problems.is_empty());
    if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
