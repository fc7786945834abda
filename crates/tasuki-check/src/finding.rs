//! What a check says.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What is at fault.
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
    /// The way between two hosts: none of its parts could be told from the others.
    Way(String),
}

impl Part {
    /// Its name, without what it is.
    pub fn name(&self) -> &str {
        let (Self::Cable(name) | Self::Nic(name) | Self::Switch(name) | Self::Setting(name)) = self else {
            let (Self::Memory(name) | Self::Host(name) | Self::Way(name)) = self else { return "" };
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
            Self::Way(_) => "way",
        };
        write!(f, "{what} {}", self.name())
    }
}

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The host could not be checked, or a cable not be measured.
    Unchecked,
    /// There is no such interface, or it is down.
    Interface,
    /// Nothing passes, in one direction or in both.
    Dead,
    /// Plugged in elsewhere than planned.
    Miswired,
    /// Frames are lost.
    Loss,
    /// Frames come with other bytes.
    Damage,
    /// Frames come twice or circle.
    Duplicates,
    /// Slower than planned.
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
    /// Stage that found it, 1 to 4.
    pub stage: u8,
    /// What is wrong.
    pub kind: Kind,
    /// What is at fault.
    pub part: Part,
    /// It does not keep programs from running.
    pub warning: bool,
    /// In one sentence.
    pub says: String,
    /// What was seen.
    pub evidence: Vec<String>,
    /// What to do.
    pub advice: String,
}

impl Finding {
    /// A fault without evidence yet.
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

    /// With something that was seen.
    pub fn seen(mut self, evidence: impl Into<String>) -> Self {
        self.evidence.push(evidence.into());
        self
    }

    /// It is no fault, only worth knowing.
    pub fn as_warning(mut self) -> Self {
        self.warning = true;
        self
    }
}

/// What a whole check found.
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
    /// What was found, the worst first.
    pub findings: Vec<Finding>,
    /// Figures of healthy and faulty parts alike, stage by stage: title, column names, rows.
    pub tables: Vec<(String, Vec<String>, Vec<Vec<String>>)>,
}

impl Report {
    /// As monitoring systems have it: 0 well, 1 warnings, 2 faults, 3 hosts that could not be checked.
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

    /// Faults before warnings, in the order of stages; each once.
    pub fn sort(&mut self) {
        self.findings.sort_by(|a, b| {
            (a.warning, a.stage, a.kind, &a.part).cmp(&(b.warning, b.stage, b.kind, &b.part))
        });
        self.findings.dedup_by(|a, b| (a.kind, &a.part) == (b.kind, &b.part));
    }
}
