//! `tasuki bench stripe`: one TCP stream over 1 to 8 NICs, by Tasuki's striping and by its rivals, in interleaved repetitions: the NIC distribution
//! paper's figures 2 to 4 again.

mod bundle;
mod cross;
mod cross_kernels;
mod cross_networks;
mod plan;
mod quota;

pub use bundle::set_up as bundle_here;
pub use cross::run as run_cross;

use super::{
    LabNetwork,
    raw::{Pair, core, run_peers},
    results::give,
    turns::{in_turn, interruption},
};
use crate::{args::BenchStripe, failure::Failure, terminal::progress_bar};
use plan::{Point, labs, points};
use quota::Quotas;
use std::{
    ffi::OsString,
    net::SocketAddr,
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use tasuki_bench::{
    Machine,
    raw::{Measure, Outcome, Peer, Serve, StreamTest, Streamed, Test},
    stripe::{FailedCase, StripeReport, Way},
};
use tasuki_cluster::HostId;
use tasuki_process::run_limited;

/// Port of the peers' control connection, on the management network.
const PORT: u16 = 7118;
/// How long either peer waits for the other to begin.
const PATIENCE_SECONDS: f64 = 20.0;
/// Of the time that counts, so much passes before: connections must have found their speed.
const WARM_UP: f64 = 0.5;
/// Longest time to set up a host.
const SETUP_LIMIT: Duration = Duration::from_secs(20);
/// The third NIC brings nothing if it brings no more than this over two.
const NO_GAIN: f64 = 1.05;
/// Two NICs bring all that they can if they bring this part of what they bring without a quota.
const ALL_OF_TWO: f64 = 0.9;
/// How often another quota is tried at most.
const STEPS: u32 = 8;

/// Runs the command.
pub fn run(arguments: &BenchStripe) -> Result<ExitCode, Failure> {
    plan::check(arguments)?;
    let interrupted = interruption()?;
    let networks = labs(arguments)?;
    let quotas = match arguments.cpu.iter().any(|speed| speed.is_slow()) {
        true => Some(slow(arguments, &networks[0].1, &interrupted)?),
        false => None,
    };
    let points = points(arguments, &networks, quotas.as_ref().map(|(_, percent)| *percent));
    let mut points: Vec<_> = points.into_iter().map(|point| (point, false)).collect();
    let mut report = StripeReport::new(Machine::here());
    let name = |(point, _): &(Point<'_>, bool)| point.case.to_string();
    let step = |(point, failed): &mut (Point<'_>, bool), repetition| {
        if *failed {
            return;
        }
        let groups = point.case.quota_percent.and(quotas.as_ref()).map(|(groups, _)| groups);
        match measure(arguments, point, groups) {
            Ok(streamed) => report.add(point.case, streamed),
            Err(failure) => {
                *failed = true;
                report.failures.push(FailedCase { case: point.case, repetition, reason: failure.message });
            }
        }
    };
    report.interrupted = in_turn("stripe", &interrupted, arguments.repetitions, &mut points, name, step);
    give(&arguments.results, "stripe", &report.table(), &report.json()?, || Ok(report.charts()?))?;
    Ok(if report.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// One repetition of a point.
fn measure(arguments: &BenchStripe, point: &Point<'_>, groups: Option<&Quotas>) -> Result<Streamed, Failure> {
    bundle::make(point.network, point.wanted, core)?;
    let way = point.wanted.way;
    let test = stream(way, point.case.streams, point.case.bytes, arguments.seconds);
    peers(point.network, way, vec![test], groups)?.streams.pop().ok_or_else(nothing)
}

/// Streams of messages of so many bytes, from the first host to the second.
fn stream(way: Way, streams: u32, bytes: u32, seconds: f64) -> Test {
    let (mptcp, warm_up_s) = (way == Way::Mptcp, WARM_UP * seconds);
    Test::Stream(StreamTest { mptcp, streams, bytes, seconds, warm_up_s })
}

fn nothing() -> Failure {
    Failure::new("the peers measured nothing")
}

/// Tests from the first host of a network to the second's identity address, all of which must succeed. One NIC, and the first path of Multipath TCP, mean a link
/// address: to the identity address, connections are spread over the NICs even where nothing is striped.
fn peers(
    network: &LabNetwork,
    way: Way,
    tests: Vec<Test>,
    groups: Option<&Quotas>,
) -> Result<Outcome, Failure> {
    let pair = Pair { from: HostId(0), to: HostId(1) };
    let far = &network.plan.hosts[pair.to.0];
    let link = far.links.first().map(|link| link.address);
    let link = link.filter(|_| matches!(way, Way::One | Way::Mptcp));
    let server = SocketAddr::from((network.cluster.lab_management(pair.to), PORT));
    let serving =
        Peer::Serve(Serve { listen: server, interface: None, cpu: core(1), patience_s: PATIENCE_SECONDS });
    let measuring = Peer::Measure(Measure {
        server,
        data: link.unwrap_or(far.identity),
        interface: None,
        cpu: core(0),
        line_bits_per_second: None,
        connect_s: PATIENCE_SECONDS,
        tests,
    });
    let doors = [0, 1].map(|side| groups.map(|groups| groups.door(side)));
    let outcome = run_peers(network, &pair, [&measuring, &serving], doors)?;
    match outcome.failures.first() {
        None => Ok(outcome),
        Some(failure) => Err(Failure::new(failure)),
    }
}

/// Runs an internal command in a host.
fn inside(network: &LabNetwork, host: HostId, command: &str, specification: &str) -> Result<(), Failure> {
    let words = [OsString::from(command), specification.into()];
    let output = run_limited(&mut network.tasuki(host, words), SETUP_LIMIT)?;
    if output.is_success() {
        return Ok(());
    }
    let name = &network.cluster.host_of(host).name;
    Err(Failure::new(format!("{command} in {name}: {}: {}", output.reason(), output.stderr_tail(3))))
}

/// Groups with a share of a processor with which, as in the paper, two NICs are as much as it can do: what the busier side's process spends
/// on two, then less until a third brings nothing, or more until two bring what they can.
fn slow(
    arguments: &BenchStripe,
    network: &LabNetwork,
    interrupted: &AtomicBool,
) -> Result<(Quotas, f64), Failure> {
    if let Some(percent) = arguments.quota {
        return Ok((Quotas::new(percent)?, percent));
    }
    let bar = progress_bar(STEPS.into()).with_prefix("stripe").with_message("how slow a processor must be");
    let bytes = arguments.bytes.iter().copied().min().unwrap_or(1024);
    let rate = |nics: usize, groups: Option<&Quotas>| {
        let way = Way::RoundRobin;
        bundle::make(
            network,
            bundle::Wanted { way, nics, granularity: arguments.granularity, delay_us: None },
            core,
        )?;
        let test = stream(way, arguments.streams, bytes, arguments.seconds.max(1.0));
        peers(network, way, vec![test], groups)?.streams.pop().ok_or_else(nothing)
    };
    let free = rate(2, None)?;
    let mut percent = (100.0 * free.sender.process.max(free.receiver.process)).clamp(0.2, 100.0);
    let quotas = Quotas::new(percent)?;
    for _ in 0..STEPS {
        let (two, three) = (rate(2, Some(&quotas))?, rate(3, Some(&quotas))?);
        if interrupted.load(Ordering::Relaxed) {
            return Err(Failure::new("interrupted before anything was measured").with_code(130));
        }
        bar.inc(1);
        if three.bytes_per_second() > NO_GAIN * two.bytes_per_second() {
            percent *= 0.85;
        } else if two.bytes_per_second() < ALL_OF_TWO * free.bytes_per_second() {
            percent *= 1.15;
        } else {
            break;
        }
        quotas.set(percent)?;
    }
    bar.finish_and_clear();
    Ok((quotas, percent))
}
