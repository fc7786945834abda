//! (a) to (d) between two hosts, and a control with the rate of one cable.

use super::{BONDED, BRIDGE, CrossOptions, STRIPED, WIRE, driver};
use crate::{
    BenchError, Machine, ending,
    lab::{
        LabBuilder, Session, Testbed,
        peers::own_processor,
        stripe::{self, Wanted, nothing_measured, run_pair, set_up_bundles, stream},
        turns::in_turn,
    },
    raw::{PingPong, Protocol, Side, Streamed, Test},
    stats::{PairedRatio, Summary, median},
    stripe::{Cabling, Spreading},
    table::borderless,
};
use serde::Serialize;
use std::fmt::Write;
use tasuki_cluster::Rate;

/// Length of the message of a ping-pong: the shortest that there is, bytes.
const PING_BYTES: u32 = 4;
/// Time for latency, as a share of that for bandwidth.
const PING_SHARE: f64 = 0.2;
/// Batches of a ping-pong.
const PING_SAMPLES: u32 = 50;

/// One of the connections of two hosts that the paper compares.
#[derive(Clone, Debug, Serialize)]
struct Setting {
    key: &'static str,
    what: &'static str,
    /// What carries the frames, exactly.
    driver: String,
    spreading: Spreading,
    nics: usize,
    rate_bps: u64,
    delay_us: u32,
    /// What the paper says of it.
    published: &'static str,
    /// Which of the labs it is measured on.
    #[serde(skip)]
    lab: usize,
}

/// A setting and what was measured in it, an entry of each list for each repetition that gave figures.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    setting: Setting,
    /// Numbers of the repetitions that gave figures, from 1; those that failed are missing.
    repetitions: Vec<usize>,
    streams: Vec<Streamed>,
    ping_pongs: Vec<PingPong>,
}

/// What was measured between two hosts.
#[derive(Serialize)]
pub struct CrossReport {
    machine: Machine,
    rows: Vec<Row>,
    /// What came to grief.
    pub failures: Vec<String>,
    interrupted: bool,
}

/// Measures every setting in turn, repetition by repetition, on labs of its own.
pub fn measure_pair(
    options: &CrossOptions,
    builder: &dyn LabBuilder,
    session: Session<'_>,
) -> Result<CrossReport, BenchError> {
    let half = Rate { bits_per_second: options.rate.bits_per_second / 2 };
    let build = |stem: &str, cabling, nics, rate| {
        stripe::lab(builder, stem, cabling, nics, (rate, options.mtu), false)
    };
    let labs = [
        build("cross-switch", Cabling::Switch, 1, options.rate)?,
        build("cross-cables", Cabling::Cables, 2, options.rate)?,
        build("cross-control", Cabling::Cables, 2, half)?,
    ];
    let rows = settings(options).into_iter();
    let rows = rows.map(Row::new);
    let (mut rows, mut failures): (Vec<Row>, _) = (rows.collect(), Vec::new());
    let name = |row: &Row| format!("({}) {}", row.setting.key, row.setting.what);
    let step = |row: &mut Row, repetition| match measure(options, &labs[row.setting.lab], &row.setting) {
        Ok((streamed, ping_pong)) => row.add(repetition, streamed, ping_pong),
        Err(error) => failures.push(format!("({}), repetition {repetition}: {error}", row.setting.key)),
    };
    let interrupted = in_turn(session, "cross", options.repetitions, &mut rows, name, step);
    Ok(CrossReport { machine: Machine::here(), rows, failures, interrupted })
}

/// The paper's four, Tasuki beside its bonding, and the control.
fn settings(options: &CrossOptions) -> Vec<Setting> {
    let rate_bps = options.rate.bits_per_second;
    let setting = |key, what, path: &str, spreading, nics, delay_us, lab, published| Setting {
        key,
        what,
        driver: driver(path, delay_us),
        spreading,
        nics,
        rate_bps: if lab == 2 { rate_bps / 2 } else { rate_bps },
        delay_us,
        published,
        lab,
    };
    let delay = options.delay_us;
    vec![
        setting("a", "switch", BRIDGE, Spreading::One, 1, delay, 0, "least bandwidth, most latency"),
        setting("b", "cable", WIRE, Spreading::One, 1, delay, 1, "more bandwidth, far less latency"),
        setting("c", "cable, delay off", WIRE, Spreading::One, 1, 0, 1, "far more bandwidth, latency as (b)"),
        setting(
            "d",
            "two cables bonded",
            BONDED,
            Spreading::BondOneMac,
            2,
            0,
            1,
            "most bandwidth, latency \
                                                                                   as (b)",
        ),
        setting("d'", "two cables, Tasuki", STRIPED, Spreading::ShortestDelay, 2, 0, 1, ""),
        setting("control", "two cables of half the rate", STRIPED, Spreading::ShortestDelay, 2, 0, 2, ""),
    ]
}

/// One repetition of a setting.
fn measure(
    options: &CrossOptions,
    network: &Testbed,
    setting: &Setting,
) -> Result<(Streamed, PingPong), BenchError> {
    let Setting { spreading, nics, delay_us, .. } = *setting;
    let wanted = Wanted { spreading, nics, granularity: None, delay_us: Some(delay_us) };
    set_up_bundles(network, wanted, own_processor)?;
    let seconds = options.seconds;
    let stream = stream(spreading, 1, options.bytes, seconds);
    let ping = Test::PingPong {
        protocol: Protocol::Tcp,
        bytes: vec![PING_BYTES],
        seconds: PING_SHARE * seconds,
        samples: PING_SAMPLES,
    };
    let mut outcome = run_pair(network, spreading, vec![ping, stream], None)?;
    outcome.streams.pop().zip(outcome.ping_pongs.pop()).ok_or_else(nothing_measured)
}

impl Row {
    /// A setting before anything was measured in it.
    fn new(setting: Setting) -> Self {
        Self { setting, repetitions: Vec::new(), streams: Vec::new(), ping_pongs: Vec::new() }
    }

    fn add(&mut self, repetition: usize, streamed: Streamed, ping_pong: PingPong) {
        self.repetitions.push(repetition);
        self.streams.push(streamed);
        self.ping_pongs.push(ping_pong);
    }

    /// Bytes per second, with the numbers of the repetitions.
    fn rates(&self) -> Vec<(usize, f64)> {
        let rates = self.streams.iter().map(Streamed::bytes_per_second);
        self.repetitions.iter().copied().zip(rates).collect()
    }

    /// Half round trip: the median of a repetition with its number, us.
    fn latencies(&self) -> Vec<(usize, f64)> {
        let all = self.repetitions.iter().zip(&self.ping_pongs);
        all.filter_map(|(at, one)| Some((*at, median(&one.samples)? * 1e6))).collect()
    }

    /// Processor time of a side: that of its process, and of its processor with everything on it, if that is
    /// known.
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

impl CrossReport {
    /// As JSON.
    pub fn json(&self) -> Result<String, BenchError> {
        Ok(serde_json::to_string_pretty(self)?)
    }

    /// As a table.
    pub fn text(&self, options: &CrossOptions) -> String {
        let mut text =
            format!("{}; cables of {}, messages of {} bytes\n", self.machine, options.rate, options.bytes);
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
        let mut shown = borderless(header);
        let first = &self.rows[0];
        for row in &self.rows {
            let range = |values: &[(usize, f64)], scale: f64, digits: usize| {
                let values: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
                Summary::of(&values).map_or("-".into(), |it| {
                    let cell = |value: f64| format!("{:.digits$}", value / scale);
                    format!("{} ({} to {})", cell(it.median), cell(it.p10), cell(it.p90))
                })
            };
            let ratio = |own: &[(usize, f64)], of_first: &[(usize, f64)]| {
                PairedRatio::of_repetitions(own, of_first).map_or("-".into(), |ratio| ratio.brief())
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
        text + &ending(&self.failures, self.interrupted)
    }
}

/// Below the table.
const NOTES: &str = "CPU: the side's process / its processor with everything on it, in % of one processor. \
    Published: the cross-connection paper, section 4.1 (1 Gbit/s, netperf, e1000; its figures are lost).\n\
    (a) against (b): this switch is a bridge in memory and adds next to nothing; the paper's stored each \
    frame first, and was its limit.\n\
    (c) against (b): this delay bounds the looks at what comes, so that packets that follow each other \
    within it wait, in a ping-pong, too; the paper saw no change of latency (the figure that would say how \
    long its round trips were is lost).\n\
    (d) against the control: what two cables bring is their sum; with the sum of one cable the gain is \
    gone.\n";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::StreamTest;

    /// What one repetition gives at such a rate, in bytes per second and in half round trips per second.
    fn at(rate: u64) -> (Streamed, PingPong) {
        let side = Side { seconds: 1.0, ..Side::default() };
        let test = StreamTest { mptcp: false, streams: 1, bytes: 1024, seconds: 1.0, warm_up_s: 0.0 };
        let (sender, receiver) = (side.clone(), side);
        let (cpu_s, samples) = (0.0, vec![1.0 / rate as f64]);
        let ping = PingPong { protocol: Protocol::Tcp, bytes: 4, samples, resent: 0, cpu_s, moved_bytes: 0 };
        (Streamed { test, received_bytes: vec![rate], sender, receiver }, ping)
    }

    // A machine that becomes twice as fast from each repetition to the next, and a cable that is always 1.5
    // times as fast as the switch.
    #[test]
    fn a_failed_repetition_does_not_pair_runs_of_different_times() {
        let (rate, delay_us) = ("1G".parse().expect("a rate"), 0);
        let options = CrossOptions { rate, delay_us, mtu: 1500, bytes: 1024, repetitions: 8, seconds: 1.0 };
        let mut rows: Vec<Row> = settings(&options).into_iter().take(2).map(Row::new).collect();
        for repetition in 1..=8 {
            for (row, rate) in rows.iter_mut().zip([1000, 1500]) {
                if row.setting.key == "a" || repetition != 2 {
                    let (streamed, ping_pong) = at(rate << repetition);
                    row.add(repetition, streamed, ping_pong);
                }
            }
        }
        let (failures, interrupted) = (Vec::new(), false);
        let text = CrossReport { machine: Machine::here(), rows, failures, interrupted }.text(&options);
        let row = text.lines().find(|line| line.trim_start().starts_with("(b)")).unwrap_or_default();
        assert!(row.contains("1.50 x") && row.contains("0.67 x"), "{text}");
    }
}
