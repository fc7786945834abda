//! Results of `tasuki bench stripe` as JSON, a table and plots.

use super::{Cabling, Published, Way, published};
use crate::{
    Machine, ending,
    ethernet::{Framing, wire_bytes},
    plot::{Panel, PlotError, lines},
    raw::{Side, Streamed},
    stats::{PairedRatio, Summary},
    table::{describe, plain, significant, with_spread},
};
use comfy_table::{Cell, CellAlignment};
use serde::{Serialize, Serializer};
use std::fmt::{self, Write};

/// What was measured: one point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Case {
    /// What is between the hosts.
    pub cabling: Cabling,
    /// How the stream was spread.
    pub way: Way,
    /// Over how many NICs.
    pub nics: u32,
    /// Length of a message, bytes.
    pub bytes: u32,
    /// Connections at once.
    pub streams: u32,
    /// Of the NICs, bytes.
    pub mtu: u32,
    /// Of each NIC, bit/s.
    pub rate_bps: u64,
    /// Each side's process could use so much of a processor; `None`: all of it.
    pub quota_percent: Option<f64>,
}

impl Case {
    /// What TCP with timestamps could bring over these NICs at best, bytes per second.
    pub fn line_bytes_per_second(&self) -> f64 {
        let share = Framing::tcp(self.mtu.into(), true)
            .map_or(0.0, |framing| framing.payload_bytes as f64 / wire_bytes(framing.frame_bytes) as f64);
        self.rate_bps as f64 / 8.0 * f64::from(self.nics) * share
    }

    /// The same with one NIC, with which it is compared.
    fn alone(&self) -> Self {
        Self { way: Way::One, nics: 1, ..*self }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cabling, way, nics, bytes, .. } = self;
        let cpu = if self.quota_percent.is_some() { "slow" } else { "fast" };
        write!(f, "{cabling}, {way}, {nics} NICs, {bytes} bytes, {cpu}")
    }
}

/// A point that gave no figure.
#[derive(Clone, Debug, Serialize)]
pub struct FailedCase {
    /// Which.
    pub case: Case,
    /// From 1.
    pub repetition: usize,
    /// Why.
    pub reason: String,
}

impl fmt::Display for FailedCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { case, repetition, reason } = self;
        write!(f, "{case}, repetition {repetition}: {reason}")
    }
}

/// One point, repetition by repetition.
#[derive(Clone, Debug, Serialize)]
pub struct StripeRecord {
    /// Which.
    #[serde(flatten)]
    pub case: Case,
    /// What each repetition brought, in order.
    #[serde(serialize_with = "with_figures")]
    pub samples: Vec<Streamed>,
}

/// Medians of what one side spent, in per cent of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Use {
    /// Its process.
    pub process: f64,
    /// Its processor, whoever was running; `None` if it has none of its own.
    pub core: Option<f64>,
}

impl StripeRecord {
    /// Bytes per second of each repetition.
    pub fn rates(&self) -> Vec<f64> {
        self.samples.iter().map(Streamed::bytes_per_second).collect()
    }

    /// A figure over the repetitions.
    pub fn summary(&self, figure: impl Fn(&Streamed) -> f64) -> Option<Summary> {
        Summary::of(&self.samples.iter().map(figure).collect::<Vec<_>>())
    }

    fn of_side(&self, side: impl Fn(&Streamed) -> &Side) -> Option<Use> {
        let process = self.summary(|sample| 100.0 * side(sample).process)?.median;
        let all_have = self.samples.iter().all(|sample| side(sample).core.is_some());
        let core = self.summary(|sample| 100.0 * side(sample).core.unwrap_or(0.0));
        Some(Use { process, core: core.filter(|_| all_have).map(|core| core.median) })
    }
}

/// Samples with the figures that follow from them.
fn with_figures<S: Serializer>(samples: &[Streamed], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Sample<'a> {
        bytes_per_second: f64,
        out_of_order: f64,
        resent: f64,
        fairness: f64,
        #[serde(flatten)]
        sample: &'a Streamed,
    }
    serializer.collect_seq(samples.iter().map(|sample| Sample {
        bytes_per_second: sample.bytes_per_second(),
        out_of_order: sample.out_of_order(),
        resent: sample.resent(),
        fairness: sample.fairness(),
        sample,
    }))
}

/// Everything that one command measured.
#[derive(Clone, Debug, Serialize)]
pub struct StripeReport {
    /// Where.
    pub machine: Machine,
    /// Points, in the order in which they were first measured.
    pub records: Vec<StripeRecord>,
    /// Points that gave no figure.
    pub failures: Vec<FailedCase>,
    /// Stopped before the end.
    pub interrupted: bool,
}

/// A record with what follows from it and from the others.
#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    record: &'a StripeRecord,
    mb_per_s: Option<Summary>,
    of_line: Option<f64>,
    against_one_nic: Option<PairedRatio>,
    sender_percent: Option<Use>,
    receiver_percent: Option<Use>,
    out_of_order_percent: Option<Summary>,
    resent_percent: Option<Summary>,
    fairness: Option<Summary>,
    published: Option<Published>,
}

impl StripeReport {
    /// Nothing yet.
    pub fn new(machine: Machine) -> Self {
        Self { machine, records: Vec::new(), failures: Vec::new(), interrupted: false }
    }

    /// Adds a repetition of a point.
    pub fn add(&mut self, case: Case, sample: Streamed) {
        match self.records.iter_mut().find(|record| record.case == case) {
            Some(record) => record.samples.push(sample),
            None => self.records.push(StripeRecord { case, samples: vec![sample] }),
        }
    }

    /// How a point compares with one NIC in the same repetitions.
    pub fn against_one_nic(&self, record: &StripeRecord) -> Option<PairedRatio> {
        let alone = self.records.iter().find(|other| other.case == record.case.alone())?;
        (record.case != alone.case).then(|| PairedRatio::of(&record.rates(), &alone.rates()))?
    }

    fn row<'a>(&self, record: &'a StripeRecord) -> Row<'a> {
        let mb_per_s = record.summary(|sample| sample.bytes_per_second() / 1e6);
        Row {
            record,
            mb_per_s,
            of_line: mb_per_s.map(|rate| rate.median * 1e6 / record.case.line_bytes_per_second()),
            against_one_nic: self.against_one_nic(record),
            sender_percent: record.of_side(|sample| &sample.sender),
            receiver_percent: record.of_side(|sample| &sample.receiver),
            out_of_order_percent: record.summary(|sample| 100.0 * sample.out_of_order()),
            resent_percent: record.summary(|sample| 100.0 * sample.resent()),
            fairness: (record.case.streams > 1).then(|| record.summary(Streamed::fairness)).flatten(),
            published: published(&record.case),
        }
    }

    /// Indented JSON: machine, records with all samples, failures.
    pub fn json(&self) -> serde_json::Result<String> {
        let records: Vec<_> = self.records.iter().map(|record| self.row(record)).collect();
        serde_json::to_string_pretty(&serde_json::json!({
            "machine": self.machine,
            "records": records,
            "failures": self.failures,
            "interrupted": self.interrupted,
        }))
    }

    /// The table for people.
    pub fn table(&self) -> String {
        let machine = &self.machine;
        let mut text =
            format!("{} x {}, {}, as {}\n", machine.cores, machine.cpu, machine.kernel, machine.user);
        let several = self.records.iter().any(|record| record.case.streams > 1);
        let mut table = plain();
        let mut header =
            vec!["network", "way", "NICs", "bytes", "CPU", "MB/s (p10 to p90)", "of line", "of one NIC"];
        header.extend(["sender CPU", "receiver CPU", "out of order", "resent"]);
        header.extend(several.then_some("Jain"));
        header.push("published");
        table.set_header(header);
        for record in &self.records {
            table.add_row(cells(&self.row(record), several));
        }
        // Writing into a text cannot fail.
        let _ = writeln!(text, "{table}");
        text += LEGEND;
        text + &ending(&self.failures, self.interrupted)
    }

    /// Names and texts of the plots: bandwidth, and below it the receiver's processor, over the number of NICs; one file for each length
    /// of messages and speed of the processor.
    pub fn charts(&self) -> Result<Vec<(String, String)>, PlotError> {
        let mut keys: Vec<(u32, bool)> = Vec::new();
        for case in self.records.iter().map(|record| &record.case) {
            let key = (case.bytes, case.quota_percent.is_some());
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let chart = |(bytes, slow): (u32, bool)| {
            let name = format!("stripe-{bytes}-{}.svg", if slow { "slow" } else { "fast" });
            Ok((name, lines(&self.panels(bytes, slow))?))
        };
        keys.into_iter().map(chart).collect()
    }

    fn panels(&self, bytes: u32, slow: bool) -> Vec<Panel> {
        let mut panels = Vec::new();
        for cabling in Cabling::ALL {
            let here = |record: &&StripeRecord| {
                let case = &record.case;
                (case.bytes, case.quota_percent.is_some(), case.cabling) == (bytes, slow, cabling)
            };
            let records: Vec<_> = self.records.iter().filter(here).collect();
            if records.is_empty() {
                continue;
            }
            let title = |what: &str| {
                format!("{cabling}, {bytes} bytes{}: {what}", if slow { ", slow CPU" } else { "" })
            };
            let panel = |what: &str, y: &str, figure: &dyn Fn(&StripeRecord) -> Option<f64>| Panel {
                title: title(what),
                x: "NICs".into(),
                y: y.into(),
                curves: curves(&records, figure),
            };
            panels.push(panel("bandwidth", "MB/s", &|record| {
                Some(record.summary(Streamed::bytes_per_second)?.median / 1e6)
            }));
            panels.push(panel("receiver's processor", "%", &|record| {
                let spent = record.of_side(|sample| &sample.receiver)?;
                Some(spent.core.unwrap_or(spent.process))
            }));
        }
        panels
    }
}

const LEGEND: &str = "MB are 10^6 bytes, of payload; of line: of what TCP's segments can carry. CPU: the side's process / its processor with \
    everything on it, in % of one processor.\nof one NIC: ratios of the same repetitions. Published: NIC distribution paper, 100 Mbit/s, its MB \
    of 2^20 bytes converted.\n";

/// One curve for each way, beginning at one NIC.
fn curves(
    records: &[&StripeRecord],
    figure: &dyn Fn(&StripeRecord) -> Option<f64>,
) -> Vec<(String, Vec<(f64, f64)>)> {
    let mut ways: Vec<Way> = Vec::new();
    for way in records.iter().map(|record| record.case.way).filter(|way| *way != Way::One) {
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    let point = |record: &&&StripeRecord| Some((f64::from(record.case.nics), figure(record)?));
    let of = |way: Way| {
        let of_way = records.iter().filter(|record| [way, Way::One].contains(&record.case.way));
        let mut points: Vec<_> = of_way.filter_map(|record| point(&record)).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        (way.to_string(), points)
    };
    if ways.is_empty() {
        ways.push(Way::One);
    }
    ways.into_iter().map(of).collect()
}

fn cells(row: &Row<'_>, several: bool) -> Vec<Cell> {
    let case = &row.record.case;
    let word = |text: String| Cell::new(text);
    let figure =
        |text: Option<String>| Cell::new(text.unwrap_or("-".into())).set_alignment(CellAlignment::Right);
    let percent = |value: f64| format!("{value:.0} %");
    let spent = |spent: Use| match spent.core {
        Some(core) => format!("{:.0} / {core:.0} %", spent.process),
        None => percent(spent.process),
    };
    let range = |it: Summary| with_spread(&it);
    let share = |it: Summary| format!("{} %", significant(it.median));
    let mut cells = vec![
        word(case.cabling.to_string()),
        word(case.way.to_string()),
        figure(Some(case.nics.to_string())),
        figure(Some(case.bytes.to_string())),
        word(case.quota_percent.map_or("fast".into(), |quota| format!("slow, {quota:.1} %"))),
        figure(row.mb_per_s.map(range)),
        figure(row.of_line.map(|share| percent(100.0 * share))),
        word(row.against_one_nic.map_or("-".into(), |ratio| describe(&ratio))),
        figure(row.sender_percent.map(spent)),
        figure(row.receiver_percent.map(spent)),
        figure(row.out_of_order_percent.map(share)),
        figure(row.resent_percent.map(share)),
    ];
    if several {
        cells.push(figure(row.fairness.map(|it| format!("{:.2}", it.median))));
    }
    cells.push(word(row.published.map_or(String::new(), |it| match it.bytes_per_second {
        Some(rate) => format!("{:.1} MB/s: {}", rate / 1e6, it.says),
        None => it.says.into(),
    })));
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::StreamTest;

    fn case(way: Way, nics: u32) -> Case {
        let cabling = Cabling::Switch;
        Case {
            cabling,
            way,
            nics,
            bytes: 1024,
            streams: 1,
            mtu: 1500,
            rate_bps: 100_000_000,
            quota_percent: None,
        }
    }

    fn sample(bytes: u64) -> Streamed {
        let side = Side { seconds: 1.0, process: 0.25, core: Some(0.5), data_in: 1000, ..Side::default() };
        Streamed {
            test: StreamTest { mptcp: false, streams: 1, bytes: 1024, seconds: 1.0, warm_up_s: 0.1 },
            received_bytes: vec![bytes],
            sender: side.clone(),
            receiver: Side { out_of_order: 300, ..side },
        }
    }

    fn report() -> StripeReport {
        let machine = Machine { kernel: "Linux 6.1".into(), cpu: "A".into(), cores: 2, user: "root".into() };
        let mut report = StripeReport::new(machine);
        for drift in 0..6 {
            report.add(case(Way::One, 1), sample(11_000_000 + drift * 100_000));
            report.add(case(Way::RoundRobin, 2), sample(22_000_000 + drift * 200_000));
            report.add(case(Way::Mptcp, 2), sample(22_000_000));
        }
        report
    }

    // 1448 bytes of payload in 1538 byte times, at 12.5 MB/s: 11.77 MB/s.
    #[test]
    fn the_line_carries_what_segments_leave() {
        assert!((case(Way::One, 1).line_bytes_per_second() / 11.7685e6 - 1.0).abs() < 1e-4);
        assert!((case(Way::Mptcp, 4).line_bytes_per_second() / 47.074e6 - 1.0).abs() < 1e-4);
    }

    #[test]
    fn points_are_compared_with_one_nic_pair_by_pair() -> Result<(), Box<dyn std::error::Error>> {
        let report = report();
        let table = report.table();
        for part in
            ["2.00 x (2.00 to 2.00)", "25 / 50 %", "30.0 %", "23.2 MB/s: about as bonding", "round-robin"]
        {
            assert!(table.contains(part), "{part} is missing in\n{table}");
        }
        let json: serde_json::Value = serde_json::from_str(&report.json()?)?;
        let record = &json["records"][1];
        assert_eq!((&record["way"], &record["nics"]), (&"round-robin".into(), &2.into()));
        assert_eq!(record["out_of_order_percent"]["median"], 30.0);
        assert_eq!(record["samples"].as_array().map(Vec::len), Some(6));
        let charts = report.charts()?;
        assert_eq!(charts.len(), 1);
        assert!(charts[0].0 == "stripe-1024-fast.svg" && charts[0].1.contains("round-robin"));
        Ok(())
    }
}
