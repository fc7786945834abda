//! The findings of a check, and its report.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The part at fault.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "part", content = "name", rename_all = "kebab-case")]
pub enum Part {
    /// A cable, by its two ends.
    Cable(String),
    /// A NIC, as `n1:eth1`.
    Nic(String),
    /// A switch, or a port of one.
    Switch(String),
    /// A setting of a host or of one of its NICs.
    Setting(String),
    /// The memory or processor of a host.
    Memory(String),
    /// A host as a whole.
    Host(String),
    /// The route between two hosts, if it cannot be told which of its parts is at fault.
    Route(String),
}

impl Part {
    /// The part's name, without its kind.
    pub fn name(&self) -> &str {
        let (Self::Cable(name) | Self::Nic(name) | Self::Switch(name) | Self::Setting(name)) = self else {
            let (Self::Memory(name) | Self::Host(name) | Self::Route(name)) = self else { return "" };
            return name;
        };
        name
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            Self::Cable(_) => "cable",
            Self::Nic(_) => "NIC",
            Self::Switch(_) => "switch",
            Self::Setting(_) => "host setting",
            Self::Memory(_) => "memory of",
            Self::Host(_) => "host",
            Self::Route(_) => "route",
        };
        write!(f, "{what} {}", self.name())
    }
}

/// What is wrong with a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The host could not be checked, or a cable not be measured.
    Unchecked,
    /// There is no such interface, or it is down.
    Interface,
    /// No frames pass, in one direction or in both.
    Dead,
    /// A cable is plugged in elsewhere than planned.
    Miswired,
    /// Frames are lost.
    Loss,
    /// Frames arrive with changed bytes.
    Damage,
    /// Frames arrive twice, or circle.
    Duplicates,
    /// A line or NIC is slower than planned.
    Slow,
    /// Frames of the planned size do not pass.
    Mtu,
    /// An address is missing or is another than planned.
    Address,
    /// An address that belongs to another host.
    DuplicateAddress,
    /// Packets go in circles.
    Loop,
    /// A route is another than planned.
    Route,
    /// A kernel setting is another than planned.
    Setting,
    /// Frames are received late.
    Delay,
    /// Programs use the processor.
    Load,
    /// The bus is narrower than its NICs.
    Bus,
    /// Error counters grow.
    Errors,
    /// A host's firewall drops what others send.
    Firewall,
    /// A pair of hosts cannot talk.
    Unreachable,
    /// A pair of hosts is slower than others.
    Outlier,
    /// Messages arrived with another content, or memory did not keep what was written.
    Content,
    /// A program of the burn-in failed.
    BurnIn,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The stage that found it, 1 to 4.
    pub stage: u8,
    /// What is wrong.
    pub kind: Kind,
    /// The part at fault.
    pub part: Part,
    /// Whether programs run in spite of it.
    pub warning: bool,
    /// The finding in one sentence.
    pub says: String,
    /// What was seen.
    pub evidence: Vec<String>,
    /// What the user should do.
    pub advice: String,
}

impl Finding {
    /// A fault without evidence.
    pub fn new(
        stage: u8,
        kind: Kind,
        part: Part,
        says: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        let (says, advice) = (says.into(), advice.into());
        Self { stage, kind, part, warning: false, says, evidence: Vec::new(), advice }
    }

    /// Adds something that was seen.
    pub fn seen(mut self, evidence: impl Into<String>) -> Self {
        self.evidence.push(evidence.into());
        self
    }

    /// Makes it a warning.
    pub fn as_warning(mut self) -> Self {
        self.warning = true;
        self
    }
}

/// The result of a whole check.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Name of the cluster.
    pub cluster: String,
    /// Seed of everything random.
    pub seed: u64,
    /// Stages that were run.
    pub stages: Vec<u8>,
    /// How long it took, seconds.
    pub seconds: f64,
    /// The findings, the worst first.
    pub findings: Vec<Finding>,
    /// Figures of healthy and faulty parts alike, stage by stage: title, names of columns, rows.
    pub tables: Vec<(String, Vec<String>, Vec<Vec<String>>)>,
}

impl Report {
    /// The exit code that monitoring systems expect: 0 well, 1 warnings, 2 faults, 3 hosts that could not be
    /// checked.
    pub fn exit_code(&self) -> u8 {
        let unchecked =
            self.findings.iter().any(|finding| finding.kind == Kind::Unchecked && !finding.warning);
        let faults = self.findings.iter().any(|finding| !finding.warning);
        match (unchecked, faults, self.findings.is_empty()) {
            (true, ..) => 3,
            (_, true, _) => 2,
            (_, _, false) => 1,
            _ => 0,
        }
    }

    /// Sorts findings: faults before warnings, in the order of stages. Each is kept once.
    pub fn sort(&mut self) {
        self.findings.sort_by(|a, b| {
            (a.warning, a.stage, a.kind, &a.part).cmp(&(b.warning, b.stage, b.kind, &b.part))
        });
        self.findings.dedup_by(|a, b| (a.kind, &a.part) == (b.kind, &b.part));
    }
}
