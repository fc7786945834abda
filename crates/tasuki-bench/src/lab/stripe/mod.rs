//! One TCP stream over 1 to 8 NICs, by Tasuki's striping and by its rivals, in interleaved repetitions: the
//! NIC distribution paper's figures 2 to 4 again.

mod bundle;
mod bundle_setup;
mod points;
mod quota;

pub(super) use bundle::{Wanted, set_up_bundles};
pub use bundle_setup::set_up_bundle;
pub(super) use points::lab;

use super::{
    LabBuilder, Session, Testbed,
    peers::{MEETING_SECONDS, Pair, own_processor, run_peers},
    turns::in_turn,
};
use crate::{
    BenchError, Machine,
    raw::{Measure, Outcome, Peer, Serve, StreamTest, Streamed, Test},
    stripe::{Cabling, FailedCase, Spreading, StripeReport},
};
use points::{Point, labs, points};
use quota::{Quota, Quotas, Tried};
use std::net::SocketAddr;
use tasuki_cluster::{HostId, Rate};

/// Port of the peers' control connection, on the management network.
const PORT: u16 = 7118;
/// Time that passes before the time that counts, as a share of it: connections must have found their speed.
const WARM_UP: f64 = 0.5;
/// The third NIC brings nothing if three bring no more than this many times what two bring.
const NO_GAIN: f64 = 1.05;
/// Two NICs bring all that they can if they bring this part of what they bring without a quota.
const ALL_OF_TWO: f64 = 0.9;
/// How often another quota is tried, at most.
const QUOTA_STEPS: u32 = 8;

/// How fast the processors are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speed {
    /// As they are.
    Fast,
    /// Both sides' processes have a quota.
    Slow,
}

/// What is measured.
#[derive(Clone, Debug)]
pub struct StripeOptions {
    /// What is between the hosts.
    pub networks: Vec<Cabling>,
    /// How the stream is spread over several NICs.
    pub spreadings: Vec<Spreading>,
    /// Numbers of NICs.
    pub nics: Vec<u32>,
    /// Lengths of messages, bytes.
    pub bytes: Vec<u32>,
    /// Speeds of the processors.
    pub speeds: Vec<Speed>,
    /// The slow processor, in per cent of one of this machine; `None`: found by trying.
    pub quota_percent: Option<f64>,
    /// Connections at once.
    pub streams: u32,
    /// Rate of every NIC.
    pub rate: Rate,
    /// MTU of the NICs, bytes.
    pub mtu: u32,
    /// Frames that Tasuki's policies give to one NIC at once; `None`: as many as its rate demands.
    pub granularity: Option<u32>,
    /// Leave segmentation and checksum offloads on.
    pub offloads: bool,
    /// How often.
    pub repetitions: usize,
    /// Time that counts at each point, seconds.
    pub seconds: f64,
}

/// A point of the plan, and whether it has failed: it is not tried again then.
type Planned<'a> = (Point<'a>, bool);

/// Measures everything on labs of its own.
pub fn measure(
    options: &StripeOptions,
    builder: &dyn LabBuilder,
    session: Session<'_>,
) -> Result<StripeReport, BenchError> {
    options.check()?;
    let networks = labs(options, builder)?;
    let quotas = match options.speeds.contains(&Speed::Slow) {
        true => Some(slow_quotas(options, &networks[0].1, session)?),
        false => None,
    };
    let points = points(options, &networks, quotas.as_ref().map(|(_, quota)| quota.percent));
    let mut points: Vec<Planned<'_>> = points.into_iter().map(|point| (point, false)).collect();
    let mut report = StripeReport::new(Machine::here());
    report.notes = quotas.iter().filter_map(|(_, quota)| quota.note()).collect();
    let name = |(point, _): &Planned<'_>| point.case.to_string();
    let step = |(point, failed): &mut Planned<'_>, repetition| {
        if *failed {
            return;
        }
        let groups = point.case.quota_percent.and(quotas.as_ref()).map(|(groups, _)| groups);
        match measure_point(options, point, groups) {
            Ok(streamed) => report.add(point.case, streamed),
            Err(error) => {
                *failed = true;
                report.failures.push(FailedCase { case: point.case, repetition, reason: error.to_string() });
            }
        }
    };
    report.interrupted = in_turn(session, "stripe", options.repetitions, &mut points, name, step);
    Ok(report)
}

/// One repetition of a point.
fn measure_point(
    options: &StripeOptions,
    point: &Point<'_>,
    groups: Option<&Quotas>,
) -> Result<Streamed, BenchError> {
    set_up_bundles(point.network, point.wanted, own_processor)?;
    let spreading = point.wanted.spreading;
    let test = stream(spreading, point.case.streams, point.case.bytes, options.seconds);
    run_pair(point.network, spreading, vec![test], groups)?.streams.pop().ok_or_else(nothing_measured)
}

/// Streams of messages of so many bytes, from the first host to the second.
pub(super) fn stream(spreading: Spreading, streams: u32, bytes: u32, seconds: f64) -> Test {
    let (mptcp, warm_up_s) = (spreading == Spreading::Mptcp, WARM_UP * seconds);
    Test::Stream(StreamTest { mptcp, streams, bytes, seconds, warm_up_s })
}

pub(super) fn nothing_measured() -> BenchError {
    BenchError::refused("the peers measured nothing")
}

/// Tests from the first host of a network to the second, all of which must succeed. They go to the second
/// host's identity address, but with one NIC, and for the first path of Multipath TCP, to its first link
/// address: connections to the identity address are spread over the NICs even where nothing is striped.
pub(super) fn run_pair(
    network: &Testbed,
    spreading: Spreading,
    tests: Vec<Test>,
    groups: Option<&Quotas>,
) -> Result<Outcome, BenchError> {
    let pair = Pair { from: HostId(0), to: HostId(1) };
    let far = &network.plan.hosts[pair.to.0];
    let link = far.links.first().map(|link| link.address);
    let link = link.filter(|_| matches!(spreading, Spreading::One | Spreading::Mptcp));
    let server = SocketAddr::from((network.control_address(pair.to), PORT));
    let serving = Peer::Serve(Serve {
        listen: server,
        interface: None,
        cpu: own_processor(1),
        silence_limit_s: MEETING_SECONDS,
    });
    let measuring = Peer::Measure(Measure {
        server,
        data: link.unwrap_or(far.identity),
        interface: None,
        cpu: own_processor(0),
        line_bits_per_second: None,
        connect_s: MEETING_SECONDS,
        tests,
    });
    let members = [0, 1].map(|side| groups.map(|groups| groups.members(side)));
    let outcome = run_peers(network, pair, [&measuring, &serving], members)?;
    match outcome.failures.first() {
        None => Ok(outcome),
        Some(failure) => Err(BenchError::refused(failure)),
    }
}

/// Groups with a share of a processor with which, as in the paper, two NICs are as much as it can do, and
/// that share. It begins with what the busier side's process spends on two NICs, and is made smaller until a
/// third NIC brings nothing, or larger until two bring what they can.
fn slow_quotas(
    options: &StripeOptions,
    network: &Testbed,
    session: Session<'_>,
) -> Result<(Quotas, Quota), BenchError> {
    if let Some(percent) = options.quota_percent {
        return Ok((Quotas::new(percent)?, Quota { percent, is_found: true }));
    }
    session.progress.begin("stripe", QUOTA_STEPS.into());
    session.progress.step("how slow a processor must be");
    let bytes = options.bytes.iter().copied().min().unwrap_or(1024);
    let rate = |nics: usize, groups: Option<&Quotas>| {
        let spreading = Spreading::RoundRobin;
        let wanted = Wanted { spreading, nics, granularity: options.granularity, delay_us: None };
        set_up_bundles(network, wanted, own_processor)?;
        let test = stream(spreading, options.streams, bytes, options.seconds.max(1.0));
        run_pair(network, spreading, vec![test], groups)?.streams.pop().ok_or_else(nothing_measured)
    };
    let free = rate(2, None)?;
    let first = (100.0 * free.sender.process.max(free.receiver.process)).clamp(0.2, 100.0);
    let quotas = Quotas::new(first)?;
    let quota = Quota::sought(first, QUOTA_STEPS, |percent| {
        quotas.set(percent)?;
        let (two, three) = (rate(2, Some(&quotas))?, rate(3, Some(&quotas))?);
        if session.is_interrupted() {
            return Err(BenchError::Interrupted("interrupted before anything was measured"));
        }
        session.progress.advance(1);
        Ok(if three.bytes_per_second() > NO_GAIN * two.bytes_per_second() {
            Tried::TooFast
        } else if two.bytes_per_second() < ALL_OF_TWO * free.bytes_per_second() {
            Tried::TooSlow
        } else {
            Tried::Right
        })
    })?;
    session.progress.finish();
    Ok((quotas, quota))
}
