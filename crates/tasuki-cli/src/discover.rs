//! `tasuki discover`: an agent on every host, and the cluster file that follows from what they heard.

use crate::{
    args::DiscoverArgs,
    failure::Failure,
    terminal::{percent_bar, print_json, table},
};
use nix::sys::signal::{SigHandler, Signal, signal};
use serde::Serialize;
use std::{
    io::{stdin, stdout},
    process::ExitCode,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tasuki_cluster::{Cluster, End, HostId, NicId};
use tasuki_discover::{Description, Discoverer, Finding, Options, describe, ssh_hosts};
use tasuki_fleet::{Fleet, LabHosts, SshHosts};
use tasuki_plan::{cabling_list, write_file};

/// Steps of the progress bar.
const PARTS: f64 = 1000.0;

/// Runs the agent of this host, which takes orders on standard input and answers on standard output.
pub fn agent() -> Result<ExitCode, Failure> {
    // SAFETY: ignoring a signal installs no handler. It is ignored so that an agent whose discoverer is gone
    // still puts NICs back.
    unsafe { signal(Signal::SIGPIPE, SigHandler::SigIgn) }?;
    tasuki_discover::agent::run(stdin().lock(), stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}

/// Runs the guard of an agent, which sets NICs down when its standard input ends.
pub fn guard(names: &[String]) -> Result<ExitCode, Failure> {
    // SAFETY: ignoring a signal installs no handler. It is ignored because the guard has to do its work also
    // when nobody reads what it says.
    unsafe { signal(Signal::SIGPIPE, SigHandler::SigIgn) }?;
    tasuki_discover::agent::guard_main(names, stdin().lock(), stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}

/// What `--json` prints.
#[derive(Serialize)]
struct Shown<'a> {
    cluster: &'a Cluster,
    findings: &'a [Finding],
    file: &'a str,
}

/// Runs the command.
pub fn run(arguments: &DiscoverArgs) -> Result<ExitCode, Failure> {
    arguments.overwrite.check(arguments.output.as_deref())?;
    // SAFETY: ignoring a signal installs no handler. It is ignored because a host whose agent has ended is
    // reported, and must not end the discovery.
    unsafe { signal(Signal::SIGPIPE, SigHandler::SigIgn) }?;
    let fleet = fleet_of(arguments)?;
    let DiscoverArgs { name, time, wait, include, .. } = arguments;
    let found = discover(&fleet, &Search { name, time: *time, wait: *wait, include })?;
    // A file is written only if it can be used. What was found is shown in any case.
    let checked = Cluster::parse(&found.text, None);
    if arguments.json {
        print_json(&Shown { cluster: &found.cluster, findings: &found.findings, file: &found.text })?;
    } else {
        show(&found);
    }
    checked.map_err(|error| Failure::new(format!("no cluster file follows from this: {error}")))?;
    if found.cluster.cables.is_empty() {
        return Err(Failure::new("no cable between hosts was found, so no cluster file was written"));
    }
    if let Some(path) = &arguments.output {
        write_file(path, &found.text)?;
        if !arguments.json {
            let lab = arguments.lab.as_ref().map_or(String::new(), |lab| format!(" --lab {lab}"));
            println!("\nWritten to {0}; what it would set up: tasuki diff{lab} {0}", path.display());
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What is looked for.
pub struct Search<'a> {
    /// Name of the cluster.
    pub name: &'a str,
    /// How long NICs say hello and listen.
    pub time: Duration,
    /// How long hosts may take to answer.
    pub wait: Duration,
    /// NICs that take part although they would be left alone, as `[HOST:]NIC`.
    pub include: &'a [String],
}

/// Finds out how the hosts of a fleet are cabled.
pub fn discover(fleet: &Fleet, search: &Search<'_>) -> Result<Description, Failure> {
    let include = search.include.iter().map(|text| match text.split_once(':') {
        Some((host, nic)) => (Some(host.to_owned()), nic.to_owned()),
        None => (None, text.clone()),
    });
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64);
    let options = Options {
        run: now ^ u64::from(std::process::id()).rotate_left(48),
        time: search.time,
        wait: search.wait,
        include: include.collect(),
    };
    let bar = percent_bar(PARTS as u64).with_prefix("discover");
    let mut progress = |done: f64, what: &str| {
        bar.set_position((done * PARTS) as u64);
        bar.set_message(what.to_owned());
    };
    let discovered = Discoverer::new(fleet, &options, &mut progress).run();
    bar.finish_and_clear();
    let management = |host: usize| match fleet {
        Fleet::Ssh(hosts) => hosts.cluster.host_of(HostId(host)).management.clone(),
        Fleet::Local | Fleet::Lab(_) => None,
    };
    Ok(describe(search.name, &discovered?, management))
}

fn fleet_of(arguments: &DiscoverArgs) -> Result<Fleet, Failure> {
    if let Some(lab) = &arguments.lab {
        return Ok(Fleet::Lab(Box::new(LabHosts::running(Some(lab))?)));
    }
    if arguments.local {
        return Ok(Fleet::Local);
    }
    let (ssh, tasuki) = arguments.remote.commands()?;
    let cluster = ssh_hosts(&arguments.name, &arguments.hosts)?;
    Ok(Fleet::Ssh(Box::new(SshHosts::through(cluster, ssh, tasuki))))
}

/// Prints what was found: NICs, the cabling list, and what is odd.
pub fn show(found: &Description) {
    let cluster = &found.cluster;
    let mut rows = table(["host", "NIC", "rate", "MTU", "cable to"]);
    for (number, host) in cluster.hosts.iter().enumerate() {
        for (index, nic) in host.nics.iter().enumerate() {
            let own = End::Nic(NicId { host: HostId(number), index });
            let cable = cluster.cable_at(own).map(|cable| cluster.cable_of(cable).ends);
            let there = cable.map(|[a, b]| cluster.end_name(if a == own { b } else { a }));
            let name = if index == 0 { host.name.clone() } else { String::new() };
            let there = there.unwrap_or_else(|| "-".into());
            rows.add_row([name, nic.name.clone(), nic.rate.to_string(), nic.mtu.to_string(), there]);
        }
    }
    println!("{rows}\n");
    print!("{}", cabling_list(cluster, None));
    if !found.findings.is_empty() {
        println!("\nFound besides:");
        found.findings.iter().for_each(|finding| println!("  - {}", finding.line()));
    }
}
