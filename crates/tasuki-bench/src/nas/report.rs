//! Figures of the kernels: from the runs to records, a table and bar charts.

use super::{
    Class, Kernel, Outcome,
    cross::{self, Statement},
    published,
};
use crate::{
    FailedRun, Machine, Record, Unit, ending, plot,
    record::{Gathered, Point},
    stats::{PairedRatio, median},
    table::{plain, significant},
};
use comfy_table::{Cell, CellAlignment, Table};
use serde::Serialize;
use std::fmt::{self, Write};

/// What is run several times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The program.
    pub kernel: Kernel,
    /// The size of its problem.
    pub class: Class,
    /// Processes.
    pub ranks: u32,
    /// Hosts that they are on.
    pub hosts: u32,
    /// NICs of each of them (of the poorest).
    pub nics: usize,
    /// Name of the network.
    pub network: String,
    /// Name of the MPI, and of what carries its messages if that is not its own.
    pub stack: String,
    /// What carries the messages between hosts.
    pub lane: String,
    /// Offloads of the hosts' interfaces.
    pub offloads: String,
}

/// The figures of one case. In JSON it has the keys of [`Record`] that apply, except that `kernel` is the program and `os`
/// the system's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NasRecord {
    /// `nas`.
    pub test: String,
    /// The program: IS, CG ...
    pub kernel: String,
    /// Its class.
    pub class: String,
    /// All runs agree with the published result.
    pub verified: bool,
    /// Processes.
    pub ranks: u32,
    /// Hosts that they were on.
    pub hosts: u32,
    /// Name of the network.
    pub network: String,
    /// Name of the stack.
    pub stack: String,
    /// Median of the repetitions, in `unit`.
    pub median: f64,
    /// Tenth percentile.
    pub p10: f64,
    /// Ninetieth percentile.
    pub p90: f64,
    /// Million operations per second of all ranks together.
    pub unit: Unit,
    /// Median time of the slowest rank, seconds.
    pub seconds: f64,
    /// Median of the processor time of all ranks, seconds; `None` if the program does not say.
    pub cpu_s: Option<f64>,
    /// What carried the messages.
    pub lane: String,
    /// Offloads of the hosts' interfaces.
    pub offloads: String,
    /// `root` or `user`.
    pub user: String,
    /// Kernel release of the system.
    pub os: String,
    /// Processor model.
    pub cpu: String,
    /// Processors of the machine.
    pub cores: usize,
    /// Times as fast as one rank on one host, with the same stack; `None` if that was not measured.
    pub speedup: Option<f64>,
    /// Rate of a NIC's link from which on so many hosts of this speed, each with a processor of its own, beat one;
    /// bit/s, computed (IS only, see [`is_break_even`]).
    pub break_even_bit_s: Option<f64>,
    /// Against the first network; `None` on that network itself.
    pub against: Option<Against>,
    /// On the cross-connection paper's networks: against the one that differs in one thing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<Against>,
    /// On these networks: all that the paper says of this kernel there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Statement>,
    /// Linpack: share of the processors' peak ([`NasReport::peak_mops`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_peak: Option<f64>,
    /// Linpack: share of what the ranks reach in products of matrices without messages, median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_dgemm: Option<f64>,
    /// All repetitions in `unit`.
    pub samples: Vec<f64>,
}

/// How a case compares with the same on another network.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Against {
    /// The other network.
    pub network: String,
    /// Times as many operations per second: median of the pairs of repetitions.
    pub gain: f64,
    /// Ends of the interval for 95 %, or of all pairs if they are too few for that.
    pub low: f64,
    /// See `low`.
    pub high: f64,
    /// The interval leaves no doubt which network is better.
    pub decided: bool,
    /// What a paper published for the same cablings, kernel and class; on the cross-connection paper's networks for whatever class.
    pub published: Option<f64>,
    /// Which paper, and what it ran on.
    pub source: Option<&'static str>,
}

impl fmt::Display for Against {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::table::describe_range(self.gain, self.low, self.high, self.decided))
    }
}

/// The rate of a NIC's link in bit/s from which on `hosts` hosts with `nics` NICs beat one at IS, if one ranks `alone` keys per
/// second.
///
/// An iteration on N keys takes `N / alone` on one host. On p hosts each ranks N/p keys, and sends p - 1 of p equal parts of
/// them, four bytes a key, over all its NICs together: 4 N (p - 1) / p^2 bytes. Counts and sums are a few KB. Messages
/// overlap with no computation: ranking needs all keys. So the hosts win if
/// `N / (p alone) + 8 f 4 N (p - 1) / (p^2 nics rate) < N / alone`, whatever N; f is what frames add.
pub fn is_break_even(alone: f64, hosts: u32, nics: usize) -> f64 {
    // An Ethernet frame of MTU 1500 takes 1538 byte times on the wire, 1448 of them payload of TCP with timestamps.
    const FRAMES: f64 = 1538.0 / 1448.0;
    8.0 * FRAMES * 4.0 * alone / (f64::from(hosts) * nics.max(1) as f64)
}

/// Runs of many cases.
#[derive(Clone, Debug)]
pub struct NasReport {
    machine: Machine,
    cases: Vec<(Case, Vec<Outcome>)>,
    failures: Vec<FailedRun>,
    /// Million operations per second that one processor of this machine makes at most, if that was measured.
    pub peak_mops: Option<f64>,
    /// The plan was stopped before its end.
    pub interrupted: bool,
}

impl NasReport {
    /// Nothing has run yet.
    pub fn new(machine: Machine) -> Self {
        Self { machine, cases: Vec::new(), failures: Vec::new(), peak_mops: None, interrupted: false }
    }

    /// A run has ended.
    pub fn add(&mut self, case: &Case, outcome: Outcome) {
        match self.cases.iter_mut().find(|(known, _)| known == case) {
            Some((_, outcomes)) => outcomes.push(outcome),
            None => self.cases.push((case.clone(), vec![outcome])),
        }
    }

    /// What was run, and what came of it.
    pub(super) fn cases(&self) -> &[(Case, Vec<Outcome>)] {
        &self.cases
    }

    /// A run has failed.
    pub fn fail(&mut self, failure: FailedRun) {
        self.failures.push(failure);
    }

    /// Every run ended, and every result is right.
    pub fn is_good(&self) -> bool {
        self.failures.is_empty() && self.records().iter().all(|record| record.verified)
    }

    /// The figures, in the order in which cases were first run.
    pub fn records(&self) -> Vec<NasRecord> {
        self.cases.iter().filter_map(|(case, outcomes)| self.record(case, outcomes)).collect()
    }

    fn record(&self, case: &Case, outcomes: &[Outcome]) -> Option<NasRecord> {
        let base = self.as_record(case, outcomes)?;
        let of = |value: fn(&Outcome) -> Option<f64>| {
            median(&outcomes.iter().filter_map(value).collect::<Vec<_>>())
        };
        Some(NasRecord {
            test: base.test,
            kernel: case.kernel.to_string(),
            class: case.class.to_string(),
            verified: outcomes.iter().all(|outcome| outcome.verified),
            ranks: base.ranks,
            hosts: base.hosts,
            network: base.network,
            stack: base.stack,
            median: base.median,
            p10: base.p10,
            p90: base.p90,
            unit: base.unit,
            seconds: of(|outcome| Some(outcome.seconds))?,
            cpu_s: of(|outcome| outcome.cpu_s),
            lane: base.lane,
            offloads: base.offloads,
            user: base.user,
            os: base.kernel,
            cpu: base.cpu,
            cores: base.cores,
            speedup: self.alone(case).filter(|_| case.hosts > 1).map(|alone| base.median / alone),
            break_even_bit_s: self.break_even(case),
            against: self.against_first_network(case),
            step: cross::step_before(&case.network).and_then(|before| self.against_network(case, before)),
            published: cross::statements(case.kernel, &case.network)
                .filter(|_| case.hosts > 1)
                .copied()
                .collect(),
            of_peak: self.peak(case).map(|peak| base.median / peak),
            of_dgemm: of(|outcome| outcome.dgemm_mops.map(|dgemm| outcome.mops / dgemm)),
            samples: base.samples,
        })
    }

    /// Of Linpack: what all processors make that its ranks can be on. All hosts share those of this machine.
    fn peak(&self, case: &Case) -> Option<f64> {
        let processors = self.machine.cores.min(case.ranks as usize) as f64;
        self.peak_mops.filter(|_| case.kernel == Kernel::Linpack).map(|one| one * processors)
    }

    fn as_record(&self, case: &Case, outcomes: &[Outcome]) -> Option<Record> {
        let mut gathered = Gathered::default();
        outcomes.iter().for_each(|outcome| gathered.add(vec![outcome.mops], 0.0, 0.0));
        let point = Point {
            test: "nas".into(),
            bytes: 0,
            ranks: case.ranks,
            hosts: case.hosts,
            network: case.network.clone(),
            stack: case.stack.clone(),
            unit: Unit::MegaOperations,
            lane: case.lane.clone(),
            offloads: case.offloads.clone(),
            verified: None,
        };
        gathered.record(point, &self.machine)
    }

    /// What one rank on one host did with the same stack, wherever that was.
    fn alone(&self, case: &Case) -> Option<f64> {
        let same = |other: &Case| {
            (other.ranks, other.kernel, other.class, &other.stack)
                == (1, case.kernel, case.class, &case.stack)
        };
        let (_, outcomes) = self.cases.iter().find(|(other, _)| same(other))?;
        median(&outcomes.iter().map(|outcome| outcome.mops).collect::<Vec<_>>())
    }

    fn break_even(&self, case: &Case) -> Option<f64> {
        let computed = case.kernel == Kernel::Is && case.hosts > 1 && case.hosts == case.ranks;
        self.alone(case).filter(|_| computed).map(|alone| is_break_even(alone * 1e6, case.hosts, case.nics))
    }

    /// How a case compares with the same of another stack, from interleaved repetitions.
    pub fn against(&self, case: &Case, stack: &str) -> Option<PairedRatio> {
        self.compare(case, &case.network, stack)
    }

    /// How a case compares with the same on the first network.
    fn against_first_network(&self, case: &Case) -> Option<Against> {
        self.against_network(case, &self.cases.first()?.0.network)
    }

    fn against_network(&self, case: &Case, network: &str) -> Option<Against> {
        if network == case.network {
            return None;
        }
        let gain = self.compare(case, network, &case.stack)?;
        let published = published(case.kernel, case.class, &case.network, network)
            .map(|published| (published.gain, published.source))
            .or_else(|| cross::published(case.kernel, &case.network, network));
        Some(Against {
            network: network.to_owned(),
            gain: gain.median,
            low: gain.interval.low,
            high: gain.interval.high,
            decided: gain.is_decided(),
            published: published.map(|(gain, _)| gain),
            source: published.map(|(_, source)| source),
        })
    }

    /// The runs of the same case on another network, or of another stack.
    pub(super) fn like(&self, case: &Case, network: &str, stack: &str) -> Option<&[Outcome]> {
        let same = |other: &Case| {
            (other.kernel, other.class, other.ranks) == (case.kernel, case.class, case.ranks)
                && (other.network.as_str(), other.stack.as_str()) == (network, stack)
        };
        self.cases.iter().find(|(other, _)| same(other)).map(|(_, outcomes)| outcomes.as_slice())
    }

    /// Ratio to the same case on another network, or of another stack.
    fn compare(&self, case: &Case, network: &str, stack: &str) -> Option<PairedRatio> {
        let find = |network: &str, stack: &str| self.like(case, network, stack);
        let (own, base) = (find(&case.network, &case.stack)?, find(network, stack)?);
        let mops = |outcomes: &[Outcome]| outcomes.iter().map(|outcome| outcome.mops).collect::<Vec<_>>();
        (own.len() == base.len()).then(|| PairedRatio::of(&mops(own), &mops(base)))?
    }

    /// All records as a JSON array.
    pub fn json(&self) -> String {
        // A record is plain data with string keys; there is nothing in it that JSON cannot hold.
        serde_json::to_string_pretty(&self.records()).unwrap_or_default()
    }

    /// A table for a terminal; `baseline` names the stack that a stack is compared with.
    pub fn table(&self, baseline: impl Fn(&str) -> Option<String>) -> String {
        self.text((!self.cases.is_empty()).then(|| self.body(&baseline)), "")
    }

    /// A table between the machine above it, and below it notes, warnings and failures.
    pub(super) fn text(&self, body: Option<Table>, notes: &str) -> String {
        let mut text = format!("{}\n", self.machine);
        if let Some(body) = body {
            let _ = write!(text, "{body}\n{notes}");
        }
        for warning in self.warnings() {
            let _ = writeln!(text, "warning: {warning}");
        }
        text + &ending(&self.failures, self.interrupted)
    }

    fn body(&self, baseline: &impl Fn(&str) -> Option<String>) -> Table {
        let mut table = plain();
        let networks = self.cases.iter().any(|(case, _)| case.network != self.cases[0].0.network);
        let mut header = vec![
            "kernel",
            "class",
            "ranks",
            "hosts",
            "network",
            "stack",
            "Mop/s",
            "p10",
            "p90",
            "seconds",
            "CPU s",
            "verified",
            "one host = 1",
            "against its own TCP",
        ];
        let against = format!("against {}", self.cases[0].0.network);
        if networks {
            header.extend([against.as_str(), "published"]);
        }
        let linpack = self.cases.iter().any(|(case, _)| case.kernel == Kernel::Linpack);
        if linpack {
            header.extend(["of peak", "of DGEMM"]);
        }
        table.set_header(header);
        for (case, outcomes) in &self.cases {
            let Some(record) = self.record(case, outcomes) else { continue };
            let gain = baseline(&case.stack).and_then(|stack| self.against(case, &stack));
            let mut cells = row(&record, gain);
            let shares = [record.of_peak, record.of_dgemm];
            if networks {
                let gain = record.against.as_ref().map(ToString::to_string);
                let published = record.against.and_then(|against| against.published);
                cells.push(Cell::new(gain.unwrap_or("-".into())));
                cells.push(Cell::new(published.map_or("-".into(), |gain| format!("{gain} x"))));
            }
            if linpack {
                let percent =
                    |share: Option<f64>| share.map_or("-".into(), |it| format!("{:.1} %", it * 100.0));
                cells.extend(shares.map(percent).map(Cell::new));
            }
            table.add_row(cells);
        }
        table
    }

    /// Where several hosts are slower than one.
    pub fn warnings(&self) -> Vec<String> {
        let slower = |record: &NasRecord| record.speedup.is_some_and(|speedup| speedup < 1.0);
        let words = |record: NasRecord| {
            let NasRecord { kernel, class, stack, network, hosts, speedup, break_even_bit_s, .. } = record;
            let share = speedup.unwrap_or(0.0);
            let from = break_even_bit_s.map(|rate| {
                format!(
                    "; with a processor each they beat it from {:.2} Gbit/s per link (computed)",
                    rate / 1e9
                )
            });
            format!(
                "{kernel} {class}: {hosts} hosts on {network} ({stack}) are {share:.2} x as fast as one host alone{}",
                from.unwrap_or_default()
            )
        };
        self.records().into_iter().filter(slower).map(words).collect()
    }

    /// Bar charts, one per kernel and class: name and SVG.
    pub fn charts(&self) -> Result<Vec<(String, String)>, plot::PlotError> {
        let mut names: Vec<(Kernel, Class)> = Vec::new();
        for (case, _) in &self.cases {
            if !names.contains(&(case.kernel, case.class)) {
                names.push((case.kernel, case.class));
            }
        }
        names.into_iter().map(|(kernel, class)| self.chart(kernel, class)).collect()
    }

    fn chart(&self, kernel: Kernel, class: Class) -> Result<(String, String), plot::PlotError> {
        let name = format!("{kernel} {class}");
        let cases = self.cases.iter().filter(|(case, _)| (case.kernel, case.class) == (kernel, class));
        let records: Vec<_> = cases.filter_map(|(case, outcomes)| self.as_record(case, outcomes)).collect();
        let svg = plot::panels(&name, &records.iter().collect::<Vec<_>>())?;
        Ok((name, svg))
    }
}

fn row(record: &NasRecord, gain: Option<PairedRatio>) -> Vec<Cell> {
    let figure = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    let gain = gain.map_or("-".into(), |gain| crate::table::describe(&gain));
    vec![
        Cell::new(&record.kernel),
        Cell::new(&record.class),
        figure(record.ranks.to_string()),
        figure(record.hosts.to_string()),
        Cell::new(&record.network),
        Cell::new(&record.stack),
        figure(significant(record.median)),
        figure(significant(record.p10)),
        figure(significant(record.p90)),
        figure(significant(record.seconds)),
        figure(record.cpu_s.map_or("-".into(), significant)),
        Cell::new(if record.verified { "yes" } else { "NO" }),
        figure(record.speedup.map_or("-".into(), |speedup| format!("{speedup:.2} x"))),
        Cell::new(gain),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(ranks: u32, stack: &str) -> Case {
        Case {
            kernel: Kernel::Is,
            class: Class::S,
            ranks,
            hosts: ranks,
            nics: 1,
            network: "mesh".into(),
            stack: stack.into(),
            lane: if stack.ends_with("tasuki") { "tasuki" } else { "tcp" }.into(),
            offloads: "off".into(),
        }
    }

    fn outcome(mops: f64, verified: bool) -> Outcome {
        Outcome {
            kernel: Kernel::Is,
            class: Class::S,
            size: "65536".into(),
            iterations: 10,
            seconds: 1.0 / mops,
            cpu_s: Some(0.1),
            ranks: 1,
            mops,
            operation: "keys ranked".into(),
            verified,
            version: "1".into(),
            breakdown: Vec::new(),
            dgemm_mops: None,
            challenge: std::collections::BTreeMap::new(),
        }
    }

    fn report(runs: &[(Case, &[f64])]) -> NasReport {
        let machine = Machine { kernel: "Linux 6.1".into(), cpu: "A".into(), cores: 2, user: "root".into() };
        let mut report = NasReport::new(machine);
        for (case, mops) in runs {
            mops.iter().for_each(|mops| report.add(case, outcome(*mops, true)));
        }
        report
    }

    #[test]
    fn cases_are_compared_with_one_host_and_with_tcp() {
        let report = report(&[
            (case(1, "a"), &[10.0, 12.0, 11.0]),
            (case(4, "a"), &[5.5, 5.0, 6.0]),
            (case(4, "a tasuki"), &[11.0, 10.0, 12.0]),
        ]);
        let records = report.records();
        let speedups: Vec<_> = records.iter().map(|record| record.speedup).collect();
        assert_eq!(speedups, [None, Some(0.5), None], "one host with Tasuki was not measured");
        assert_eq!(report.warnings().len(), 1);
        let gain = report.against(&case(4, "a tasuki"), "a").map(|gain| gain.median);
        assert_eq!(gain, Some(2.0));
        let text = report.table(|stack| stack.strip_suffix(" tasuki").map(str::to_owned));
        for part in ["IS", "mesh", "2.00 x (2.00 to 2.00)", "0.50 x", "warning: IS S: 4 hosts on mesh (a)"] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
    }

    #[test]
    fn cablings_are_compared_with_the_first_and_with_the_papers() {
        let on = |network: &str, class| Case { network: network.into(), class, ..case(4, "a") };
        let report = report(&[
            (on("star:4", Class::A), &[10.0, 20.0]),
            (on("full:4", Class::A), &[30.0, 60.0]),
            (on("full:4", Class::W), &[30.0]),
        ]);
        let against: Vec<_> = report.records().into_iter().map(|record| record.against).collect();
        assert!(against[0].is_none() && against[2].is_none(), "{against:?}");
        // Cross-connection paper, section 4.2: IS, class A, 2.5 times.
        let cables = against[1].as_ref().map(|it| (it.network.as_str(), it.gain, it.published));
        assert_eq!(cables, Some(("star:4", 3.0, Some(2.5))));
        let text = report.table(|_| None);
        assert!(text.contains("against star:4") && text.contains("2.5 x"), "{text}");
    }

    #[test]
    fn linpack_is_a_share_of_the_peak_of_the_processors_that_it_can_use() {
        let on = |ranks| Case { kernel: Kernel::Linpack, ..case(ranks, "a") };
        let mut report = report(&[(case(2, "a"), &[10.0])]);
        report.peak_mops = Some(1000.0);
        for (ranks, mops) in [(1, 500.0), (4, 800.0)] {
            let outcome = Outcome { dgemm_mops: Some(1600.0), cpu_s: None, ..outcome(mops, true) };
            report.add(&on(ranks), outcome);
        }
        let shares: Vec<_> =
            report.records().iter().map(|record| (record.of_peak, record.of_dgemm)).collect();
        // A machine of two processors.
        assert_eq!(shares, [(None, None), (Some(0.5), Some(0.3125)), (Some(0.4), Some(0.5))]);
        let text = report.table(|_| None);
        assert!(text.contains("of peak") && text.contains("40.0 %") && text.contains("50.0 %"), "{text}");
    }

    /// Against the two times worked out by themselves, for one size.
    #[test]
    fn several_hosts_beat_one_at_is_from_some_rate_on() {
        let (keys, alone, hosts, nics) = (8_388_608.0, 480e6, 4.0, 3.0);
        let seconds = |rate: f64| {
            let packets = keys / hosts * (hosts - 1.0) / hosts * 4.0 / 1448.0;
            keys / hosts / alone + packets * 1538.0 * 8.0 / (nics * rate)
        };
        let rate = is_break_even(alone, 4, 3);
        assert!((1.3e9..1.4e9).contains(&rate), "{rate}");
        assert!(seconds(rate * 0.99) > keys / alone && seconds(rate * 1.01) < keys / alone, "{rate}");
    }

    #[test]
    fn one_wrong_result_is_enough() {
        let mut report = report(&[(case(2, "a"), &[1.0, 1.0])]);
        assert!(report.is_good());
        report.add(&case(2, "a"), outcome(1.0, false));
        assert!(!report.is_good() && report.table(|_| None).contains("NO"));
    }

    #[test]
    fn json_has_the_promised_keys_and_charts_name_their_stacks() {
        let report = report(&[(case(1, "a"), &[10.0]), (case(4, "a"), &[5.5])]);
        let json: serde_json::Value = serde_json::from_str(&report.json()).expect("JSON");
        for key in "test kernel class verified ranks network stack median p10 p90 unit lane offloads user cpu samples"
            .split_whitespace()
        {
            assert!(json[0].get(key).is_some(), "{key}");
        }
        assert_eq!((json[0]["kernel"].as_str(), json[0]["unit"].as_str()), (Some("IS"), Some("Mop/s")));
        let charts = report.charts().expect("charts");
        assert!(charts.len() == 1 && charts[0].0 == "IS S" && charts[0].1.contains("4 ranks"));
    }
}
