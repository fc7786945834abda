//! The last page of the demonstration: what was shown, what it depends on, and the figures. No line is wider
//! than a terminal of 80 columns.

use tasuki_bench::{Record, Report, figure::significant, nas::NasRecord, stats::PairedRatio};
use tasuki_cluster::Rate;
use tasuki_launch::Provider;
use tasuki_terminal::{Rows, table};

/// The name of the network whose hosts are cabled directly.
pub const CABLES: &str = "cables";
/// The name of the network whose hosts are cabled to a switch.
pub const SWITCH: &str = "one switch";
/// Bytes for each rank in the all-to-all exchange that shows what the cables are good for.
const LARGE: u64 = 65_536;

/// The whole page. `kernels` is empty if no kernels were run.
pub fn page(report: &Report, kernels: &[NasRecord], rate: Rate) -> String {
    let mut text =
        format!("\nWhat this has shown, on four hosts with lines of {rate}; Tasuki against TCP:\n");
    for line in shown(report, kernels) {
        text += &format!("  {line}\n");
    }
    text += &caveat(report.machine.cores, rate);
    text += &format!("\n{}\n", messages(report));
    if !kernels.is_empty() {
        text += &format!("\nNAS kernels, million operations per second:\n{}\n", programs(kernels));
        text += match kernels.iter().all(|record| record.verified) {
            true => "All results agree with the published ones.\n",
            false => "NOT all results agree with the published ones.\n",
        };
    }
    text
}

/// The headline figures, one line each.
fn shown(report: &Report, kernels: &[NasRecord]) -> Vec<String> {
    let mut lines = Vec::new();
    let tasuki = |what: String, gains: [Option<String>; 2]| match gains {
        [Some(cables), Some(switch)] => {
            Some(format!("{what:<18}{cables} on {CABLES}, {switch} through {SWITCH}"))
        }
        _ => None,
    };
    let message = |network| {
        let record = point(report, network, "barrier", 0, true)?;
        Some(times(gain(record, point(report, network, "barrier", 0, false)?)))
    };
    lines.extend(tasuki("barrier".into(), [CABLES, SWITCH].map(message)));
    let mut seen: Vec<&str> = Vec::new();
    for record in kernels.iter().filter(|record| !seen_before(&mut seen, &record.kernel)) {
        let of = |network| {
            let pair = [true, false].map(|own| program(kernels, &record.kernel, network, own));
            Some(PairedRatio::of(&pair[0]?.samples, &pair[1]?.samples)?.brief())
        };
        lines.extend(tasuki(format!("{}, class {}", record.kernel, record.class), [CABLES, SWITCH].map(of)));
    }
    let exchange = [CABLES, SWITCH].map(|network| point(report, network, "alltoall", LARGE, true));
    if let [Some(cables), Some(switch)] = exchange {
        let gain = times(gain(cables, switch));
        lines.push(format!("{:<18}{CABLES} against {SWITCH}, over Tasuki: {gain}", "alltoall, 64 KiB"));
    }
    lines
}

/// Whether a name was there before; from now on it was.
fn seen_before<'a>(seen: &mut Vec<&'a str>, name: &'a str) -> bool {
    let before = seen.contains(&name);
    if !before {
        seen.push(name);
    }
    before
}

/// What the figures depend on.
fn caveat(cores: usize, rate: Rate) -> String {
    let mut text = format!(
        "\nAll hosts share the {cores} cores of this machine: four hosts have no more\n\
         processors than one, and their lines of {rate} hold programs back. That a\n\
         program is slower on four such hosts than on one is expected. Compare figures\n\
         of one table only. tcp is the MPI's own TCP, tasuki the same binary over\n\
         Tasuki; limit is, without any MPI, the line's rate, or the time of the longest\n\
         raw frame that was measured and is no longer than the message. On cables each\n\
         pair of hosts has a line of its own, through the switch a host has one for all.\n"
    );
    if rate.bits_per_second >= 1_000_000_000 {
        text += "Lines of 1 Gbit/s and more may want more processor time than there is.\n";
    }
    text
}

/// A row for each test, size and network.
fn messages(report: &Report) -> Rows {
    let mut rows = table(["test", "bytes", "unit", "network", "limit", "tcp", "tasuki", "tasuki is"]);
    let mpi = |record: &&Record| !record.test.starts_with("raw-") && record.lane != Provider::NAME;
    for first in report.records.iter().filter(mpi).filter(|record| record.network == CABLES) {
        for network in [CABLES, SWITCH] {
            let [tcp, own] = [false, true].map(|own| point(report, network, &first.test, first.bytes, own));
            let median =
                |record: Option<&Record>| record.map_or("-".into(), |record| significant(record.median));
            let limit = tcp.or(own).and_then(|record| record.ceiling.as_ref());
            rows.add_row([
                first.test.clone(),
                first.bytes.to_string(),
                first.unit.to_string(),
                network.to_owned(),
                limit.map_or("-".into(), |limit| significant(limit.value)),
                median(tcp),
                median(own),
                times(own.zip(tcp).and_then(|(own, tcp)| gain(own, tcp))),
            ]);
        }
    }
    rows
}

/// A row for each kernel and network.
fn programs(kernels: &[NasRecord]) -> Rows {
    let mut rows = table(["kernel", "class", "hosts", "network", "tcp", "tasuki", "tasuki is"]);
    let tcp = kernels.iter().filter(|record| record.lane != Provider::NAME);
    for first in tcp {
        let is_pair = |other: &&NasRecord| {
            other.lane == Provider::NAME
                && (&other.kernel, &other.network, other.hosts)
                    == (&first.kernel, &first.network, first.hosts)
        };
        let own = kernels.iter().find(is_pair);
        let ratio = own.and_then(|own| PairedRatio::of(&own.samples, &first.samples));
        rows.add_row([
            first.kernel.clone(),
            first.class.clone(),
            first.hosts.to_string(),
            if first.hosts == 1 { "-".into() } else { first.network.clone() },
            significant(first.median),
            own.map_or("-".into(), |own| significant(own.median)),
            times(ratio),
        ]);
    }
    rows
}

/// The record of a test over Tasuki, or over TCP.
fn point<'a>(report: &'a Report, network: &str, test: &str, bytes: u64, own: bool) -> Option<&'a Record> {
    report.records.iter().find(|record| {
        (record.network.as_str(), record.test.as_str(), record.bytes) == (network, test, bytes)
            && (record.lane == Provider::NAME) == own
    })
}

/// The record of a kernel on all hosts of a network, over Tasuki or over TCP.
fn program<'a>(kernels: &'a [NasRecord], kernel: &str, network: &str, own: bool) -> Option<&'a NasRecord> {
    kernels.iter().find(|record| {
        (record.kernel.as_str(), record.network.as_str()) == (kernel, network)
            && record.hosts > 1
            && (record.lane == Provider::NAME) == own
    })
}

/// How many times as good the first record is as the second, in pairs of repetitions.
fn gain(record: &Record, base: &Record) -> Option<PairedRatio> {
    record.unit.paired_gain(&record.repetitions, &base.repetitions)
}

/// A ratio as the page writes it.
fn times(ratio: Option<PairedRatio>) -> String {
    ratio.map_or("-".into(), |ratio| ratio.brief())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tasuki_bench::{Machine, Unit};

    fn record(test: &str, bytes: u64, network: &str, lane: &str, figures: [f64; 3]) -> Record {
        let stack = if lane == "tasuki" { "openmpi-4.1.4 tasuki" } else { "openmpi-4.1.4" };
        let record = json!({
            "test": test, "bytes": bytes, "ranks": 4, "hosts": 4, "network": network, "stack": stack,
            "median": figures[0], "p10": figures[0], "p90": figures[0], "unit": "us", "lane": lane,
            "offloads": "off", "user": "root", "kernel": "Linux", "cpu": "A", "cores": 2,
            "cpu_s_per_gb": null, "ceiling": { "value": 12.5, "of": "raw" }, "verified": null,
            "samples": figures, "repetitions": figures,
        });
        serde_json::from_value(record).expect("a record")
    }

    fn kernel(hosts: u32, network: &str, lane: &str, mops: f64) -> NasRecord {
        NasRecord {
            test: "nas".into(),
            kernel: "IS".into(),
            class: "W".into(),
            verified: true,
            ranks: hosts,
            hosts,
            network: network.into(),
            stack: lane.into(),
            median: mops,
            p10: mops,
            p90: mops,
            unit: Unit::MegaOperations,
            seconds: 1.0,
            cpu_s: None,
            lane: lane.into(),
            offloads: "off".into(),
            user: "root".into(),
            os: "Linux".into(),
            cpu: "A".into(),
            cores: 2,
            speedup: Some(0.01),
            break_even_bit_s: None,
            against: None,
            step: None,
            published: Vec::new(),
            of_peak: None,
            of_dgemm: None,
            samples: vec![mops; 3],
        }
    }

    fn report() -> Report {
        let machine = Machine { kernel: "Linux".into(), cpu: "A".into(), cores: 2, user: "root".into() };
        let mut records = Vec::new();
        for (network, slow) in [(CABLES, 1.0), (SWITCH, 2.0)] {
            records.push(record("raw-pingpong", 8, network, "tcp", [30.0; 3]));
            records.push(record("barrier", 0, network, "tcp", [90.0 * slow; 3]));
            records.push(record("barrier", 0, network, "tasuki", [30.0 * slow; 3]));
            records.push(record("alltoall", LARGE, network, "tcp", [1234567.0, 10.0, 2000.0]));
            records.push(record("alltoall", LARGE, network, "tasuki", [12345.6 * slow; 3]));
        }
        Report { machine, records, failures: Vec::new(), interrupted: false }
    }

    #[test]
    fn the_page_begins_with_what_was_shown_and_the_caveat_stands_above_the_figures() {
        let kernels = [
            kernel(1, SWITCH, "tcp", 50.0),
            kernel(4, SWITCH, "tcp", 1.0),
            kernel(4, SWITCH, "tasuki", 1.5),
            kernel(4, CABLES, "tcp", 2.0),
            kernel(4, CABLES, "tasuki", 4.0),
        ];
        let text = page(&report(), &kernels, "100M".parse().expect("a rate"));
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} is missing in\n{text}"));
        let order = [
            "barrier           3.00 x on cables, 3.00 x through one switch",
            "IS, class W       2.00 x on cables, 1.50 x through one switch",
            "alltoall, 64 KiB  cables against one switch, over Tasuki: 2.00 x",
            "is expected",
            "tasuki is",
            "NAS kernels",
            "All results agree",
        ];
        assert!(order.windows(2).all(|pair| at(pair[0]) < at(pair[1])), "{text}");
        assert!(!text.contains("raw-pingpong") && !text.contains("warning"), "{text}");
    }

    #[test]
    fn no_line_is_wider_than_a_terminal_and_undecided_ratios_are_not_printed() {
        let text = page(&report(), &[kernel(4, CABLES, "tcp", 1.0)], "1G".parse().expect("a rate"));
        let wide: Vec<&str> = text.lines().filter(|line| line.trim_end().chars().count() > 80).collect();
        assert!(wide.is_empty(), "{wide:?}");
        let row = text.lines().find(|line| line.trim_start().starts_with("alltoall  65536")).expect("a row");
        assert!(row.contains("undecided"), "{row}");
    }
}
