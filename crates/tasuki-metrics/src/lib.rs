//! What hosts do, as OpenMetrics text, which Prometheus and others collect.
//!
//! Names follow the conventions of both: base units (bytes, seconds, degrees Celsius), `_total` behind
//! counters, the thing that is measured in front. A line of `families` is a name, its kind, its meaning and
//! where its values come from. Nothing here is secret: no address, no key and no argument of a program is
//! written, but hosts, NICs, programs' names and job names are.
#![forbid(unsafe_code)]

mod families;
mod labels;
mod output;
mod ports;

pub use output::{check_output, write_output};

use labels::Labels;
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric, text},
    metrics::{MetricType, counter::ConstCounter, gauge::ConstGauge},
    registry::{Registry, Unit},
};
use std::fmt;
use tasuki_cluster::Cluster;
use tasuki_load::HostSample;
use tasuki_switch::SwitchAnswer;

/// A dashboard for Grafana (its manual, "Dashboard JSON model").
pub const DASHBOARD: &str = include_str!("../share/tasuki.dashboard.json");

/// Alert rules for Prometheus (its manual, "Alerting rules"), as YAML.
pub const ALERT_RULES: &str = include_str!("../share/tasuki.rules.yml");

/// A host's answer: its sample, or why there is none.
pub type Answer = (String, Result<HostSample, String>);

/// The metrics of these hosts and switches, of which `cluster` says what their NICs and ports are plugged
/// into.
///
/// # Errors
/// Writing into a text does not fail.
pub fn openmetrics(
    answers: Vec<Answer>,
    switches: Vec<SwitchAnswer>,
    cluster: Option<&Cluster>,
) -> Result<String, fmt::Error> {
    let hosts = answers.into_iter().map(|(host, answer)| Host::new(host, answer, cluster)).collect();
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Hosts(hosts)));
    if !switches.is_empty() {
        registry.register_collector(Box::new(ports::Ports::new(switches, cluster)));
    }
    let mut out = String::new();
    text::encode(&mut out, &registry)?;
    Ok(out)
}

/// A host, with the labels of all that it has.
#[derive(Debug)]
struct Host {
    labels: Labels,
    sample: Option<HostSample>,
    nics: Vec<Labels>,
    ranks: Vec<Labels>,
}

impl Host {
    fn new(name: String, answer: Result<HostSample, String>, cluster: Option<&Cluster>) -> Self {
        let mut sample = answer.ok();
        let mut ranks = Vec::new();
        if let Some(sample) = &mut sample {
            labels::keep_ports(sample, &name, cluster);
            ranks = labels::ranks(&name, &mut sample.processes);
        }
        let nics = sample.iter().flat_map(|sample| &sample.nics);
        Self {
            nics: nics.map(|nic| Labels::nic(&name, &nic.name, cluster)).collect(),
            ranks,
            labels: Labels::host(&name),
            sample,
        }
    }
}

/// A value of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    Integer(u64),
    Real(f64),
}

/// Whether a metric only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
}

/// A metric of a `T`, which has no value where `of` gives none.
struct Family<T> {
    name: &'static str,
    unit: Option<Unit>,
    kind: Kind,
    help: &'static str,
    of: fn(&T) -> Option<Value>,
}

#[derive(Debug)]
struct Hosts(Vec<Host>);

impl Collector for Hosts {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        self.answers(&mut encoder)?;
        let with_sample = || self.0.iter().filter_map(|host| Some((host, host.sample.as_ref()?)));
        for family in families::host() {
            family.encode(&mut encoder, with_sample().map(|(host, sample)| (sample, &host.labels)))?;
        }
        for family in families::nic() {
            let nics = with_sample().flat_map(|(host, sample)| sample.nics.iter().zip(&host.nics));
            family.encode(&mut encoder, nics)?;
        }
        let ranks = || with_sample().flat_map(|(host, sample)| sample.processes.iter().zip(&host.ranks));
        for family in families::rank() {
            family.encode(&mut encoder, ranks())?;
        }
        let rails: Vec<_> = ranks().flat_map(|(process, labels)| families::rails(process, labels)).collect();
        for family in families::rail() {
            family.encode(&mut encoder, rails.iter().map(|(rail, labels)| (rail, labels)))?;
        }
        Ok(())
    }
}

impl Hosts {
    /// Which hosts answer: the only metric of those that do not.
    fn answers(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let family = Family::<Host>::gauge("tasuki_host_answers", "Whether the host answers", |host| {
            Some(Value::Integer(host.sample.is_some().into()))
        });
        family.encode(encoder, self.0.iter().map(|host| (host, &host.labels)))
    }
}

impl<T> Family<T> {
    fn counter(name: &'static str, help: &'static str, of: fn(&T) -> Option<Value>) -> Self {
        Self { name, unit: None, kind: Kind::Counter, help, of }
    }

    fn gauge(name: &'static str, help: &'static str, of: fn(&T) -> Option<Value>) -> Self {
        Self { name, unit: None, kind: Kind::Gauge, help, of }
    }

    /// The unit's name is put behind the metric's.
    fn in_unit(self, unit: Unit) -> Self {
        Self { unit: Some(unit), ..self }
    }

    fn encode<'a>(
        &self,
        encoder: &mut DescriptorEncoder,
        items: impl Iterator<Item = (&'a T, &'a Labels)>,
    ) -> fmt::Result
    where
        T: 'a,
    {
        let kind = match self.kind {
            Kind::Counter => MetricType::Counter,
            Kind::Gauge => MetricType::Gauge,
        };
        let mut family = encoder.encode_descriptor(self.name, self.help, self.unit.as_ref(), kind)?;
        for (item, labels) in items {
            let Some(value) = (self.of)(item) else { continue };
            let labels = labels.pairs();
            let metric = family.encode_family(&labels)?;
            match (self.kind, value) {
                (Kind::Counter, Value::Integer(value)) => ConstCounter::new(value).encode(metric)?,
                (Kind::Counter, Value::Real(value)) => ConstCounter::new(value).encode(metric)?,
                (Kind::Gauge, Value::Integer(value)) => ConstGauge::new(value).encode(metric)?,
                (Kind::Gauge, Value::Real(value)) => ConstGauge::new(value).encode(metric)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
