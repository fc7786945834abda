//! Two hosts that measure the path between them, without any MPI (see [`crate::raw`]).

use super::Testbed;
use crate::{
    BenchError,
    raw::{Measure, Outcome, Peer, Protocol, Serve, Test, limits},
};
use std::{
    ffi::OsString,
    net::SocketAddr,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};
use tasuki_cluster::HostId;
use tasuki_lab::HOST_PROGRAM;
use tasuki_process::Limited;

/// Port of the peers' control connection.
const PORT: u16 = 7117;
/// Seconds that either peer waits for the other to begin.
pub(super) const MEETING_SECONDS: f64 = 20.0;
/// Longest time for all tests of two peers.
const LIMIT: Duration = Duration::from_secs(300);

/// The error that a host was named which is not there.
fn no_host(lab: &Testbed, name: &str) -> BenchError {
    let all: Vec<_> = lab.cluster.hosts.iter().map(|host| host.name.as_str()).collect();
    BenchError::refused(format!("there is no host {name}; there are {}", all.join(", ")))
}

/// Two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The host that measures.
    pub from: HostId,
    /// The host that answers.
    pub to: HostId,
}

impl Pair {
    /// The hosts that are named, or the first two that share a cable or switch.
    pub fn choose(lab: &Testbed, from: Option<&str>, to: Option<&str>) -> Result<Self, BenchError> {
        let host = |name: &str| lab.cluster.host(name).ok_or_else(|| no_host(lab, name));
        match (from, to) {
            (Some(from), Some(to)) => Ok(Self { from: host(from)?, to: host(to)? }),
            _ => lab
                .neighbours()
                .map(|(from, to)| Self { from, to })
                .ok_or_else(|| BenchError::refused("no two hosts share a cable or switch")),
        }
    }
}

/// Throughput of every protocol between two hosts for `seconds` each, after short ping-pongs if `latency` is
/// set. Frames are left out where the testbed does not allow them.
pub fn tests(network: &Testbed, pair: Pair, seconds: f64, latency: bool) -> Vec<Test> {
    let line = network.line_bits_per_second(pair.from, pair.to);
    let mut tests = limits(&[8, 1024], seconds / 10.0, line);
    let frames = Protocol::PacketRing;
    tests.retain(|test| match test {
        Test::PingPong { protocol, .. } => latency && (*protocol != frames || network.allows_frames()),
        Test::Throughput { protocol, .. } => *protocol != frames || network.allows_frames(),
        Test::Drain(_) | Test::Stream(_) => true,
    });
    tests
}

/// Runs tests between two hosts that share a cable or switch.
pub fn measure(lab: &Testbed, pair: Pair, tests: Vec<Test>) -> Result<Outcome, BenchError> {
    let name = |host| lab.cluster.host_of(host).name.clone();
    let rail = lab.direct_rail(pair.from, pair.to).ok_or_else(|| {
        BenchError::refused(format!(
            "{} and {} share neither cable nor switch",
            name(pair.from),
            name(pair.to)
        ))
    })?;
    let nic = |side: usize| lab.cluster.nic_of(rail.nics[side]).name.clone();
    let links = &lab.plan.hosts[pair.to.0].links;
    let data = links.iter().find(|link| link.interface == nic(1)).map(|link| link.address);
    let data = data.ok_or_else(|| BenchError::refused(format!("{} has no address", nic(1))))?;
    let server = SocketAddr::from((lab.control_address(pair.to), PORT));
    let answering = Peer::Serve(Serve {
        listen: server,
        interface: Some(nic(1)),
        cpu: lab.processor(1),
        silence_limit_s: MEETING_SECONDS,
    });
    let measuring = Peer::Measure(Measure {
        server,
        data,
        interface: Some(nic(0)),
        cpu: lab.processor(0),
        line_bits_per_second: lab.rate(&rail).map(|rate| rate.bits_per_second),
        connect_s: MEETING_SECONDS,
        tests,
    });
    run_peers(lab, pair, [&measuring, &answering], [None, None])
}

/// Runs two peers to their end: first the one that measures, then the one that answers. Each joins the
/// control group whose file of members is given for it, if one is.
pub(super) fn run_peers(
    lab: &Testbed,
    pair: Pair,
    peers: [&Peer; 2],
    groups: [Option<PathBuf>; 2],
) -> Result<Outcome, BenchError> {
    let [measuring, answering] = [0, 1].map(|side| (peers[side], groups[side].as_deref()));
    let (answered, measured) = thread::scope(|scope| {
        let answering = scope.spawn(|| run_peer(lab, pair.to, answering.0, answering.1));
        let measured = run_peer(lab, pair.from, measuring.0, measuring.1);
        (answering.join(), measured)
    });
    let measured = measured.map_err(|error| match answered {
        Ok(Err(other)) => BenchError::refused(format!("{error}; {other}")),
        _ => error,
    })?;
    Ok(serde_json::from_str(&measured)?)
}

/// The processor for one of two peers, the first or the second; `None` on a machine with a single one: two
/// peers that spin on one processor would measure the scheduler.
pub(super) fn own_processor(number: usize) -> Option<usize> {
    let processors = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (processors >= 2).then_some(number)
}

/// Runs a peer in a host to its end, and returns what it says.
fn run_peer(lab: &Testbed, host: HostId, peer: &Peer, group: Option<&Path>) -> Result<String, BenchError> {
    let words = ["raw-peer".into(), OsString::from(serde_json::to_string(peer)?)];
    let mut command = match group {
        None => lab.tasuki(host, words),
        Some(group) => lab.command(host, joining(group, words)),
    };
    let output = Limited::new(LIMIT).end_with_parent().run(&mut command)?;
    if output.is_success() {
        return Ok(output.stdout);
    }
    let (host, reason) = (&lab.cluster.host_of(host).name, output.reason());
    Err(BenchError::refused(format!("raw peer on {host}: {reason}: {}", output.stderr_tail(3))))
}

/// A command in a lab that joins a control group and becomes this program: nothing of the program runs
/// outside of the group.
fn joining(group: &Path, words: [OsString; 2]) -> impl Iterator<Item = OsString> {
    let script = r#"echo 0 > "$0" && exec "$@""#;
    let shell = ["/bin/sh".into(), "-c".into(), script.into(), group.into(), HOST_PROGRAM.into()];
    shell.into_iter().chain(words)
}
