//! The stages of a check, one after the other. What is doubtful is measured again, alone, before a part is
//! blamed, so that load on the machines makes no findings.

mod cables;
mod pairs;
mod random;
mod switches;

use crate::{
    Agents, CheckError,
    finding::{Finding, Kind, Part, Report},
    judge::{Segments, witness::merge},
    protocol::{Answer, Facts, Order},
};
use std::time::{Duration, Instant};
use tasuki_cluster::{AddressPlan, Cluster};
use tasuki_fleet::Fleet;
use tasuki_random::Random;
use tasuki_switch::Switches;

/// How long a host may take for an order that takes milliseconds.
const LIMIT: Duration = Duration::from_secs(30);

/// What is to be checked, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Stages; the checker runs 1 to 3, and a [`crate::BurnIn`] is stage 4.
    pub stages: Vec<u8>,
    /// Seed of everything random.
    pub seed: u64,
    /// Time of stage 3.
    pub time: Duration,
    /// Most bits per second on all cables together, for hosts that share a machine; `None`: no bound.
    pub total_bits_per_second: Option<u64>,
    /// Memory that each host writes and reads in stage 3, megabytes.
    pub memory_mb: usize,
    /// Errors per hour that a NIC's counters may show without a finding.
    pub errors_per_hour: f64,
}

/// What hosts of a lab, which share one machine, may send at once, bit/s. A fast cable is measured alone.
const LAB_BITS_PER_SECOND: u64 = 400_000_000;
/// Most memory that each host of a lab uses in stage 3, megabytes.
const LAB_MEMORY_MB: usize = 16;

impl Options {
    /// Adapts the options to the hosts of a lab, which share one machine, if the fleet is one.
    pub fn for_fleet(self, fleet: &Fleet) -> Self {
        match fleet {
            Fleet::Lab(_) => Self {
                total_bits_per_second: Some(LAB_BITS_PER_SECOND),
                memory_mb: self.memory_mb.min(LAB_MEMORY_MB),
                ..self
            },
            _ => self,
        }
    }
}

/// What the hosts of a fleet should be: its cluster, with the rate of all cables that its lab was given.
///
/// # Errors
/// If the fleet is this machine alone.
pub fn expected_cluster(fleet: &Fleet) -> Result<Cluster, CheckError> {
    let mut cluster = fleet.cluster().ok_or(CheckError::NoCluster)?.clone();
    if let Fleet::Lab(lab) = fleet
        && let Some(rate) = lab.options.rate
    {
        cluster.hosts.iter_mut().flat_map(|host| &mut host.nics).for_each(|nic| nic.rate = rate);
    }
    Ok(cluster)
}

/// Is told how far the check has got, 0 to 1, and what is being done.
pub type Progress<'a> = &'a mut dyn FnMut(f64, &str);

/// A check in progress.
pub struct Checker<'a> {
    cluster: &'a Cluster,
    plan: AddressPlan,
    segments: Segments,
    agents: Agents,
    options: Options,
    random: Random,
    report: Report,
    /// The facts of all hosts at the beginning; `None`: the host could not be asked.
    facts: Vec<Option<Facts>>,
    switches: switches::Ports,
    runs: u64,
    progress: Progress<'a>,
}

impl<'a> Checker<'a> {
    /// Prepares the check of a cluster, of which these switches are witnesses. Nothing is asked yet.
    pub fn new(
        cluster: &'a Cluster,
        agents: Agents,
        switches: Switches,
        options: Options,
        progress: Progress<'a>,
    ) -> Result<Self, CheckError> {
        let plan = AddressPlan::new(cluster)?;
        let report = Report {
            cluster: cluster.name.clone(),
            seed: options.seed,
            stages: options.stages.clone(),
            ..Report::default()
        };
        let since_epoch =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        // The numbers of runs do not follow from the seed: a run of another check must not be taken for one
        // of this.
        let runs = since_epoch.as_nanos() as u64;
        let random = Random::new(options.seed);
        let segments = Segments::of(cluster);
        Ok(Self {
            cluster,
            plan,
            segments,
            agents,
            options,
            random,
            report,
            facts: Vec::new(),
            switches: switches::Ports::of(switches),
            runs,
            progress,
        })
    }

    /// Runs the stages.
    pub fn run(mut self) -> Report {
        let begun = Instant::now();
        if self.begin() {
            let stages = self.options.stages.clone();
            if stages.contains(&1) {
                self.cables();
            }
            if stages.contains(&2) {
                self.pairs();
            }
            if stages.contains(&3) {
                self.random_messages();
            }
            self.look_again(begun.elapsed());
        }
        for (host, why) in self.agents.lost() {
            if !self
                .report
                .findings
                .iter()
                .any(|finding| finding.part == Part::Host(host.clone()) && finding.kind == Kind::Unchecked)
            {
                self.unchecked(&host, &why);
            }
        }
        self.report.seconds = begun.elapsed().as_secs_f64();
        self.report.sort();
        self.report
    }

    fn unchecked(&mut self, host: &str, why: &str) {
        let says = format!("{host} could not be checked: {why}");
        let advice = "is it on? `management` in the cluster file says how ssh reaches it; a check needs root \
                      there (--sudo)";
        self.report.findings.push(Finding::new(1, Kind::Unchecked, Part::Host(host.into()), says, advice));
    }

    /// Asks all hosts for their facts. Returns whether any host could be asked.
    fn begin(&mut self) -> bool {
        (self.progress)(0.0, "asking hosts");
        let text = self.cluster.to_toml();
        let hosts = &self.cluster.hosts;
        let listen = self.options.stages.contains(&1);
        let asked = self.switches.ask();
        let order = |host: usize| {
            Some(Order::Begin { cluster: text.clone(), host: hosts[host].name.clone(), listen })
        };
        let answers = self.agents.tell(LIMIT, order);
        for (host, answer) in answers.into_iter().enumerate() {
            let facts = match answer {
                Some(Ok(Answer::Facts(facts))) => Some(*facts),
                Some(Ok(_)) | None => None,
                Some(Err(why)) => {
                    let name = hosts[host].name.clone();
                    self.unchecked(&name, &why);
                    None
                }
            };
            for (nic, why) in facts.iter().flat_map(|facts| facts.problems.clone()) {
                // An interface that does not exist has a finding of its own.
                if facts
                    .as_ref()
                    .is_some_and(|facts| facts.nics.iter().any(|fact| fact.index == nic && fact.exists))
                {
                    let name = hosts[host].name.clone();
                    self.unchecked(&name, &why);
                }
            }
            self.facts.push(facts);
        }
        self.report.findings.extend(self.switches.begin(asked));
        self.facts.iter().any(Option::is_some)
    }

    fn next_run(&mut self) -> u64 {
        self.runs += 1;
        self.runs
    }

    /// Asks all hosts for their facts as they are now.
    fn look(&mut self) -> Vec<Option<Facts>> {
        let answers = self.agents.tell(LIMIT, |_| Some(Order::Look)).into_iter();
        let facts = answers.map(|answer| match answer {
            Some(Ok(Answer::Facts(facts))) => Some(*facts),
            _ => None,
        });
        facts.collect()
    }

    /// Judges what the whole check has done to counters, and which programs used processors meanwhile.
    fn look_again(&mut self, lasted: Duration) {
        let facts = self.look();
        let seconds = lasted.as_secs_f64();
        let limit = self.options.errors_per_hour;
        let mut errors = crate::judge::counters::errors(self.cluster, &self.facts, &facts, seconds, limit);
        if let Some(witness) = self.switches.witness(self.cluster) {
            merge(&mut errors, witness.errors(self.cluster, seconds, limit));
            self.report.tables.push(switches::table(&witness, self.cluster));
        }
        let counters = |facts: &Option<Facts>| {
            facts.as_ref().map_or((0, 0), |facts| (facts.tcp_again, facts.tcp_damaged))
        };
        let hosts = self.cluster.hosts.iter().zip(self.facts.iter().zip(&facts));
        let rows = hosts.map(|(host, (before, after))| {
            let (before, after) = (counters(before), counters(after));
            vec![
                host.name.clone(),
                after.0.saturating_sub(before.0).to_string(),
                after.1.saturating_sub(before.1).to_string(),
            ]
        });
        let names = ["host", "TCP segments sent again", "came damaged"].map(str::to_owned).to_vec();
        self.report.tables.push(("TCP during the check".into(), names, rows.collect()));
        // A part that is blamed already is not blamed again for its counters.
        let known = self.report.findings.clone();
        let is_new = |error: &Finding| !known.iter().any(|finding| finding.part == error.part);
        self.report.findings.extend(errors.into_iter().filter(is_new));
    }
}
