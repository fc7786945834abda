//! `tasuki discover`: an agent on every host, and the cluster file that follows from what they heard.

use serde::Serialize;
use std::{
    io::{stdin, stdout},
    process::ExitCode,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tasuki_args::DiscoverArgs;
use tasuki_cluster::{Cluster, End, HostId, NicId};
use tasuki_discover::{Description, Discoverer, Finding, Options, describe, patch, revised, ssh_hosts};
use tasuki_fleet::{Fleet, LabHosts, SshHosts};
use tasuki_plan::{advice, cabling_list, picture::draw_cluster, write_file};
use tasuki_process::ignore_broken_pipes;
use tasuki_terminal::{Failure, paragraph, percent_bar, print_json, table};
use tasuki_topo::Network;

/// Steps of the progress bar.
const PARTS: f64 = 1000.0;

/// Runs the agent of this host, which takes orders on standard input and answers on standard output.
pub fn agent() -> Result<ExitCode, Failure> {
    // An agent whose discoverer is gone still puts NICs back.
    ignore_broken_pipes()?;
    tasuki_discover::agent::run(stdin().lock(), stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}

/// Runs the guard of an agent, which sets NICs down when its standard input ends.
pub fn guard(names: &[String]) -> Result<ExitCode, Failure> {
    // The guard has to do its work also when nobody reads what it says.
    ignore_broken_pipes()?;
    tasuki_discover::agent::guard_main(names, stdin().lock(), stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}

/// Exit code where a file differs from what was found, as of diff(1).
const DIFFERENT: u8 = 1;

/// What `--json` prints.
#[derive(Serialize)]
struct Shown<'a> {
    cluster: &'a Cluster,
    findings: &'a [Finding],
    file: &'a str,
    /// What changes in the file that is there; empty: nothing.
    patch: Option<&'a str>,
    advice: Option<&'a str>,
}

/// Runs the command.
pub fn run(arguments: &DiscoverArgs) -> Result<ExitCode, Failure> {
    arguments.overwrite.check_file(arguments.picture.as_deref())?;
    let known = known_file(arguments)?;
    // A host whose agent has ended is reported, and must not end the discovery.
    ignore_broken_pipes()?;
    let fleet = fleet_of(arguments)?;
    let DiscoverArgs { name, time, wait, include, no_measure, .. } = arguments;
    let search = Search { name, time: *time, wait: *wait, include, measure: !no_measure };
    let found = discover(&fleet, &search)?;
    let text = match &known {
        Some((_, known)) => found.text_of(&revised(known, &found)),
        None => found.text.clone(),
    };
    let change = known.as_ref().zip(arguments.output.as_deref());
    let change = change.map(|((old, _), file)| patch(&file.display().to_string(), old, &text));
    // Files are written before anything is shown, which may have no reader; what was found is shown also
    // where no file follows from it.
    let written = write(arguments, &found, &text, change.as_deref());
    let advice = advice(&found.cluster).ok().flatten();
    if arguments.json {
        let (cluster, findings) = (&found.cluster, found.findings.as_slice());
        let (patch, advice) = (change.as_deref(), advice.as_deref());
        print_json(&Shown { cluster, findings, file: &text, patch, advice })?;
    } else {
        show(&found);
        if let Some(advice) = &advice {
            println!("\n{}", paragraph(advice, 0));
        }
    }
    let (said, code) = written?;
    if !arguments.json && !said.is_empty() {
        println!("\n{said}");
    }
    Ok(ExitCode::from(code))
}

/// Writes the picture, and the cluster file if it can be used. Returns what is to be said of it, and the exit
/// code.
fn write(
    arguments: &DiscoverArgs,
    found: &Description,
    text: &str,
    change: Option<&str>,
) -> Result<(String, u8), Failure> {
    Cluster::parse(text, None)
        .map_err(|error| Failure::new(format!("no cluster file follows from this: {error}")))?;
    if found.cluster.cables.is_empty() {
        return Err(Failure::new("no cable between hosts was found, so no cluster file was written"));
    }
    if let Some(file) = &arguments.picture {
        write_file(file, &draw_cluster(&Network::from_cluster(&found.cluster)?, &found.cluster, &[])?)?;
    }
    let Some(path) = &arguments.output else { return Ok((String::new(), 0)) };
    match change {
        Some("") => return Ok((format!("{} describes what was found", path.display()), 0)),
        Some(change) if !arguments.write => {
            let said = format!("{change}\n--write changes the file so; --force writes it anew");
            return Ok((said, DIFFERENT));
        }
        _ => write_file(path, text)?,
    }
    let lab = arguments.lab.as_ref().map_or(String::new(), |lab| format!(" --lab {lab}"));
    Ok((format!("Written to {0}; what it would set up: tasuki diff{lab} {0}", path.display()), 0))
}

/// The cluster file that is there, with its text, unless it is to be written anew. Commands ask before they
/// begin, so that a discovery is not in vain.
fn known_file(arguments: &DiscoverArgs) -> Result<Option<(String, Cluster)>, Failure> {
    let there = arguments.output.as_deref().filter(|path| path.is_file() && !arguments.overwrite.force);
    let Some(path) = there else {
        arguments.overwrite.check_file(arguments.output.as_deref())?;
        return Ok(None);
    };
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
    let known = Cluster::parse(&text, Some(path)).map_err(|error| {
        Failure::new(format!(
            "{} is there already, and is no cluster file: {error}; --force writes over it",
            path.display()
        ))
    })?;
    Ok(Some((text, known)))
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
    /// Whether cables are measured.
    pub measure: bool,
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
        // Hosts of a lab share the processors of this machine.
        measured_at_once: search.measure.then_some(if matches!(fleet, Fleet::Lab(_)) { 1 } else { 32 }),
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
    let cluster = ssh_hosts(&arguments.name, &arguments.hosts).map_err(Failure::usage)?;
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
