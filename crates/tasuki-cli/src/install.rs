//! `tasuki install`: Tasuki on hosts that ssh reaches.

use indicatif::ProgressBar;
use std::{path::Path, process::ExitCode};
use tasuki_args::{InstallArgs, SshArgs};
use tasuki_discover::ssh_hosts;
use tasuki_fleet::{Fleet, SshHosts};
use tasuki_install::{Bundle, HostReport, Installer, Outcome, Place, Step, What};
use tasuki_job::own_provider;
use tasuki_terminal::{Failure, paragraph, print_json, progress_bar, table};

/// Runs the command.
pub fn run(arguments: &InstallArgs) -> Result<ExitCode, Failure> {
    let place = match arguments.user {
        true => Place::Home,
        false => Place::Below(arguments.prefix.clone()),
    };
    let reports = match arguments.remove {
        true => remove(&arguments.hosts, place, &arguments.ssh)?,
        false => install(&arguments.hosts, place, &arguments.ssh, arguments.deb.as_deref(), arguments.force)?,
    };
    match arguments.json {
        true => print_json(&reports)?,
        false => show(&reports),
    }
    Ok(code(&reports))
}

/// Puts this Tasuki, or a package, on hosts.
pub fn install(
    hosts: &[String],
    place: Place,
    ssh: &SshArgs,
    package: Option<&Path>,
    force: bool,
) -> Result<Vec<HostReport>, Failure> {
    let what = match package {
        Some(file) if !file.is_file() => {
            return Err(Failure::new(format!("there is no {}; `make deb` makes one", file.display())));
        }
        Some(file) => What::Package(file.into()),
        None => What::Bundle(Bundle::of(&std::env::current_exe()?, &own_provider()?)?),
    };
    with(hosts, place, ssh, force, |installer| installer.install(&what))
}

/// Takes away what `install` has put on hosts.
pub fn remove(hosts: &[String], place: Place, ssh: &SshArgs) -> Result<Vec<HostReport>, Failure> {
    with(hosts, place, ssh, false, |installer| installer.remove())
}

/// Takes away what `install` has put on the hosts of a fleet.
pub fn remove_from(fleet: &Fleet, place: Place, ssh: &SshArgs) -> Vec<HostReport> {
    let names: Vec<String> = (0..fleet.len()).map(|host| fleet.name(host)).collect();
    on(fleet, &names, place, ssh.sudo, false, |installer| installer.remove())
}

fn with(
    hosts: &[String],
    place: Place,
    ssh: &SshArgs,
    force: bool,
    work: impl FnOnce(&Installer<'_>) -> Vec<HostReport>,
) -> Result<Vec<HostReport>, Failure> {
    let cluster = ssh_hosts("hosts", hosts)?;
    let fleet = Fleet::Ssh(Box::new(SshHosts::through(cluster, ssh.command()?, vec!["tasuki".into()])));
    Ok(on(&fleet, hosts, place, ssh.sudo, force, work))
}

fn on(
    fleet: &Fleet,
    hosts: &[String],
    place: Place,
    sudo: bool,
    force: bool,
    work: impl FnOnce(&Installer<'_>) -> Vec<HostReport>,
) -> Vec<HostReport> {
    let bar = progress_bar(hosts.len() as u64).with_prefix("install");
    let progress = |step: Step<'_>| tell(&bar, step);
    let reports = work(&Installer {
        fleet,
        names: hosts,
        place,
        version: tasuki_args::VERSION,
        sudo,
        force,
        progress: &progress,
    });
    bar.finish_and_clear();
    reports
}

fn tell(bar: &ProgressBar, step: Step<'_>) {
    match step {
        Step::Sending(host) => bar.set_message(format!("sending to {host}")),
        Step::Done(host) => {
            bar.inc(1);
            bar.set_message(host.to_owned());
        }
    }
}

/// Prints what came of it: a table, what to know besides, and errors.
pub fn show(reports: &[HostReport]) {
    let mut rows = table(["host", "before", "now", "what"]);
    let version = |version: &Option<String>| version.clone().unwrap_or_else(|| "-".into());
    for report in reports {
        rows.add_row([
            report.host.clone(),
            version(&report.before),
            version(&report.after),
            word(report.outcome).to_owned(),
        ]);
    }
    println!("{rows}");
    for report in reports {
        if let Some(note) = &report.note {
            eprintln!("{}: {}", report.host, paragraph(note, 0));
        }
    }
    reports.iter().filter_map(HostReport::error).for_each(|error| eprintln!("tasuki: {error}"));
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Installed => "installed",
        Outcome::Same => "had it",
        Outcome::Removed => "removed",
        Outcome::Absent => "not there",
        Outcome::Failed => "FAILED",
    }
}

/// The exit code: whether all hosts have what was asked for.
pub fn code(reports: &[HostReport]) -> ExitCode {
    match reports.iter().any(|report| report.outcome == Outcome::Failed) {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}
