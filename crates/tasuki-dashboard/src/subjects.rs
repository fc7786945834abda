//! What has a history: the cluster, its hosts, its NICs; and the column of each of their figures.

use crate::history::{History, Span};
use serde::Serialize;
use std::collections::HashMap;
use tasuki_cluster::Cluster;
use tasuki_load::{HostLoad, Load, NicLoad};

/// What a figure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    /// A share of a whole, 0 to 1.
    Share,
    /// Bytes per second.
    Bytes,
    /// Events per second.
    Events,
}

impl Unit {
    /// A figure with the digits that a chart can show; `None`: it is not known.
    fn rounded(self, value: f32) -> Option<f64> {
        let scale = match self {
            Self::Share => 1000.0,
            Self::Bytes => 1.0,
            Self::Events => 10.0,
        };
        (!value.is_nan()).then(|| (f64::from(value) * scale).round() / scale)
    }
}

const CLUSTER: &[(&str, Unit)] =
    &[("processors", Unit::Share), ("sent", Unit::Bytes), ("damaged or dropped", Unit::Events)];
const HOST: &[(&str, Unit)] =
    &[("processors", Unit::Share), ("memory", Unit::Share), ("sent", Unit::Bytes), ("received", Unit::Bytes)];
const NIC: &[(&str, Unit)] =
    &[("sent", Unit::Bytes), ("received", Unit::Bytes), ("damaged or dropped", Unit::Events)];

/// All that has a history, in the order of the columns.
#[derive(Debug)]
pub(crate) struct Subjects {
    /// The first column of a host, by its name, and of a NIC, as `n1:eth1`.
    first: HashMap<String, usize>,
    columns: usize,
}

/// A subject's history as the page takes it.
#[derive(Debug, Serialize)]
pub(crate) struct Told {
    /// Seconds between two figures.
    step: u64,
    /// How long ago the last figure was taken, seconds.
    age: u64,
    series: Vec<ToldSeries>,
}

#[derive(Debug, Serialize)]
struct ToldSeries {
    name: &'static str,
    unit: Unit,
    mean: Vec<Option<f64>>,
    /// The largest of each step; absent where each step is one figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    most: Option<Vec<Option<f64>>>,
}

impl Subjects {
    /// Hosts and NICs of a cluster.
    pub fn of_cluster(cluster: &Cluster) -> Self {
        let hosts = cluster.hosts.iter().map(|host| {
            (host.name.as_str(), host.nics.iter().map(|nic| nic.name.as_str()).collect::<Vec<_>>())
        });
        Self::new(hosts)
    }

    /// Hosts and NICs that are there now.
    pub fn of_load(load: &Load) -> Self {
        let hosts = load.hosts.iter().map(|host| {
            let own = load.nics.iter().filter(|nic| nic.host == host.host);
            (host.host.as_str(), own.map(|nic| nic.nic.as_str()).collect::<Vec<_>>())
        });
        Self::new(hosts)
    }

    fn new<'a>(hosts: impl Iterator<Item = (&'a str, Vec<&'a str>)>) -> Self {
        let (mut first, mut columns) = (HashMap::new(), CLUSTER.len());
        for (host, nics) in hosts {
            first.insert(host.to_owned(), columns);
            columns += HOST.len();
            for nic in nics {
                first.insert(format!("{host}:{nic}"), columns);
                columns += NIC.len();
            }
        }
        Self { first, columns }
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The figures of now; those of hosts that do not answer are not numbers.
    pub fn row(&self, load: &Load) -> Vec<f32> {
        let mut row = vec![f32::NAN; self.columns];
        row[..CLUSTER.len()].copy_from_slice(&of_all(load));
        for host in &load.hosts {
            self.put(&mut row, &host.host, of_host(host));
        }
        for nic in &load.nics {
            self.put(&mut row, &format!("{}:{}", nic.host, nic.nic), of_nic(nic));
        }
        row
    }

    fn put<const N: usize>(&self, row: &mut [f32], name: &str, values: [f32; N]) {
        if let Some(first) = self.first.get(name) {
            row[*first..first + N].copy_from_slice(&values);
        }
    }

    /// The history of the cluster (an empty name), a host or a NIC (`n1:eth1`), `second` being now; `None`:
    /// there is none of that name.
    pub fn told(&self, history: &History, name: &str, span: Span, second: u64) -> Option<Told> {
        let (first, kinds) = match (name, self.first.get(name)) {
            ("", _) => (0, CLUSTER),
            (_, first) => (*first?, if name.contains(':') { NIC } else { HOST }),
        };
        let (mut step, mut end) = (1, 0);
        let series = kinds.iter().enumerate().map(|(column, (name, unit))| {
            let series = history.series(span, first + column)?;
            (step, end) = (series.step, series.end);
            let told = |values: &[f32]| values.iter().map(|value| unit.rounded(*value)).collect();
            let most = (span == Span::Day).then(|| told(&series.most));
            Some(ToldSeries { name, unit: *unit, mean: told(&series.mean), most })
        });
        let series = series.collect::<Option<Vec<_>>>()?;
        Some(Told { step, age: (second + 1).saturating_sub(end), series })
    }
}

fn of_all(load: &Load) -> [f32; CLUSTER.len()] {
    if load.hosts.is_empty() {
        return [f32::NAN; CLUSTER.len()];
    }
    let busy: f64 = load.hosts.iter().map(|host| host.busy).sum();
    let sent: f64 = load.hosts.iter().map(|host| host.sent).sum();
    let faults: f64 = load.nics.iter().map(|nic| nic.errors + nic.dropped).sum();
    [(busy / load.hosts.len() as f64) as f32, sent as f32, faults as f32]
}

fn of_host(host: &HostLoad) -> [f32; HOST.len()] {
    let memory = if host.memory_bytes == 0 {
        f64::NAN
    } else {
        host.memory_used_bytes as f64 / host.memory_bytes as f64
    };
    [host.busy, memory, host.sent, host.received].map(|value| value as f32)
}

fn of_nic(nic: &NicLoad) -> [f32; NIC.len()] {
    [nic.sent, nic.received, nic.errors + nic.dropped].map(|value| value as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load() -> Load {
        let host = HostLoad { host: "n1".into(), busy: 0.25, sent: 30.0, ..HostLoad::default() };
        let nic = |name: &str, sent| NicLoad {
            host: "n1".into(),
            nic: name.into(),
            sent,
            dropped: 2.0,
            ..NicLoad::default()
        };
        Load { hosts: vec![host], nics: vec![nic("eth1", 10.0), nic("eth2", 20.0)], ..Load::default() }
    }

    #[test]
    fn figures_are_found_by_the_name_of_their_host_or_nic() {
        let subjects = Subjects::of_load(&load());
        let mut history = History::new(subjects.columns());
        history.record(0, &subjects.row(&load()));
        history.record(1, &subjects.row(&Load::default()));
        let mean = |name: &str, series: usize| {
            let told = subjects.told(&history, name, Span::Hour, 5).expect("a history");
            assert_eq!(told.age, 4);
            told.series[series].mean.clone()
        };
        assert_eq!(mean("", 0), [Some(0.25), None], "the host does not answer any more");
        assert_eq!((mean("n1", 2), mean("n1", 1)), (vec![Some(30.0), None], vec![None, None]));
        assert_eq!((mean("n1:eth2", 0), mean("n1:eth2", 2)), (vec![Some(20.0), None], vec![Some(2.0), None]));
        assert!(subjects.told(&history, "n2", Span::Hour, 5).is_none());
    }

    /// The promise of the guide: a day of 64 hosts with four NICs each takes less than 50 MB.
    #[test]
    fn the_history_of_64_hosts_takes_less_than_50_mb() {
        let nics = vec!["eth1", "eth2", "eth3", "eth4"];
        let names: Vec<String> = (1..=64).map(|number| format!("n{number}")).collect();
        let subjects = Subjects::new(names.iter().map(|name| (name.as_str(), nics.clone())));
        assert!(History::bytes(subjects.columns()) < 50_000_000, "{}", History::bytes(subjects.columns()));
    }
}
