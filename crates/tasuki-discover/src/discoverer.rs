//! The order of a discovery: all hosts listen before any says hello, and all have said hello before any is
//! asked what it heard. So a host that is late misses nothing; one that never answers is named.

use crate::{
    DiscoverError,
    finding::{Finding, Kind},
    infer::{Graph, infer},
    measure::Measured,
    model::HostSight,
    protocol::{AGENT_COMMAND, Answer, Order},
};
use std::{collections::BTreeMap, thread, time::Duration};
use tasuki_cluster::check_label;
use tasuki_fleet::{Agents, Fleet, Task};

/// How long NICs that were brought up may take to get a carrier.
const SETTLE: Duration = Duration::from_secs(8);
/// How long frames may be under way.
const TRAVEL: Duration = Duration::from_millis(150);
/// How long a host may take to answer when nothing has to be waited for.
pub(crate) const ANSWER: Duration = Duration::from_secs(20);

/// How a discovery is made.
#[derive(Clone, Debug)]
pub struct Options {
    /// Number of the run, which no other has.
    pub run: u64,
    /// How long NICs say hello and listen.
    pub time: Duration,
    /// How long hosts may take until they listen.
    pub wait: Duration,
    /// NICs that take part although they would be left alone: the host's name (`None`: every host) and the
    /// NIC's.
    pub include: Vec<(Option<String>, String)>,
    /// How many cables are measured at the same time; `None`: none is measured.
    pub measured_at_once: Option<usize>,
}

/// What was discovered.
#[derive(Clone, Debug)]
pub struct Discovered {
    /// What the hosts have told, in the order of the list; `None`: a host did not answer.
    pub hosts: Vec<Option<HostSight>>,
    /// What the hosts were reached as, in the same order.
    pub names: Vec<String>,
    /// What follows from it.
    pub graph: Graph,
    /// What was measured between NICs.
    pub measured: Vec<Measured>,
}

/// What is told of a discovery while it goes on: the part that is done, from 0 to 1, and what is done now.
pub type Progress<'a> = &'a mut dyn FnMut(f64, &str);

/// A discovery of the hosts of a fleet.
pub struct Discoverer<'a> {
    fleet: &'a Fleet,
    options: &'a Options,
    pub(crate) agents: Agents,
    pub(crate) hosts: Vec<Option<HostSight>>,
    /// Hosts that failed, by number, and why.
    pub(crate) failed: BTreeMap<usize, String>,
    pub(crate) progress: Progress<'a>,
    /// Number of trials of cables so far.
    pub(crate) trials: u32,
}

impl<'a> Discoverer<'a> {
    /// Starts an agent on every host: [`crate::agent::run`] on the standard input and output of the host's
    /// [`AGENT_COMMAND`].
    pub fn new(fleet: &'a Fleet, options: &'a Options, progress: Progress<'a>) -> Self {
        // In a lab, what is not lasting is killed with this process, the guard of NICs too.
        let agents = Agents::start(fleet, &Task::tasuki([AGENT_COMMAND]).lasting());
        let hosts = vec![None; fleet.len()];
        Self { fleet, options, agents, hosts, failed: BTreeMap::new(), progress, trials: 0 }
    }

    /// Runs the discovery.
    ///
    /// # Errors
    /// If no host answers, two of them are one machine, or a NIC to include does not exist.
    pub fn run(mut self) -> Result<Discovered, DiscoverError> {
        (self.progress)(0.05, "reaching hosts, bringing NICs up");
        let Options { run, wait, ref include, .. } = *self.options;
        let settle_ms = SETTLE.as_millis() as u64;
        let fleet = self.fleet;
        self.sights(wait + SETTLE, |host| {
            let name = fleet.name(host);
            let all = include.iter().filter(|(of, _)| of.as_ref().is_none_or(|of| *of == name));
            let include = all.map(|(_, nic)| nic.clone()).collect();
            Some(Order::Begin { run, host, include, settle_ms })
        });
        self.look_through()?;
        let mut graph = Graph::default();
        // What looks wrong may be frames that were lost: hellos are sent again, for longer.
        for (part, times) in [(0.3, 1), (0.4, 3)] {
            (self.progress)(part, "who hears whom");
            self.greet(self.options.time * times);
            self.report(|_| true);
            graph = infer(&self.hosts);
            let is_doubtful =
                |finding: &Finding| matches!(finding.kind, Kind::OneWay | Kind::Uneven | Kind::Silent);
            if !graph.findings.iter().any(is_doubtful) {
                break;
            }
        }
        let measured = self.options.measured_at_once.map(|at_once| self.measure(&mut graph, at_once));
        (self.progress)(0.9, "putting NICs back");
        self.end(&mut graph);
        self.tell_of_hosts(&mut graph);
        let names = (0..fleet.len()).map(|host| fleet.name(host)).collect();
        Ok(Discovered { hosts: self.hosts, names, graph, measured: measured.unwrap_or_default() })
    }

    /// Asks some hosts what they have heard.
    pub(crate) fn report(&mut self, of: impl Fn(usize) -> bool) {
        self.sights(ANSWER, |host| of(host).then_some(Order::Report));
        self.rename();
    }

    /// Gives hosts that have not failed orders, and takes what they have seen.
    fn sights(&mut self, limit: Duration, order: impl Fn(usize) -> Option<Order>) {
        let failed = &self.failed;
        let answers = self.agents.tell(limit, |host| order(host).filter(|_| !failed.contains_key(&host)));
        for (host, answer) in answers.into_iter().enumerate() {
            match answer {
                None => {}
                Some(Ok(Answer::Sight(sight))) => self.hosts[host] = Some(*sight),
                Some(Ok(Answer::Failed(why)) | Err(why)) => drop(self.failed.insert(host, why)),
                Some(Ok(Answer::Done | Answer::Sent(_))) => {
                    drop(
                        self.failed
                            .insert(host, "it answers oddly; is its tasuki of another version?".into()),
                    );
                }
            }
        }
        for host in self.failed.keys() {
            self.hosts[*host] = None;
        }
    }

    fn greet(&mut self, time: Duration) {
        let ms = time.as_millis() as u64;
        let failed = &self.failed;
        let order = |host: usize| (!failed.contains_key(&host)).then_some(Order::Greet { ms });
        let answers = self.agents.tell::<_, Answer>(time + ANSWER, order);
        for (host, answer) in answers.into_iter().enumerate() {
            if let Some(Ok(Answer::Failed(why)) | Err(why)) = answer {
                self.failed.insert(host, why);
            }
        }
        thread::sleep(TRAVEL);
    }

    /// Refuses what makes no sense, before anything is sent.
    fn look_through(&self) -> Result<(), DiscoverError> {
        if self.hosts.iter().all(Option::is_none) {
            let why = self.failed.iter().map(|(host, why)| format!("{}: {why}", self.fleet.name(*host)));
            return Err(DiscoverError::NoHost(why.collect::<Vec<_>>().join("; ")));
        }
        let mut seen = BTreeMap::new();
        for (host, sight) in self.hosts.iter().enumerate() {
            let Some(sight) = sight else { continue };
            if let Some(other) = seen.insert(&sight.boot_id, host) {
                return Err(DiscoverError::SameMachine(self.fleet.name(other), self.fleet.name(host)));
            }
        }
        for (of, nic) in &self.options.include {
            let is_there = |(host, sight): (usize, &Option<HostSight>)| {
                of.as_ref().is_none_or(|of| *of == self.fleet.name(host))
                    && sight.iter().any(|sight| sight.nics.iter().any(|sight| sight.name == *nic))
            };
            if !self.hosts.iter().enumerate().any(is_there) {
                let of = of.as_ref().map(|of| format!("{of}:")).unwrap_or_default();
                return Err(DiscoverError::NoSuchNic(format!("{of}{nic}")));
            }
        }
        Ok(())
    }

    /// Gives hosts the names that the file will have: their own, or, where that cannot be or another host has
    /// it, the one by which they were reached.
    fn rename(&mut self) {
        let own: Vec<String> =
            self.hosts.iter().flatten().map(|host| host.name.to_ascii_lowercase()).collect();
        for (number, host) in self.hosts.iter_mut().enumerate() {
            let Some(host) = host else { continue };
            let alike = own.iter().filter(|name| **name == host.name.to_ascii_lowercase()).count();
            if alike > 1 || check_label(&host.name).is_err() {
                host.name = self.fleet.name(number);
            }
        }
    }

    /// Has all agents put back what they changed.
    fn end(&mut self, graph: &mut Graph) {
        let failed = &self.failed;
        let order = |host: usize| (!failed.contains_key(&host)).then_some(Order::End);
        let answers = self.agents.tell::<_, Answer>(ANSWER, order);
        for (host, answer) in answers.into_iter().enumerate() {
            if let Some(Ok(Answer::Failed(why)) | Err(why)) = answer {
                let says = format!("{}: {why}", self.fleet.name(host));
                graph.findings.push(Finding::new(
                    Kind::Unusable,
                    [],
                    says,
                    "look at its NICs with `ip link`",
                ));
            }
        }
    }

    /// Adds findings about hosts that did not answer, and about interfaces that were left alone.
    fn tell_of_hosts(&self, graph: &mut Graph) {
        for (host, why) in &self.failed {
            let says = format!("{} did not take part: {why}", self.fleet.name(*host));
            let advice = "a file that has it keeps it; NICs at the other ends of its cables look silent; \
                          mend that and run again";
            graph.findings.insert(0, Finding::new(Kind::Unreached, [], says, advice));
        }
        for host in self.hosts.iter().flatten() {
            for (nic, why) in &host.left_alone {
                let says = format!("{}:{nic} was left alone: {why}", host.name);
                let advice = format!("--include {}:{nic} has it take part", host.name);
                graph.findings.push(Finding::new(Kind::LeftAlone, [], says, advice));
            }
        }
    }
}
