//! The plan of a measurement: networks, stacks and tests.

use super::{Step, Work};
use crate::{ethernet::Framing, program};
use std::{ops::RangeInclusive, str::FromStr, time::Duration};
use thiserror::Error;

/// The numbers of calls that can be timed one by one: enough for a 99.9th percentile, and no more than the
/// program takes.
pub const CALLS: RangeInclusive<u32> = 1_000..=1_000_000;

/// Why a plan cannot be run, or a test not be understood.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// A list is empty.
    #[error("the plan names no {0}")]
    Nothing(&'static str),
    /// Two networks or two stacks have the same name, so that records could not tell them apart.
    #[error("two {kind} are called {name}")]
    Twice {
        /// Networks or stacks.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// The program has no such test.
    #[error("no test is called `{0}`; there are {all}", all = program::TESTS.join(", "))]
    NoSuchTest(String),
    /// A size is not a number of bytes.
    #[error("`{0}` is not a size in bytes, such as 64, 4k or 1M")]
    Size(String),
    /// Time, samples, calls or ranks are out of range.
    #[error(
        "seconds per point must be above 0 and at most 3600, samples from 1 to 1000, calls from 1000 to \
         1000000, ranks at least 1"
    )]
    Amount,
}

/// The line behind a network's ceilings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRate {
    /// Line rate of all rails between two hosts together, bit/s.
    pub pair_bits_per_second: u64,
    /// MTU in bytes.
    pub mtu: u32,
}

impl LineRate {
    /// Payload bytes per second of raw frames on the line.
    pub(crate) fn goodput(&self) -> Option<f64> {
        Some(Framing::raw(self.mtu.into())?.goodput(self.pair_bits_per_second))
    }
}

/// A network to measure on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// Name in records.
    pub name: String,
    /// Hosts over which ranks are spread.
    pub hosts: u32,
    /// Rate and MTU if the rate is limited; `None` if only software limits it.
    pub line: Option<LineRate>,
    /// Offloads of the hosts' interfaces, as records state them.
    pub offloads: String,
}

/// A stack to measure: an MPI with its transport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Name in records.
    pub name: String,
    /// Datapath, as records state it.
    pub lane: String,
}

/// One test with its sizes. Text form: `pingpong:8,4k,1M`, `barrier`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestPlan {
    /// Name of the test.
    pub name: String,
    /// Message sizes in bytes; empty if the test has none.
    pub sizes: Vec<u64>,
}

impl TestPlan {
    /// The sizes as the program prints them: 0 for a test without sizes.
    pub(crate) fn sizes_or_none(&self) -> Vec<u64> {
        if self.sizes.is_empty() { vec![0] } else { self.sizes.clone() }
    }

    fn word(&self) -> String {
        let sizes: Vec<String> = self.sizes.iter().map(u64::to_string).collect();
        if sizes.is_empty() { self.name.clone() } else { format!("{}:{}", self.name, sizes.join(",")) }
    }
}

impl FromStr for TestPlan {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        let (name, sizes) = match text.split_once(':') {
            Some((name, sizes)) => (name, sizes.split(',').map(size).collect::<Result<_, _>>()?),
            None => (text, Vec::new()),
        };
        if !program::TESTS.contains(&name) {
            return Err(PlanError::NoSuchTest(name.into()));
        }
        Ok(Self { name: name.into(), sizes })
    }
}

/// A number of bytes with an optional `k` or `M` for 1024 or 1024^2.
fn size(text: &str) -> Result<u64, PlanError> {
    let (digits, factor) = match text.char_indices().last() {
        Some((at, 'k')) => (&text[..at], 1024),
        Some((at, 'M')) => (&text[..at], 1024 * 1024),
        _ => (text, 1),
    };
    let number: Option<u64> = digits.parse().ok();
    number.and_then(|number| number.checked_mul(factor)).ok_or_else(|| PlanError::Size(text.into()))
}

/// The tests that one run of the program makes, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestSet {
    /// Ranks of the run.
    pub ranks: u32,
    /// The tests.
    pub tests: Vec<TestPlan>,
}

impl TestSet {
    pub(crate) fn words(&self) -> String {
        let words: Vec<String> = self.tests.iter().map(TestPlan::word).collect();
        format!("{} ranks {}", self.ranks, words.join(" "))
    }
}

/// What to measure, on which networks, and how often.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Networks, one after the other within a repetition.
    pub networks: Vec<Network>,
    /// Stacks, in turn for each set of tests.
    pub stacks: Vec<Stack>,
    /// Sets of tests; each is one run of the program.
    pub sets: Vec<TestSet>,
    /// Number of repetitions. Six or more give ratios with 95 % confidence.
    pub repetitions: usize,
    /// Time for one test at one size in one repetition, seconds.
    pub seconds_per_point: f64,
    /// Number of batches into which this time is divided.
    pub samples_per_point: u32,
    /// Number of calls to time one by one instead of batches, for the 99.9th percentile; within [`CALLS`].
    pub calls: Option<u32>,
    /// A run that takes longer is stopped and counts as failed.
    pub run_limit: Duration,
}

impl Plan {
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        for (count, what) in
            [(self.networks.len(), "network"), (self.sets.len(), "test"), (self.repetitions, "repetition")]
        {
            if count == 0 {
                return Err(PlanError::Nothing(what));
            }
        }
        unique("networks", self.networks.iter().map(|network| network.name.as_str()))?;
        unique("stacks", self.stacks.iter().map(|stack| stack.name.as_str()))?;
        let name = |test: &TestPlan| !program::TESTS.contains(&test.name.as_str());
        if let Some(test) = self.sets.iter().flat_map(|set| &set.tests).find(|test| name(test)) {
            return Err(PlanError::NoSuchTest(test.name.clone()));
        }
        let time = self.seconds_per_point > 0.0 && self.seconds_per_point <= 3600.0;
        let samples = (1..=1000).contains(&self.samples_per_point);
        let ranks = self.sets.iter().all(|set| set.ranks > 0);
        let calls = self.calls.is_none_or(|calls| CALLS.contains(&calls));
        if time && samples && calls && ranks { Ok(()) } else { Err(PlanError::Amount) }
    }

    /// The runs in their order: for each repetition and network first the raw limits, then each set of tests
    /// over all stacks in turn.
    pub(crate) fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for repetition in 0..self.repetitions {
            for network in 0..self.networks.len() {
                steps.push(Step { repetition, network, work: Work::Raw });
                for set in 0..self.sets.len() {
                    for stack in 0..self.stacks.len() {
                        steps.push(Step { repetition, network, work: Work::Mpi { set, stack } });
                    }
                }
            }
        }
        steps
    }

    /// Arguments of the program for one set.
    pub(crate) fn arguments(&self, set: &TestSet) -> Vec<String> {
        let options = ["--seconds".into(), self.seconds_per_point.to_string(), "--samples".into()];
        let samples = [self.samples_per_point.to_string()];
        let calls = self.calls.iter().flat_map(|calls| ["--calls".into(), calls.to_string()]);
        let tests = set.tests.iter().map(TestPlan::word);
        options.into_iter().chain(samples).chain(calls).chain(tests).collect()
    }
}

impl Step {
    pub(crate) fn words(&self, plan: &Plan) -> String {
        let network = &plan.networks[self.network].name;
        let place = format!("repetition {} of {}, {network}", self.repetition + 1, plan.repetitions);
        match self.work {
            Work::Raw => format!("{place}: raw limits"),
            Work::Mpi { set, stack } => {
                format!("{place}, {}: {}", plan.stacks[stack].name, plan.sets[set].words())
            }
        }
    }
}

fn unique<'a>(kind: &'static str, names: impl Iterator<Item = &'a str>) -> Result<(), PlanError> {
    let mut seen = Vec::new();
    for name in names {
        if seen.contains(&name) {
            return Err(PlanError::Twice { kind, name: name.into() });
        }
        seen.push(name);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_have_a_text_form() {
        let parsed: Result<TestPlan, _> = "pingpong:8,4k,1M".parse();
        assert_eq!(parsed, Ok(TestPlan { name: "pingpong".into(), sizes: vec![8, 4096, 1_048_576] }));
        let barrier: Result<TestPlan, _> = "barrier".parse();
        assert_eq!(barrier.map(|test| test.word()), Ok("barrier".into()));
        for bad in [
            "ping",
            "pingpong:",
            "pingpong:8,,",
            "stream:x",
            "stream:-1",
            "stream:99999999999999999999M",
            "heat:k",
        ] {
            assert!(bad.parse::<TestPlan>().is_err(), "{bad}");
        }
    }

    pub(crate) fn plan() -> Plan {
        let network = |name: &str| Network { name: name.into(), hosts: 1, line: None, offloads: "on".into() };
        let stack = |name: &str| Stack { name: name.into(), lane: "tcp".into() };
        let test = TestPlan { name: "pingpong".into(), sizes: vec![8] };
        Plan {
            networks: vec![network("mesh"), network("star")],
            stacks: vec![stack("a"), stack("b")],
            sets: vec![TestSet { ranks: 2, tests: vec![test] }],
            repetitions: 2,
            seconds_per_point: 0.1,
            calls: None,
            samples_per_point: 3,
            run_limit: Duration::from_secs(10),
        }
    }

    #[test]
    fn stacks_take_turns() {
        let plan = plan();
        let order: Vec<String> = plan
            .steps()
            .iter()
            .map(|step| match step.work {
                Work::Raw => format!("{}{}", step.repetition, step.network),
                Work::Mpi { stack, .. } => plan.stacks[stack].name.clone(),
            })
            .collect();
        assert_eq!(order.join(" "), "00 a b 01 a b 10 a b 11 a b");
    }

    #[test]
    fn plans_without_sense_are_refused() {
        let broken = |change: fn(&mut Plan)| {
            let mut plan = plan();
            change(&mut plan);
            plan.check()
        };
        assert_eq!(plan().check(), Ok(()));
        assert_eq!(broken(|p| p.networks.clear()), Err(PlanError::Nothing("network")));
        assert_eq!(broken(|p| p.repetitions = 0), Err(PlanError::Nothing("repetition")));
        assert_eq!(broken(|p| p.seconds_per_point = f64::NAN), Err(PlanError::Amount));
        assert_eq!(broken(|p| p.calls = Some(999)), Err(PlanError::Amount));
        assert_eq!(broken(|p| p.samples_per_point = 0), Err(PlanError::Amount));
        assert_eq!(broken(|p| p.sets[0].ranks = 0), Err(PlanError::Amount));
        assert!(matches!(broken(|p| p.stacks[1].name = "a".into()), Err(PlanError::Twice { .. })));
        assert!(matches!(broken(|p| p.sets[0].tests[0].name = "x".into()), Err(PlanError::NoSuchTest(_))));
    }
}
