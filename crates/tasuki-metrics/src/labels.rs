//! Labels: what a value is of.

use std::collections::BTreeMap;
use tasuki_cluster::{Cluster, End};
use tasuki_load::{HostSample, ProcessSample};
use tasuki_switch::PortSample;

/// Names and values of labels.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Labels(Vec<(&'static str, String)>);

impl Labels {
    pub fn host(host: &str) -> Self {
        Self(vec![("host", host.into())])
    }

    /// A NIC, and what its cable leads to.
    pub fn nic(host: &str, nic: &str, cluster: Option<&Cluster>) -> Self {
        let labels = Self::host(host).and("nic", nic);
        let to = cluster.and_then(|cluster| {
            let own = cluster.nic(&format!("{host}:{nic}"))?;
            Some(cluster.end_name(cluster.other_end(End::Nic(own))?))
        });
        match to {
            Some(to) => labels.and("to", &to),
            None => labels,
        }
    }

    pub fn switch(switch: &str) -> Self {
        Self(vec![("switch", switch.into())])
    }

    /// A port of a switch, what the switch calls it, and what its cable leads to.
    pub fn port(switch: &str, port: &PortSample, cluster: Option<&Cluster>) -> Self {
        let labels =
            Self::switch(switch).and("port", &port.port.to_string()).and("interface", &port.interface);
        let to = cluster.and_then(|cluster| {
            let own = End::Port { switch: cluster.switch(switch)?, port: port.port };
            Some(cluster.end_name(cluster.other_end(own)?))
        });
        match to {
            Some(to) => labels.and("to", &to),
            None => labels,
        }
    }

    /// A process, by its id: its rank and its program are not unique.
    pub fn rank(host: &str, process: &ProcessSample) -> Self {
        let page = &process.page;
        let mut labels =
            Self::host(host).and("pid", &process.pid().to_string()).and("program", &page.program);
        if let Some(rank) = page.rank {
            labels = labels.and("rank", &rank.to_string());
        }
        if let Some(job) = &process.job {
            labels = labels.and("job_id", job);
        }
        labels
    }

    pub fn and(mut self, name: &'static str, value: &str) -> Self {
        self.0.push((name, value.into()));
        self
    }

    pub fn pairs(&self) -> &[(&'static str, String)] {
        &self.0
    }
}

/// The labels of the processes of a host. A process with several endpoints has a sample for each: those after
/// the first have the label `endpoint`, as no two values may have equal labels (OpenMetrics, section
/// "Metric"), and not once more what the process uses as a whole.
pub(crate) fn ranks(host: &str, processes: &mut [ProcessSample]) -> Vec<Labels> {
    let mut labels: Vec<Labels> = processes.iter().map(|process| Labels::rank(host, process)).collect();
    let mut equal: BTreeMap<Labels, Vec<usize>> = BTreeMap::new();
    for (place, labels) in labels.iter().enumerate() {
        equal.entry(labels.clone()).or_default().push(place);
    }
    for places in equal.values_mut() {
        places.sort_by_key(|place| {
            let page = &processes[*place].page;
            // One whose process is not known may say that it is any.
            let order = (page.process.is_none(), page.number.unwrap_or(u32::MAX), page.started);
            (order, page.identity.address.clone())
        });
        let mut last = 0;
        for place in &places[1..] {
            last = processes[*place].page.number.unwrap_or(0).max(last + 1);
            labels[*place] = labels[*place].clone().and("endpoint", &last.to_string());
            (processes[*place].cpu_ns, processes[*place].memory) = (None, None);
        }
    }
    labels
}

/// Keeps the NICs that are of the cluster file; without one, those that are devices.
pub(crate) fn keep_ports(sample: &mut HostSample, host: &str, cluster: Option<&Cluster>) {
    sample.nics.retain(|nic| match cluster {
        Some(cluster) => cluster.nic(&format!("{host}:{}", nic.name)).is_some(),
        None => nic.device,
    });
}
