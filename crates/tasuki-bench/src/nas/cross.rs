//! The networks (a) to (d) of the cross-connection paper: their names, the steps from one to the next, what
//! the paper says of each (section 4.2; the bars of its figures 6 and 7 are lost), and a table of the kernels
//! on them.

use super::{Kernel, NasRecord, NasReport};
use crate::{figure::significant, table::plain};
use comfy_table::{Cell, CellAlignment};
use serde::Serialize;

/// (a): one NIC per host, on one switch.
pub const SWITCH: &str = "(a) switch";
/// (b): every host cabled to every other.
pub const CABLES: &str = "(b) cables";
/// (b) where all NICs of a host together have the rate of one NIC in (a).
pub const CABLES_CONTROL: &str = "(b) control";
/// (c): (b) without interrupt delay.
pub const DELAY_OFF: &str = "(c) delay off";
/// (d): (c) with two cables in place of each, bonded.
pub const BONDED: &str = "(d) bonded";
/// (d), striped by Tasuki instead of bonded.
pub const STRIPED: &str = "(d') striped";
/// (d) with two cables of half the rate.
pub const BONDED_CONTROL: &str = "(d) control";

/// Pairs of a network and the one from which it differs in one thing, with which it is compared besides (a).
pub const STEPS: [(&str, &str); 6] = [
    (CABLES, SWITCH),
    (CABLES_CONTROL, SWITCH),
    (DELAY_OFF, CABLES),
    (BONDED, DELAY_OFF),
    (STRIPED, DELAY_OFF),
    (BONDED_CONTROL, DELAY_OFF),
];

/// The network from which this one differs in one thing.
pub fn step_before(network: &str) -> Option<&'static str> {
    STEPS.iter().find(|(name, _)| *name == network).map(|(_, before)| *before)
}

/// A statement of the paper about a kernel on one of its networks, for class A and 1 Gbit/s.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Statement {
    /// The program.
    #[serde(skip)]
    pub kernel: Kernel,
    /// The network.
    #[serde(skip)]
    pub network: &'static str,
    /// The network that it is compared with, or [`ONE_HOST`].
    pub of: &'static str,
    /// Number of PCs.
    pub hosts: u32,
    /// How many times as many operations per second it makes; `None` if the paper gives no number.
    pub gain: Option<f64>,
    /// The statement in words.
    pub says: &'static str,
}

/// Name of one host alone in comparisons.
pub const ONE_HOST: &str = "one host";

const fn figure(kernel: Kernel, network: &'static str, of: &'static str, hosts: u32, gain: f64) -> Statement {
    Statement { kernel, network, of, hosts, gain: Some(gain), says: "" }
}

const fn words(
    kernel: Kernel,
    network: &'static str,
    of: &'static str,
    hosts: u32,
    says: &'static str,
) -> Statement {
    Statement { kernel, network, of, hosts, gain: None, says }
}

/// Million operations per second of IS on two PCs in (c) and (d).
const IS_ON_TWO: [f64; 2] = [19.6, 23.8];
/// Million operations per second of IS on one PC.
const IS_ON_ONE: f64 = 30.8;

/// All statements of section 4.2 and of the texts of figures 6 and 7.
pub const STATEMENTS: [Statement; 17] = [
    figure(Kernel::Is, CABLES, SWITCH, 4, 2.5),
    figure(Kernel::Cg, CABLES, SWITCH, 4, 1.4),
    words(Kernel::Mg, CABLES, SWITCH, 4, "better than"),
    words(Kernel::Lu, CABLES, SWITCH, 4, "better than"),
    figure(Kernel::Is, DELAY_OFF, CABLES, 4, 1.05),
    words(Kernel::Cg, DELAY_OFF, CABLES, 4, "slower than"),
    words(Kernel::Lu, DELAY_OFF, CABLES, 4, "slower than"),
    words(Kernel::Mg, DELAY_OFF, CABLES, 4, "no gain over"),
    words(Kernel::Ep, DELAY_OFF, CABLES, 4, "no gain over"),
    figure(Kernel::Is, DELAY_OFF, ONE_HOST, 2, IS_ON_TWO[0] / IS_ON_ONE),
    figure(Kernel::Is, BONDED, DELAY_OFF, 2, 1.21),
    figure(Kernel::Is, BONDED, ONE_HOST, 2, IS_ON_TWO[1] / IS_ON_ONE),
    figure(Kernel::Cg, BONDED, DELAY_OFF, 2, 0.90),
    words(Kernel::Mg, BONDED, DELAY_OFF, 2, "no gain over"),
    words(Kernel::Lu, BONDED, DELAY_OFF, 2, "no gain over"),
    words(Kernel::Ep, BONDED, DELAY_OFF, 2, "no change against"),
    words(Kernel::Ep, DELAY_OFF, CABLES, 2, "no change against"),
];

/// The statements of the paper about a kernel on a network, whatever the number of hosts: the paper ran (a)
/// to (c) on four PCs, (b) to (d) on two.
pub fn statements(kernel: Kernel, network: &str) -> impl Iterator<Item = &'static Statement> {
    STATEMENTS.iter().filter(move |it| it.kernel == kernel && it.network == network)
}

/// The gain that the paper gives for a kernel on a network compared with another, and its place in the paper.
pub fn published(kernel: Kernel, network: &str, of: &str) -> Option<(f64, &'static str)> {
    let found = statements(kernel, network).find(|it| it.of == of)?;
    let source = match found.hosts {
        2 => "cross-connection paper, section 4.2: two PCs, class A, 1 Gbit/s",
        _ => "cross-connection paper, section 4.2: four PCs, class A, 1 Gbit/s",
    };
    Some((found.gain?, source))
}

impl std::fmt::Display for Statement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let of = self.of.split(' ').next().filter(|_| self.of != ONE_HOST).unwrap_or(self.of);
        match self.gain {
            Some(gain) => write!(f, "{gain:.2} x {of}, {} PCs", self.hosts),
            None => write!(f, "{} {of}, {} PCs", self.says, self.hosts),
        }
    }
}

/// Notes below the table.
const NOTES: &str = "of (a), of step: operations per second against (a), and against the network that \
    differs in one thing; medians of pairs of repetitions and 95 % (all pairs if fewer than six), ?: not \
    decided.\n\
    published: the cross-connection paper, section 4.2: class A, 1 Gbit/s, (a) to (c) on four PCs, (d) on \
    two.\n";

/// A table of the kernels on these networks, for a terminal; `note` comes below it.
pub fn table(report: &NasReport, note: &str) -> String {
    let records = report.records();
    let mut table = plain();
    table.set_header([
        "kernel",
        "class",
        "hosts",
        "network",
        "stack",
        "Mop/s (p10 to p90)",
        "of (a)",
        "of step",
        "published",
        "one host = 1",
        "CPU s",
        "verified",
    ]);
    for record in &records {
        table.add_row(row(record));
    }
    let body = (!records.is_empty()).then_some(table);
    report.text(body, &format!("{NOTES}{note}"))
}

fn row(record: &NasRecord) -> Vec<Cell> {
    let figure = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    let or_dash = |text: Option<String>| text.unwrap_or("-".into());
    // Where (a) is not measured, the first network is another.
    let against = record.against.as_ref().filter(|it| it.network == SWITCH).map(ToString::to_string);
    let step = record.step.as_ref().map(|it| {
        let of = it.network.split(' ').next().unwrap_or_default();
        format!("{of} {it}")
    });
    let published: Vec<String> = record.published.iter().map(ToString::to_string).collect();
    let network = if record.hosts == 1 { ONE_HOST } else { &record.network };
    let cells = [significant(record.p10), significant(record.p90)].join(" to ");
    vec![
        Cell::new(&record.kernel),
        Cell::new(&record.class),
        figure(record.hosts.to_string()),
        Cell::new(network),
        Cell::new(&record.stack),
        figure(format!("{} ({cells})", significant(record.median))),
        Cell::new(or_dash(against)),
        Cell::new(or_dash(step)),
        Cell::new(or_dash((!published.is_empty()).then(|| published.join("; ")))),
        figure(or_dash(record.speedup.map(|speedup| format!("{speedup:.2} x")))),
        figure(or_dash(record.cpu_s.map(significant))),
        Cell::new(if record.verified { "yes" } else { "NO" }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Machine,
        nas::{Case, Class, Outcome},
    };

    // Section 4.2: IS at 19.6 Mop/s on two PCs in (c), 23.8 in (d), 1.21 times as much, and 30.8 on one PC
    // alone; 2.5 and 1.05 times on four.
    #[test]
    fn statements_are_those_of_the_text() {
        let of = |network: &str, of: &str| published(Kernel::Is, network, of).map(|(gain, _)| gain);
        assert_eq!((of(CABLES, SWITCH), of(DELAY_OFF, CABLES)), (Some(2.5), Some(1.05)));
        let (off, bonded) = (of(DELAY_OFF, ONE_HOST), of(BONDED, ONE_HOST));
        let ratio = bonded.zip(off).map(|(bonded, off)| bonded / off);
        assert!(ratio.is_some_and(|ratio| (ratio - 1.21).abs() < 0.005), "{ratio:?}");
        assert_eq!(of(BONDED, DELAY_OFF), Some(1.21));
        assert_eq!(published(Kernel::Cg, BONDED, DELAY_OFF).map(|(gain, _)| gain), Some(0.9));
        assert!(published(Kernel::Cg, DELAY_OFF, CABLES).is_none(), "slower, it says, and not how much");
        for it in &STATEMENTS {
            assert!(it.of == ONE_HOST || step_before(it.network) == Some(it.of), "{it}");
            assert!(it.gain.is_some() == it.says.is_empty(), "{it}");
        }
    }

    fn report(runs: &[(&str, u32, &[f64])]) -> NasReport {
        let machine = Machine { kernel: "Linux 6.1".into(), cpu: "A".into(), cores: 2, user: "root".into() };
        let mut report = NasReport::new(machine);
        for &(network, hosts, mops) in runs {
            let case = Case {
                kernel: Kernel::Is,
                class: Class::W,
                ranks: hosts,
                hosts,
                nics: 1,
                network: network.into(),
                stack: "openmpi".into(),
                lane: "tcp".into(),
                offloads: "off".into(),
            };
            for &mops in mops {
                let outcome = Outcome {
                    kernel: Kernel::Is,
                    class: Class::W,
                    size: "65536".into(),
                    iterations: 10,
                    seconds: 1.0 / mops,
                    cpu_s: Some(0.1),
                    ranks: hosts,
                    mops,
                    operation: "keys ranked".into(),
                    verified: true,
                    version: "1".into(),
                    breakdown: Vec::new(),
                    dgemm_mops: None,
                    challenge: std::collections::BTreeMap::new(),
                };
                report.add(&case, outcome);
            }
        }
        report
    }

    #[test]
    fn every_network_is_compared_with_the_first_with_the_step_before_and_with_one_host() {
        let report = report(&[
            (SWITCH, 1, &[100.0, 100.0, 100.0]),
            (SWITCH, 4, &[10.0, 20.0, 15.0]),
            (CABLES, 4, &[30.0, 60.0, 45.0]),
            (DELAY_OFF, 4, &[60.0, 120.0, 90.0]),
        ]);
        let records = report.records();
        let gains = |of: fn(&NasRecord) -> Option<&crate::nas::Against>| -> Vec<Option<f64>> {
            records.iter().map(|record| of(record).map(|it| it.gain)).collect()
        };
        assert_eq!(gains(|record| record.against.as_ref()), [None, None, Some(3.0), Some(6.0)]);
        assert_eq!(gains(|record| record.step.as_ref()), [None, None, Some(3.0), Some(2.0)]);
        assert_eq!(records[3].speedup, Some(0.9));
        assert_eq!(records[3].step.as_ref().and_then(|it| it.published), Some(1.05));
        let text = table(&report, "a note\n");
        for part in [
            "one host",
            "(b) 2.00 x (2.00 to 2.00) ?",
            "1.05 x (b), 4 PCs",
            "0.90 x",
            "a note",
            "warning: IS W: 4",
        ] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
    }

    #[test]
    fn other_networks_have_the_keys_that_they_had() {
        let json = report(&[("star:4", 4, &[1.0]), ("full:4", 4, &[2.0])]).json();
        assert!(!json.contains("\"step\"") && json.contains("\"published\": null"), "{json}");
    }
}
