//! `tasuki check`: an agent on every host, and what they found.

mod burn_in;

use crate::{
    args::CheckArgs,
    bench::LabNetwork,
    failure::Failure,
    places::{host_name, in_lab, over_ssh, this_program},
    terminal::{percent_bar, print_json},
};
use nix::sys::signal::{SigHandler, Signal, signal};
use std::{
    io::{stdin, stdout},
    process::{Command, ExitCode},
    time::{SystemTime, UNIX_EPOCH},
};
use tasuki_check::{Agents, Checker, Options, Report};
use tasuki_cluster::{Cluster, HostId};

/// The hidden command that runs on every host.
const AGENT: &str = "check-agent";
/// Exit code when nothing could be checked.
const UNKNOWN: u8 = 3;
/// What hosts of a lab, which share one machine, may send at once, bit/s. A fast cable is measured alone.
const LAB_BITS_PER_SECOND: u64 = 400_000_000;
/// The bar's length.
const PARTS: f64 = 1000.0;

/// The agent of this host, fed on standard input.
pub fn agent() -> Result<ExitCode, Failure> {
    tasuki_check::agent::run(stdin().lock(), stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}

/// The cluster and the way to its hosts.
struct Subject {
    cluster: Cluster,
    lab: Option<LabNetwork>,
}

impl Subject {
    fn of(arguments: &CheckArgs) -> Result<Self, Failure> {
        let file = arguments.cluster.as_deref().map(Cluster::load).transpose()?;
        let lab = match (&arguments.lab, &file) {
            (Some(name), _) => Some(LabNetwork::running(Some(name))?),
            (None, None) => Some(LabNetwork::running(None)?),
            _ => None,
        };
        let mut cluster = match (file, &lab) {
            (Some(file), Some(_)) => file.with_lab_macs(),
            (Some(file), None) => file,
            (None, Some(lab)) => lab.cluster.clone(),
            (None, None) => return Err(Failure::new("name a cluster file or a --lab")),
        };
        if let Some(rate) = lab.as_ref().and_then(|lab| lab.options.rate) {
            cluster.hosts.iter_mut().flat_map(|host| &mut host.nics).for_each(|nic| nic.rate = rate);
        }
        Ok(Self { cluster, lab })
    }

    fn agents(&self, arguments: &CheckArgs) -> Result<Agents, Failure> {
        let (ssh, mut remote) = arguments.remote.words()?;
        remote.push(AGENT.to_owned());
        let command = |(number, host): (usize, &tasuki_cluster::Host)| {
            let command = match &self.lab {
                Some(network) => self.in_lab(network, number),
                None if host.name == host_name() => this_program([AGENT]),
                None => over_ssh(&ssh, self.cluster.ssh_target(HostId(number)), &remote),
            };
            (host.name.clone(), command)
        };
        Ok(Agents::start(self.cluster.hosts.iter().enumerate().map(command)))
    }

    /// A host of the lab goes by its name: the file may have them in another order.
    fn in_lab(&self, network: &LabNetwork, number: usize) -> Command {
        let name = &self.cluster.hosts[number].name;
        in_lab(
            network,
            network.cluster.host(name).unwrap_or(HostId(number.min(network.cluster.hosts.len() - 1))),
            [AGENT],
        )
    }
}

/// Runs the command.
pub fn run(arguments: &CheckArgs) -> Result<ExitCode, Failure> {
    let unknown = |failure: Failure| failure.with_code(UNKNOWN);
    let report = check(arguments).map_err(unknown)?;
    if let Some(file) = &arguments.report {
        std::fs::write(file, tasuki_check::page(&report))
            .map_err(|error| unknown(Failure::new(format!("cannot write {}: {error}", file.display()))))?;
    }
    if arguments.json {
        print_json(&report).map_err(unknown)?;
    } else {
        show(&report);
    }
    Ok(ExitCode::from(report.exit_code()))
}

fn check(arguments: &CheckArgs) -> Result<Report, Failure> {
    // A host whose agent has ended is named; it does not end the check.
    // SAFETY: ignoring installs no handler. Commands that are started have the default action again.
    unsafe { signal(Signal::SIGPIPE, SigHandler::SigIgn) }?;
    let subject = Subject::of(arguments)?;
    // Nobody is to wait for hours to hear that there is nothing to run.
    burn_in::kernels(arguments)?;
    let from_clock =
        || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.subsec_nanos().into());
    let options = Options {
        stages: arguments.stages.clone(),
        seed: arguments.seed.unwrap_or_else(from_clock),
        time: arguments.time,
        total_bits_per_second: subject.lab.is_some().then_some(LAB_BITS_PER_SECOND),
        memory_mb: if subject.lab.is_some() { arguments.memory_mb.min(16) } else { arguments.memory_mb },
        errors_per_hour: arguments.errors_per_hour,
    };
    let bar = percent_bar(PARTS as u64).with_prefix("check");
    let agents = subject.agents(arguments)?;
    let mut progress = |done: f64, what: &str| {
        bar.set_position((done * PARTS) as u64);
        bar.set_message(what.to_owned());
    };
    let mut report = Checker::new(&subject.cluster, agents, options, &mut progress)?.run();
    if arguments.stages.contains(&4) {
        burn_in::run(arguments, &subject, &mut report, |number, name| {
            bar.set_position((950 + number * 6) as u64);
            bar.set_message(name.to_owned());
        })?;
    }
    bar.finish_and_clear();
    Ok(report)
}

fn show(report: &Report) {
    for finding in &report.findings {
        let mark = if finding.warning { "warning" } else { "FAULT" };
        println!("{mark}: {}", finding.part);
        println!("  {}", finding.says);
        finding.evidence.iter().filter(|seen| !seen.is_empty()).for_each(|seen| println!("  - {seen}"));
        println!("  -> {}\n", finding.advice);
    }
    let stages: Vec<_> = report.stages.iter().map(u8::to_string).collect();
    let faults = report.findings.iter().filter(|finding| !finding.warning).count();
    let found = match (faults, report.findings.len() - faults) {
        (0, 0) => "nothing found".to_owned(),
        (faults, warnings) => format!("{faults} faults, {warnings} warnings"),
    };
    println!(
        "{}: {found}; stages {}, {:.1} s, seed {}",
        report.cluster,
        stages.join(","),
        report.seconds,
        report.seed
    );
}
