//! `tasuki bench raw`: what TCP, UDP and bare frames give between two hosts, without any MPI.

use super::LabNetwork;
use crate::{
    args::BenchRaw,
    failure::Failure,
    terminal::{print_json, progress_bar, table},
};
use std::{
    ffi::OsString,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::ExitCode,
    thread,
    time::Duration,
};
use tasuki_bench::raw::{Measure, Outcome, Peer, Serve, Test, limits};
use tasuki_cluster::HostId;
use tasuki_lab::HOST_PROGRAM;
use tasuki_process::{Output, run_limited};

/// Port of the peers' control connection, on the management network.
const PORT: u16 = 7117;
/// How long either peer waits for the other to begin.
const PATIENCE_SECONDS: f64 = 20.0;

/// A measurement between two hosts.
pub struct Pair {
    /// The host that measures.
    pub from: HostId,
    /// The host that answers.
    pub to: HostId,
}

/// Throughput of every protocol for `seconds` each, and short ping-pongs before it if `latency` is set.
pub fn tests(line: Option<u64>, seconds: f64, latency: bool) -> Vec<Test> {
    let mut tests = limits(&[8, 1024], seconds / 10.0, line);
    tests.retain(|test| latency || matches!(test, Test::Throughput { .. }));
    tests
}

/// Runs the tests between two hosts that share a cable or switch.
pub fn measure(network: &LabNetwork, pair: &Pair, tests: Vec<Test>) -> Result<Outcome, Failure> {
    let name = |host| network.cluster.host_of(host).name.clone();
    let rail = network.direct_rail(pair.from, pair.to).ok_or_else(|| {
        Failure::new(format!("{} and {} share neither cable nor switch", name(pair.from), name(pair.to)))
    })?;
    let nic = |side: usize| network.cluster.nic_of(rail.nics[side]).name.clone();
    let links = &network.plan.hosts[pair.to.0].links;
    let data = links.iter().find(|link| link.interface == nic(1)).map(|link| link.address);
    let data = data.ok_or_else(|| Failure::new(format!("{} has no address", nic(1))))?;
    let server = SocketAddr::from((network.cluster.lab_management(pair.to), PORT));
    let answering = Peer::Serve(Serve {
        listen: server,
        interface: Some(nic(1)),
        cpu: core(1),
        patience_s: PATIENCE_SECONDS,
    });
    let measuring = Peer::Measure(Measure {
        server,
        data,
        interface: Some(nic(0)),
        cpu: core(0),
        line_bits_per_second: (!network.options.unshaped)
            .then(|| network.options.rate.unwrap_or(rail.rate).bits_per_second),
        connect_s: PATIENCE_SECONDS,
        tests,
    });
    run_peers(network, pair, [&measuring, &answering], [None, None])
}

/// Runs both peers to their end, each as a member of the control group that has this file of members, if one is given: first the one that
/// measures.
pub fn run_peers(
    network: &LabNetwork,
    pair: &Pair,
    peers: [&Peer; 2],
    groups: [Option<PathBuf>; 2],
) -> Result<Outcome, Failure> {
    let [measuring, answering] = [0, 1].map(|side| (peers[side], groups[side].as_deref()));
    let (answered, measured) = thread::scope(|scope| {
        let answering = scope.spawn(|| run_peer(network, pair.to, answering.0, answering.1));
        let measured = run_peer(network, pair.from, measuring.0, measuring.1);
        (answering.join(), measured)
    });
    let measured = measured.map_err(|failure| match answered {
        Ok(Err(other)) => Failure::new(format!("{}; {}", failure.message, other.message)),
        _ => failure,
    })?;
    Ok(serde_json::from_str(&measured)?)
}

/// A core for each peer: two that spin on one core would measure the scheduler.
pub fn core(number: usize) -> Option<usize> {
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (cores >= 2).then_some(number)
}

/// Runs a peer in a host to its end.
fn run_peer(
    network: &LabNetwork,
    host: HostId,
    peer: &Peer,
    group: Option<&Path>,
) -> Result<String, Failure> {
    let specification = OsString::from(serde_json::to_string(peer)?);
    let words = ["raw-peer".into(), specification];
    let limit = Duration::from_secs(300);
    let mut command = match group {
        None => network.tasuki(host, words),
        // The process itself joins, so that nothing of it has run outside.
        Some(group) => network.command(host, joining(group, words)),
    };
    let output: Output = run_limited(&mut command, limit)?;
    if output.is_success() {
        return Ok(output.stdout);
    }
    let (host, reason) = (&network.cluster.host_of(host).name, output.reason());
    Err(Failure::new(format!("raw peer in {host}: {reason}: {}", output.stderr_tail(3))))
}

fn joining(group: &Path, words: [OsString; 2]) -> impl Iterator<Item = OsString> {
    let script = r#"echo 0 > "$0" && exec "$@""#;
    let shell = ["/bin/sh".into(), "-c".into(), script.into(), group.into(), HOST_PROGRAM.into()];
    shell.into_iter().chain(words)
}

/// Runs the command.
pub fn run(arguments: &BenchRaw) -> Result<ExitCode, Failure> {
    let mut results = Vec::new();
    for network in LabNetwork::of(&arguments.source)? {
        let pair = choose(&network, arguments.from.as_deref(), arguments.to.as_deref())?;
        let line = network.line_bits_per_second(pair.from, pair.to);
        let bar = progress_bar(1).with_prefix("raw").with_message(network.name.clone());
        let outcome = measure(&network, &pair, tests(line, arguments.seconds, !arguments.no_latency));
        bar.finish_and_clear();
        results.push((network.name.clone(), outcome?));
    }
    if arguments.json {
        let named: Vec<_> = results
            .iter()
            .map(|(network, outcome)| serde_json::json!({ "network": network, "outcome": outcome }))
            .collect();
        print_json(&named)?;
    } else {
        print(&results);
    }
    let failed = results.iter().any(|(_, outcome)| !outcome.failures.is_empty());
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The hosts that are named, or the first two that share a cable or switch.
pub fn choose(network: &LabNetwork, from: Option<&str>, to: Option<&str>) -> Result<Pair, Failure> {
    let host = |name: &str| {
        network.cluster.host(name).ok_or_else(|| Failure::new(format!("there is no host {name}")))
    };
    match (from, to) {
        (Some(from), Some(to)) => Ok(Pair { from: host(from)?, to: host(to)? }),
        _ => network
            .neighbours()
            .map(|(from, to)| Pair { from, to })
            .ok_or_else(|| Failure::new("no two hosts share a cable or switch")),
    }
}

fn print(results: &[(String, Outcome)]) {
    let mut rows = table(["network", "protocol", "test", "bytes", "median", "unit", "of the line"]);
    for (network, outcome) in results {
        for result in &outcome.ping_pongs {
            let median = tasuki_bench::stats::median(&result.samples).unwrap_or(f64::NAN) * 1e6;
            rows.add_row([
                network.clone(),
                result.protocol.to_string(),
                "half round trip".into(),
                result.bytes.to_string(),
                format!("{median:.2}"),
                "us".into(),
                String::new(),
            ]);
        }
        for result in &outcome.throughputs {
            let share = result.line_fraction.map_or("-".into(), |share| format!("{:.1} %", share * 100.0));
            rows.add_row([
                network.clone(),
                result.protocol.to_string(),
                "throughput".into(),
                String::new(),
                format!("{:.1}", result.payload_bytes_per_second() / 1e6),
                "MB/s".into(),
                share,
            ]);
        }
        for failure in &outcome.failures {
            eprintln!("tasuki: {network}: {failure}");
        }
    }
    println!("{rows}");
}
