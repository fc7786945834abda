//! `tasuki bench cross`: the cross-connection paper's (a) to (d) between two hosts, and a control with the rate of one cable.

use super::{bundle, bundle::Wanted, cross_kernels, nothing, peers, plan::lab, stream};
use crate::{
    args::BenchCross,
    bench::{
        LabNetwork,
        results::give,
        turns::{in_turn, interruption},
    },
    failure::Failure,
    terminal::table,
};
use serde::Serialize;
use std::{fmt::Write, process::ExitCode};
use tasuki_bench::{
    Machine, ending,
    raw::{PingPong, Protocol, Side, Streamed, Test},
    stats::{PairedRatio, Summary, median},
    stripe::{Cabling, Way},
};
use tasuki_cluster::Rate;

/// The shortest message of a ping-pong, bytes.
const PING_BYTES: u32 = 4;
/// Time for latency, as a share of that for bandwidth.
const PING_SHARE: f64 = 0.2;
const PING_SAMPLES: u32 = 50;

/// One of the paper's ways to connect two hosts.
#[derive(Clone, Debug, Serialize)]
struct Setting {
    key: &'static str,
    what: &'static str,
    /// What carries the frames, exactly.
    driver: String,
    way: Way,
    nics: usize,
    rate_bps: u64,
    delay_us: u32,
    /// What the paper says of it.
    published: &'static str,
    #[serde(skip)]
    lab: usize,
}

/// What was measured in one.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    setting: Setting,
    streams: Vec<Streamed>,
    ping_pongs: Vec<PingPong>,
}

#[derive(Serialize)]
struct Report {
    machine: Machine,
    rows: Vec<Row>,
    failures: Vec<String>,
    interrupted: bool,
}

/// Runs the command.
pub fn run(arguments: &BenchCross) -> Result<ExitCode, Failure> {
    check(arguments)?;
    if !arguments.kernel.is_empty() {
        return cross_kernels::run(arguments);
    }
    let interrupted = interruption()?;
    let half = Rate { bits_per_second: arguments.rate.bits_per_second / 2 };
    let build = |stem: &str, cabling, nics, rate| lab(stem, cabling, nics, rate, arguments.mtu, false);
    let labs = [
        build("cross-switch", Cabling::Switch, 1, arguments.rate)?,
        build("cross-cables", Cabling::Cables, 2, arguments.rate)?,
        build("cross-control", Cabling::Cables, 2, half)?,
    ];
    let rows = settings(arguments).into_iter();
    let rows = rows.map(|setting| Row { setting, streams: Vec::new(), ping_pongs: Vec::new() }).collect();
    let mut report = Report { machine: Machine::here(), rows, failures: Vec::new(), interrupted: false };
    let name = |row: &Row| format!("({}) {}", row.setting.key, row.setting.what);
    let Report { rows, failures, .. } = &mut report;
    let step = |row: &mut Row, repetition| match measure(arguments, &labs[row.setting.lab], &row.setting) {
        Ok((streamed, ping_pong)) => {
            row.streams.push(streamed);
            row.ping_pongs.push(ping_pong);
        }
        Err(failure) => {
            failures.push(format!("({}), repetition {repetition}: {}", row.setting.key, failure.message));
        }
    };
    report.interrupted = in_turn("cross", &interrupted, arguments.repetitions, rows, name, step);
    let (text, json) = (text(&report, arguments), serde_json::to_string_pretty(&report)?);
    give(&arguments.results, "cross", &text, &json, || Ok(Vec::new()))?;
    Ok(if report.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn check(arguments: &BenchCross) -> Result<(), Failure> {
    let bad = |text: &str| Err(Failure::new(text));
    match arguments {
        BenchCross { repetitions: 0, .. } => bad("--repetitions 0: nothing would be measured"),
        BenchCross { bytes: 0, .. } => bad("--bytes 0: a message has at least one byte"),
        BenchCross { delay: 100_001.., .. } => bad("--delay: at most 100000 microseconds"),
        _ if !(arguments.seconds > 0.0 && arguments.seconds <= 600.0) => {
            bad("--seconds: more than 0, and at most 600")
        }
        _ => Ok(()),
    }
}

/// What carries the frames of a switch, a cable, two cables bonded and two striped.
pub const BRIDGE: &str = "bridge with a port per NIC, tbf";
pub const WIRE: &str = "wire of two ports, tbf";
pub const BONDED: &str = "two wires, balance-rr in eBPF (one MAC address)";
pub const STRIPED: &str = "two wires, striping shortest-delay";

/// NIC, path and delay, exactly.
pub fn driver(path: &str, delay_us: u32) -> String {
    match delay_us {
        0 => format!("veth, {path}; no delay"),
        _ => format!("veth, {path}; gro_flush_timeout {delay_us} us"),
    }
}

/// The paper's four, Tasuki beside its bonding, and the control.
fn settings(arguments: &BenchCross) -> Vec<Setting> {
    let rate_bps = arguments.rate.bits_per_second;
    let setting = |key, what, path: &str, way, nics, delay_us, lab, published| Setting {
        key,
        what,
        driver: driver(path, delay_us),
        way,
        nics,
        rate_bps: if lab == 2 { rate_bps / 2 } else { rate_bps },
        delay_us,
        published,
        lab,
    };
    let delay = arguments.delay;
    vec![
        setting("a", "switch", BRIDGE, Way::One, 1, delay, 0, "least bandwidth, most latency"),
        setting("b", "cable", WIRE, Way::One, 1, delay, 1, "more bandwidth, far less latency"),
        setting("c", "cable, delay off", WIRE, Way::One, 1, 0, 1, "far more bandwidth, latency as (b)"),
        setting("d", "two cables bonded", BONDED, Way::BondOneMac, 2, 0, 1, "most bandwidth, latency as (b)"),
        setting("d'", "two cables, Tasuki", STRIPED, Way::ShortestDelay, 2, 0, 1, ""),
        setting("control", "two cables of half the rate", STRIPED, Way::ShortestDelay, 2, 0, 2, ""),
    ]
}

fn measure(
    arguments: &BenchCross,
    network: &LabNetwork,
    setting: &Setting,
) -> Result<(Streamed, PingPong), Failure> {
    let Setting { way, nics, delay_us, .. } = *setting;
    bundle::make(network, Wanted { way, nics, granularity: None, delay_us: Some(delay_us) }, super::core)?;
    let seconds = arguments.seconds;
    let stream = stream(way, 1, arguments.bytes, seconds);
    let ping = Test::PingPong {
        protocol: Protocol::Tcp,
        bytes: vec![PING_BYTES],
        seconds: PING_SHARE * seconds,
        samples: PING_SAMPLES,
    };
    let mut outcome = peers(network, way, vec![ping, stream], None)?;
    outcome.streams.pop().zip(outcome.ping_pongs.pop()).ok_or_else(nothing)
}

impl Row {
    fn rates(&self) -> Vec<f64> {
        self.streams.iter().map(Streamed::bytes_per_second).collect()
    }

    /// Half round trips, us: the median of each repetition.
    fn latencies(&self) -> Vec<f64> {
        self.ping_pongs.iter().filter_map(|one| median(&one.samples)).map(|seconds| seconds * 1e6).collect()
    }

    fn percent(&self, side: impl Fn(&Streamed) -> &Side) -> String {
        let of = |figure: &dyn Fn(&Side) -> f64| {
            let values: Vec<f64> = self.streams.iter().map(|one| 100.0 * figure(side(one))).collect();
            median(&values).map_or("-".into(), |value| format!("{value:.0}"))
        };
        let process = of(&|side| side.process);
        match self.streams.iter().all(|one| side(one).core.is_some()) {
            true => format!("{process} / {} %", of(&|side| side.core.unwrap_or(0.0))),
            false => process + " %",
        }
    }
}

fn text(report: &Report, arguments: &BenchCross) -> String {
    let mut text =
        format!("{}; cables of {}, messages of {} bytes\n", report.machine, arguments.rate, arguments.bytes);
    let header = [
        "",
        "",
        "carried by",
        "MB/s",
        "of (a)",
        "half round trip, us",
        "of (a)",
        "sender CPU",
        "receiver CPU",
        "published",
    ];
    let mut shown = table(header);
    let first = &report.rows[0];
    for row in &report.rows {
        let range = |values: &[f64], scale: f64, digits: usize| {
            Summary::of(values).map_or("-".into(), |it| {
                let cell = |value: f64| format!("{:.digits$}", value / scale);
                format!("{} ({} to {})", cell(it.median), cell(it.p10), cell(it.p90))
            })
        };
        let ratio = |own: &[f64], of_first: &[f64]| {
            PairedRatio::of(own, of_first).map_or("-".into(), |ratio| format!("{:.2} x", ratio.median))
        };
        shown.add_row([
            format!("({})", row.setting.key),
            row.setting.what.into(),
            row.setting.driver.clone(),
            range(&row.rates(), 1e6, 1),
            ratio(&row.rates(), &first.rates()),
            range(&row.latencies(), 1.0, 1),
            ratio(&row.latencies(), &first.latencies()),
            row.percent(|one| &one.sender),
            row.percent(|one| &one.receiver),
            row.setting.published.into(),
        ]);
    }
    // Writing into a text cannot fail.
    let _ = writeln!(text, "{shown}");
    text += NOTES;
    text + &ending(&report.failures, report.interrupted)
}

const NOTES: &str = "CPU: the side's process / its processor with everything on it, in % of one processor. Published: the cross-connection paper, section 4.1 \
    (1 Gbit/s, netperf, e1000; its figures are lost).\n\
    (a) against (b): this switch is a bridge in memory and adds next to nothing; the paper's stored each frame first, and was its limit.\n\
    (c) against (b): this delay bounds the looks at what comes, so that packets that follow each other within it wait, in a ping-pong, too; the paper saw no change of \
    latency (the figure that would say how long its round trips were is lost).\n\
    (d) against the control: what two cables bring is their sum; with the sum of one cable the gain is gone.\n";
