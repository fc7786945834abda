//! `tasuki up` and `tasuki down`: from discovered cables to a running cluster, and back.

mod demo;
mod file;
mod voice;

use crate::{
    apply::{self, Form},
    bench::interruption,
    discover::{Search, discover, show},
    install,
};
use serde::Serialize;
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Arc, PoisonError, atomic::Ordering},
    time::{Duration, Instant},
};
use tasuki_apply::{ApplyOptions, HostOptions};
use tasuki_args::{DownArgs, SshArgs, UpArgs};
use tasuki_cluster::Cluster;
use tasuki_discover::{Description, Finding, ssh_hosts};
use tasuki_fleet::{Fleet, LabHosts, SshHosts};
use tasuki_host::{Mode, Report};
use tasuki_install::{HostReport, Outcome, Place};
use tasuki_process::{ignore_broken_pipes, quote};
use tasuki_terminal::{Failure, print_json, written};
use tasuki_up::{Ending, Shown, Up, restore};
use voice::Terminal;

/// How long hosts may take to answer the discovery.
const WAIT: Duration = Duration::from_secs(30);
/// Exit code after Ctrl-C, as of a shell.
const INTERRUPTED: u8 = 130;
/// Exit code if the person does not want it.
const DECLINED: u8 = 3;

/// What `--json` prints.
#[derive(Serialize)]
struct Printed<'a> {
    ready: bool,
    why: Option<&'a str>,
    installed: &'a [HostReport],
    file: String,
    cluster: Option<&'a Cluster>,
    findings: &'a [Finding],
    changed: &'a [Report],
    check: &'a Option<tasuki_check::Report>,
    restored: &'a [Report],
    demonstration: Option<&'a Shown>,
    seconds: f64,
}

/// Runs `tasuki up`.
pub fn up(arguments: &UpArgs) -> Result<ExitCode, Failure> {
    let cluster = ssh_hosts(&arguments.name, &arguments.hosts).map_err(Failure::usage)?;
    let begun = Instant::now();
    let interrupted = interruption()?;
    for end in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register(end, Arc::clone(&interrupted))?;
    }
    // A host whose agent has ended is reported, and must not end this command before it has taken back what
    // it did.
    ignore_broken_pipes()?;
    let ended = |failure: Failure| match interrupted.load(Ordering::Relaxed) {
        true => Failure::new("interrupted; nothing was set up").with_code(INTERRUPTED),
        false => failure,
    };
    step(arguments, 1, "install");
    let (installed, remote) = install_all(arguments).map_err(ended)?;
    if interrupted.load(Ordering::Relaxed) {
        return Err(ended(Failure::new("")));
    }
    step(arguments, 2, "discover");
    let fleet = fleet_of(arguments, cluster, &remote).map_err(ended)?;
    let (fleet, found) = find(arguments, fleet).map_err(ended)?;

    step(arguments, 3, "diff, apply, check");
    let down = down_command(arguments, &remote);
    let terminal = Terminal::new(arguments.yes, arguments.json, &down, &interrupted);
    let (host_options, options) = (HostOptions::default(), ApplyOptions::at_every_start(arguments.persist));
    let up = Up::new(&fleet, &host_options, &options, &terminal, &interrupted)
        .map_err(|why| ended(Failure::new(why)))?;
    let mut ending = up.run();
    let mut shown = None;
    if ending == Ending::Ready && !arguments.no_demo {
        step(arguments, 4, "bench");
        shown = Some(demo::show(&fleet, provider(&installed), &interrupted, arguments.json));
        if let Some(given_up) = up.given_up() {
            up.take_back();
            ending = given_up;
        }
    }
    let why = why(&ending);
    let time = begun.elapsed();
    let told = if arguments.json {
        let told = terminal.told.lock().unwrap_or_else(PoisonError::into_inner);
        print_json(&Printed {
            ready: why.is_none(),
            why: why.as_ref().map(|failure| failure.message.as_str()),
            installed: &installed,
            file: arguments.output.display().to_string(),
            cluster: fleet.cluster(),
            findings: &found.findings,
            changed: &told.changed,
            check: &told.check,
            restored: &told.restored,
            demonstration: shown.as_ref(),
            seconds: time.as_secs_f64(),
        })
    } else {
        if why.is_none() {
            println!("\nReady after {:.0} s. What now:\n{}", time.as_secs_f64(), arguments.next_steps(&down));
        }
        written()
    };
    match why {
        Some(why) => Err(why),
        None => told.map(|()| ExitCode::SUCCESS).inspect_err(|_| up.take_back()),
    }
}

/// Says which step begins.
fn step(arguments: &UpArgs, number: u8, what: &str) {
    if !arguments.json {
        println!("\n{number}  {what}");
    }
}

/// Why hosts are not ready; `None`: they are.
fn why(ending: &Ending) -> Option<Failure> {
    match ending {
        Ending::Ready => None,
        Ending::Declined => Some(Failure::new("nothing was set up").with_code(DECLINED)),
        Ending::Interrupted => Some(Failure::new("interrupted").with_code(INTERRUPTED)),
        Ending::Failed(why) => Some(Failure::new(why)),
    }
}

/// Finds out how hosts are cabled, shows it, and writes the cluster file. Returns the hosts, as that file has
/// them.
fn find(arguments: &UpArgs, fleet: Fleet) -> Result<(Fleet, Description), Failure> {
    let UpArgs { name, time, include, .. } = arguments;
    let found = discover(&fleet, &Search { name, time: *time, wait: WAIT, include, measure: false })?;
    if !arguments.json {
        show(&found);
    }
    let (cluster, note) = file::settle(&found, fleet.len(), &arguments.output, arguments.overwrite.force)?;
    if !arguments.json {
        println!("\n{note}");
    }
    Ok((with_cluster(&fleet, cluster), found))
}

/// Puts Tasuki on hosts that lack it. Returns what came of it, and the command on hosts.
fn install_all(arguments: &UpArgs) -> Result<(Vec<HostReport>, String), Failure> {
    if arguments.lab.is_some() || arguments.no_install {
        if !arguments.json {
            println!("hosts have it");
        }
        return Ok((Vec::new(), "tasuki".into()));
    }
    let place = Place::Below(arguments.prefix.clone());
    let reports = install::install(&arguments.hosts, place, &arguments.ssh, None, false)?;
    if !arguments.json {
        install::show(&reports);
    }
    let failed: Vec<&str> = reports
        .iter()
        .filter(|report| report.outcome == Outcome::Failed)
        .map(|report| report.host.as_str())
        .collect();
    if !failed.is_empty() {
        // With --json nothing was printed yet.
        let errors: Vec<_> =
            reports.iter().filter(|_| arguments.json).filter_map(HostReport::error).collect();
        let hosts = format!("Tasuki cannot be used on {}; nothing was set up", failed.join(", "));
        return Err(Failure::new([errors, vec![hosts]].concat().join("\n")));
    }
    let mut paths: Vec<&str> = reports.iter().filter_map(|report| report.path.as_deref()).collect();
    paths.dedup();
    match paths[..] {
        [path] => {
            let path = path.to_owned();
            Ok((reports, path))
        }
        _ => Err(Failure::new(format!(
            "hosts have tasuki at different places: {}; remove it there, so that all get it below {}",
            paths.join(", "),
            arguments.prefix
        ))),
    }
}

/// The folder of the provider on hosts, if this machine has it there, too.
fn provider(installed: &[HostReport]) -> Option<PathBuf> {
    let path = Path::new(installed.first()?.path.as_deref()?);
    Some(path.parent()?.parent()?.join("lib/tasuki"))
        .filter(|folder| folder.join("libtasuki-fi.so").is_file())
}

fn fleet_of(arguments: &UpArgs, cluster: Cluster, remote: &str) -> Result<Fleet, Failure> {
    if let Some(lab) = &arguments.lab {
        return Ok(Fleet::Lab(Box::new(LabHosts::running(Some(lab))?)));
    }
    let SshArgs { sudo, .. } = arguments.ssh;
    let sudo: &[&str] = if sudo { &["sudo", "-n"] } else { &[] };
    let tasuki = sudo.iter().chain(&[remote]).map(|word| (*word).to_owned()).collect();
    Ok(Fleet::Ssh(Box::new(SshHosts::through(cluster, arguments.ssh.command()?, tasuki))))
}

/// The hosts of a fleet, as a cluster that is known now.
fn with_cluster(fleet: &Fleet, cluster: Cluster) -> Fleet {
    match fleet {
        Fleet::Local => Fleet::Local,
        Fleet::Lab(hosts) => Fleet::Lab(Box::new(hosts.as_ref().clone().held_against(cluster))),
        Fleet::Ssh(hosts) => Fleet::Ssh(Box::new(hosts.with_cluster(cluster))),
    }
}

/// The command that restores the hosts.
fn down_command(arguments: &UpArgs, remote: &str) -> String {
    if let Some(lab) = &arguments.lab {
        return format!("tasuki down --lab {lab}");
    }
    let mut command = format!("tasuki down {}", quote(arguments.output.as_os_str()));
    if remote != "/usr/local/bin/tasuki" && remote != "/usr/bin/tasuki" && remote != "tasuki" {
        command += &format!(" --remote {remote}");
    }
    if arguments.ssh.ssh != "ssh" {
        command += &format!(" --ssh {}", quote(arguments.ssh.ssh.as_ref()));
    }
    if arguments.ssh.sudo {
        command += " --sudo";
    }
    command
}

/// Runs `tasuki down`.
pub fn down(arguments: &DownArgs) -> Result<ExitCode, Failure> {
    let (ssh, tasuki) = arguments.remote.commands()?;
    let fleet = match &arguments.lab {
        Some(lab) => Fleet::Lab(Box::new(LabHosts::running(Some(lab))?)),
        None => {
            let cluster = Cluster::load(&arguments.cluster)?;
            Fleet::Ssh(Box::new(SshHosts::through(cluster, ssh, tasuki)))
        }
    };
    let reports = restore(&fleet, &HostOptions::default(), &apply::progress());
    let form = if arguments.json { Form::Json } else { Form::Brief };
    apply::reports(&reports, "restored", Mode::Change, form)?;
    let is_well = reports.iter().all(|report| report.problems.is_empty());
    if !arguments.remove {
        return Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    if !is_well {
        return Err(Failure::new("Tasuki was not taken away: without it the hosts above cannot be restored"));
    }
    let ssh = SshArgs { ssh: arguments.remote.ssh.clone(), sudo: arguments.remote.sudo };
    let removed = install::remove_from(&fleet, Place::Below(arguments.prefix.clone()), &ssh);
    match arguments.json {
        true => print_json(&removed)?,
        false => install::show(&removed),
    }
    Ok(install::code(&removed))
}
