//! `tasuki cluster ...`

use serde::Serialize;
use std::{path::PathBuf, process::ExitCode};
use tasuki_args::{CheckedFile, ClusterCommand, ClusterNew};
use tasuki_cluster::{
    AddressPlan, Cluster, HostPlan, NextHop, RailNames, RoutePlan,
    generate::{Options, generate},
};
use tasuki_plan::write_file;
use tasuki_terminal::{Failure, print_json, table};

/// Runs a cluster command.
pub fn run(command: ClusterCommand) -> Result<ExitCode, Failure> {
    match command {
        ClusterCommand::New(arguments) => new(&arguments)?,
        ClusterCommand::Check { files, json } => return check(&files, json),
        ClusterCommand::Show { source, json } => show(&source.cluster()?, json)?,
        ClusterCommand::Rails { source, json } => rails(&source.cluster()?, json)?,
        ClusterCommand::Routes { source, host, json } => {
            routes(&source.cluster()?, host.as_deref(), json)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn new(arguments: &ClusterNew) -> Result<(), Failure> {
    arguments.overwrite.check_file(arguments.output.as_deref())?;
    let options = Options {
        rate: arguments.rate,
        mtu: arguments.mtu,
        cores: arguments.cores,
        nics_per_cable: arguments.copies,
    };
    let text = generate(&arguments.shape, &options).map_err(Failure::usage)?.to_toml();
    match &arguments.output {
        None => print!("{text}"),
        Some(path) => write_file(path, &text)?,
    }
    Ok(())
}

fn check(files: &[PathBuf], json: bool) -> Result<ExitCode, Failure> {
    let checked: Vec<_> = files.iter().map(|file| CheckedFile::read(file)).collect();
    if json {
        print_json(&checked)?;
    } else {
        checked.iter().filter(|file| file.is_good()).for_each(|file| println!("{file}"));
        checked.iter().filter(|file| !file.is_good()).for_each(|file| eprintln!("{file}"));
    }
    Ok(ExitCode::from(u8::from(!checked.iter().all(CheckedFile::is_good))))
}

/// A cluster, and the addresses and routes that follow from it.
#[derive(Serialize)]
struct Shown<'a> {
    cluster: &'a Cluster,
    plan: &'a AddressPlan,
}

fn show(cluster: &Cluster, json: bool) -> Result<(), Failure> {
    let plan = AddressPlan::new(cluster)?;
    if json {
        return print_json(&Shown { cluster, plan: &plan });
    }
    let mut hosts = table(["host", "identity", "relays", "NIC", "link address", "rate", "MTU", "cable to"]);
    for (host, plan) in cluster.hosts.iter().zip(&plan.hosts) {
        let relays = if plan.relays() { "yes" } else { "" };
        let mut first = [host.name.clone(), plan.identity.to_string(), relays.into()];
        for nic in &host.nics {
            let link = plan.links.iter().find(|link| link.interface == nic.name);
            let [name, identity, relays] = std::mem::take(&mut first);
            let address = link.map_or("-".into(), |link| link.address.to_string());
            let peer = other_end(cluster, &format!("{}:{}", host.name, nic.name));
            let (rate, mtu) = (nic.rate.to_string(), nic.mtu.to_string());
            hosts.add_row([name, identity, relays, nic.name.clone(), address, rate, mtu, peer]);
        }
    }
    println!("{hosts}");
    if !cluster.switches.is_empty() {
        let mut switches = table(["switch", "ports", "rate"]);
        for switch in &cluster.switches {
            switches.add_row([&switch.name, &switch.ports.to_string(), &switch.rate.to_string()]);
        }
        println!("\n{switches}");
    }
    Ok(())
}

/// The other end of the cable at this NIC, or `-`.
fn other_end(cluster: &Cluster, nic: &str) -> String {
    let cable = cluster.cables.iter().map(|cable| cable.ends.map(|end| cluster.end_name(end)));
    let other = cable.into_iter().find_map(|[a, b]| match (a == nic, b == nic) {
        (true, _) => Some(b),
        (_, true) => Some(a),
        _ => None,
    });
    other.unwrap_or_else(|| "-".into())
}

/// Rails of one pair of hosts.
#[derive(Serialize)]
struct PairRails {
    hosts: [String; 2],
    rails: Vec<RailNames>,
}

fn rails(cluster: &Cluster, json: bool) -> Result<(), Failure> {
    let name = |id| cluster.host_of(id).name.clone();
    let pairs: Vec<PairRails> = cluster
        .all_rails()
        .into_iter()
        .map(|((a, b), rails)| PairRails {
            hosts: [name(a), name(b)],
            rails: rails.iter().map(|rail| rail.names(cluster)).collect(),
        })
        .collect();
    if json {
        return print_json(&pairs);
    }
    let mut rows = table(["hosts", "rail", "rate", "MTU", "over"]);
    for pair in &pairs {
        for rail in &pair.rails {
            let over = match (rail.relays.is_empty(), rail.switches.is_empty()) {
                (false, _) => format!("relays {}", rail.relays.join(", ")),
                (_, false) => rail.switches.join(", "),
                _ => "cable".into(),
            };
            let rate = rail.rate.to_string();
            rows.add_row([pair.hosts.join(" - "), rail.nics.join(" - "), rate, rail.mtu.to_string(), over]);
        }
    }
    println!("{rows}");
    Ok(())
}

fn routes(cluster: &Cluster, host: Option<&str>, json: bool) -> Result<(), Failure> {
    let plan = AddressPlan::new(cluster)?;
    if let Some(host) = host
        && cluster.host(host).is_none()
    {
        let names: Vec<_> = cluster.hosts.iter().map(|host| host.name.as_str()).collect();
        return Err(Failure::new(format!("there is no host {host}; there are {}", names.join(", "))));
    }
    let chosen: Vec<&HostPlan> =
        plan.hosts.iter().filter(|plan| host.is_none_or(|host| plan.host == host)).collect();
    if json {
        return print_json(&chosen);
    }
    let mut rows = table(["host", "to", "address", "source", "next hops"]);
    for plan in chosen {
        for RoutePlan { to, destination, source, next_hops } in &plan.routes {
            let hops: Vec<String> = next_hops.iter().map(next_hop).collect();
            let (to, address) = (cluster.host_of(*to).name.clone(), destination.to_string());
            rows.add_row([plan.host.clone(), to, address, source.to_string(), hops.join(", ")]);
        }
    }
    println!("{rows}");
    Ok(())
}

fn next_hop(hop: &NextHop) -> String {
    match hop.via {
        Some(via) => format!("{} via {via}", hop.interface),
        None => hop.interface.clone(),
    }
}
