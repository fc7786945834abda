//! What all hosts of a fleet do now.

use crate::{HostLoad, HostSample, JobLoad, NicLoad, NicSample, ProcessSample, RankLoad, WatchSample};
use serde::Serialize;
use std::collections::BTreeMap;
use tasuki_cluster::{Cluster, End, HostId, Nic, NicId};
use tasuki_fleet::Fleet;

/// A host that does not answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lost {
    /// The host's name.
    pub host: String,
    /// Why.
    pub why: String,
}

/// A host whose `tasuki watch` has something to say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Watched {
    /// The host's name.
    pub host: String,
    /// What it says.
    #[serde(flatten)]
    pub says: WatchSample,
}

/// What all hosts do now.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Load {
    /// What the hosts are called together, as `lab four`.
    pub title: String,
    /// Hosts that answer.
    pub hosts: Vec<HostLoad>,
    /// Their NICs: those of the cluster file; without one, all that are devices.
    pub nics: Vec<NicLoad>,
    /// Processes that use Tasuki.
    pub ranks: Vec<RankLoad>,
    /// Their jobs.
    pub jobs: Vec<JobLoad>,
    /// Hosts that have not answered yet.
    pub awaited: Vec<String>,
    /// Hosts that do not answer.
    pub lost: Vec<Lost>,
    /// Hosts whose `tasuki watch` knows of dead rails, or leads around them.
    pub watched: Vec<Watched>,
    /// What hosts could not read, and why.
    pub problems: Vec<String>,
}

impl Load {
    /// Adds what the host of this number does, of two samples of it.
    pub(crate) fn add(&mut self, fleet: &Fleet, number: usize, before: &HostSample, now: &HostSample) {
        let host = &fleet.name(number);
        let nics: Vec<NicLoad> = match fleet.cluster() {
            Some(cluster) => ports(fleet, cluster, HostId(number), before, now),
            None => {
                let devices = now.nics.iter().filter(|nic| nic.device);
                devices.map(|nic| NicLoad::between(host, before, now, nic)).collect()
            }
        };
        let seconds = now.seconds_since(before);
        let rank = |process: &ProcessSample| {
            let old = before.processes.iter().find(|old| old.is_same(process));
            RankLoad::between(host, old, process, seconds)
        };
        let mut ranks = by_process(now.processes.iter().map(|process| (process.page.process, rank(process))));
        self.hosts.push(HostLoad::between(host, before, now, &nics, &ranks));
        self.nics.extend(nics);
        self.ranks.append(&mut ranks);
        if let Some(says) = now.watch.as_ref().filter(|watch| **watch != WatchSample::default()) {
            self.watched.push(Watched { host: host.clone(), says: says.clone() });
        }
        self.problems.extend(now.problems.iter().map(|problem| format!("{host}: {problem}")));
    }

    pub(crate) fn add_lost(&mut self, host: String, why: &str) {
        self.lost.push(Lost { host, why: why.into() });
    }

    /// Adds up jobs once all hosts are added.
    pub(crate) fn finish(&mut self) {
        self.jobs = JobLoad::of(&self.ranks);
    }
}

/// What processes do, of what each of their endpoints does: one may have several, as with NCCL. Endpoints of
/// processes whose number is not known stand alone.
fn by_process(endpoints: impl Iterator<Item = (Option<u32>, RankLoad)>) -> Vec<RankLoad> {
    let (mut all, mut places) = (Vec::<RankLoad>::new(), BTreeMap::new());
    for (process, load) in endpoints {
        let place = process.map(|process| *places.entry(process).or_insert(all.len()));
        match place.and_then(|place| all.get_mut(place)) {
            Some(known) => known.absorb(&load),
            None => all.push(load),
        }
    }
    all
}

/// The NICs that the cluster file names. One that the host does not have is down.
fn ports(
    fleet: &Fleet,
    cluster: &Cluster,
    host: HostId,
    before: &HostSample,
    now: &HostSample,
) -> Vec<NicLoad> {
    let one = |(index, nic): (usize, &Nic)| {
        let missing = NicSample { name: nic.name.clone(), ..NicSample::default() };
        let sample = now.nics.iter().find(|sample| sample.name == nic.name).unwrap_or(&missing);
        let id = NicId { host, index };
        NicLoad {
            bits_per_second: fleet.line_rate(id).map(|rate| rate.bits_per_second),
            to: cluster.other_end(End::Nic(id)).map(|end| cluster.end_name(end)),
            ..NicLoad::between(&cluster.host_of(host).name, before, now, sample)
        }
    };
    cluster.host_of(host).nics.iter().enumerate().map(one).collect()
}

impl HostSample {
    /// Time since an earlier sample by the same agent, seconds.
    pub(crate) fn seconds_since(&self, before: &Self) -> f64 {
        self.at_ns.saturating_sub(before.at_ns) as f64 / 1e9
    }
}

impl ProcessSample {
    /// The number of the process on its host; of one that the host does not know, the number that its page
    /// says.
    pub fn pid(&self) -> u32 {
        self.page.process.unwrap_or(self.page.pid)
    }

    /// Whether this is the process of another sample of its host, and that endpoint of it.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let of = |sample: &Self| (sample.page.process, sample.page.pid, sample.page.started);
        of(self) == of(other) && self.page.identity.address == other.page.identity.address
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_fleet::SshHosts;
    use tasuki_ring::stats_page::{EndpointRecord, Identity, Snapshot};

    const FILE: &str = r#"
        [cluster]
        name = "two"
        [[host]]
        name = "n1"
        nic = [{ name = "eth1", rate = "2.5G" }, { name = "eth2" }, { name = "eth3" }]
        [[host]]
        name = "n2"
        nic = [{ name = "eth1", rate = "2.5G" }]
        [[switch]]
        name = "s1"
        ports = 4
        [[cable]]
        ends = ["n1:eth1", "n2:eth1"]
        [[cable]]
        ends = ["n1:eth2", "s1:3"]
    "#;

    #[test]
    fn nics_are_those_of_the_file_with_its_rates_and_ends_and_what_is_missing_is_down() {
        let cluster = Cluster::parse(FILE, None).expect("a cluster");
        let fleet = Fleet::Ssh(Box::new(SshHosts::new(cluster)));
        let nic = |name: &str| NicSample { name: name.into(), up: true, ..NicSample::default() };
        let sample =
            HostSample { nics: vec![nic("eth2"), nic("wlan0"), nic("eth1")], ..HostSample::default() };
        let mut load = Load::default();
        load.add(&fleet, 0, &sample, &sample);
        let shown: Vec<_> =
            load.nics.iter().map(|nic| (nic.nic.as_str(), nic.to.as_deref(), nic.up)).collect();
        assert_eq!(
            shown,
            [("eth1", Some("n2:eth1"), true), ("eth2", Some("s1:3"), true), ("eth3", None, false)]
        );
        assert_eq!(load.nics[0].bits_per_second, Some(2_500_000_000));
        assert_eq!((load.hosts[0].nics, load.hosts[0].nics_up), (3, 2));
    }

    #[test]
    fn a_process_with_two_endpoints_is_one_process() {
        let page = |process, bytes_sent| ProcessSample {
            page: Snapshot {
                pid: 7,
                process,
                rank: Some(3),
                identity: Identity {
                    address: format!("{process:?} {}", bytes_sent % 7),
                    ..Identity::default()
                },
                endpoint: EndpointRecord { bytes_sent, receives_posted: 1, ..EndpointRecord::default() },
                ..Snapshot::default()
            },
            cpu_ns: process.map(|_| bytes_sent / 1000 * 1_000_000_000),
            memory: process.map(|_| 500),
            ..ProcessSample::default()
        };
        let sample = |at_ns, processes| HostSample { at_ns, processes, ..HostSample::default() };
        let before = sample(0, vec![page(Some(70), 7000), page(Some(70), 7001), page(None, 7002)]);
        // A second later each has sent 1400 bytes more, and the processor has worked for one second in all.
        let now = sample(1_000_000_000, vec![page(Some(70), 8400), page(Some(70), 8401), page(None, 8402)]);
        let mut load = Load::default();
        load.add(&Fleet::Local, 0, &before, &now);
        load.finish();
        let ranks: Vec<_> =
            load.ranks.iter().map(|rank| (rank.pid, rank.sent, rank.posted, rank.memory_bytes)).collect();
        assert_eq!(ranks, [(70, 2800.0, 2, Some(500)), (7, 1400.0, 1, None)]);
        assert_eq!((load.ranks[0].busy, load.hosts[0].ranks), (Some(1.0), 2));
        let job = &load.jobs[0];
        assert_eq!((job.ranks, job.busy, job.memory_bytes), (2, 1.0, 500));
    }

    #[test]
    fn without_a_file_nics_are_devices() {
        let nic = |device| NicSample { name: format!("{device}"), device, ..NicSample::default() };
        let sample = HostSample { nics: vec![nic(true), nic(false)], ..HostSample::default() };
        let mut load = Load::default();
        load.add(&Fleet::Local, 0, &sample, &sample);
        assert_eq!(load.nics.iter().map(|nic| nic.nic.as_str()).collect::<Vec<_>>(), ["true"]);
    }
}
