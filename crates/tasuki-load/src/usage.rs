//! What NICs carried between two times.

use crate::{
    AGENT_COMMAND,
    sample::{HostSample, NicSample},
};
use serde::Serialize;
use tasuki_cluster::{End, HostId, NicId};
use tasuki_fleet::{Fleet, Task};

/// What one NIC carried.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NicUse {
    /// The host's name.
    pub host: String,
    /// The interface's name.
    pub nic: String,
    /// What it is plugged into; `None`: unknown, or nothing.
    pub to: Option<String>,
    /// Line rate, bit/s; `None`: unknown.
    pub bits_per_second: Option<u64>,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Frames that were damaged, at either end.
    pub errors: u64,
    /// Frames for which there was no room, at either end.
    pub dropped: u64,
}

/// The counters of all hosts at one time.
pub struct Counters(Vec<Option<HostSample>>);

impl Counters {
    /// Asks all hosts of a fleet; one that does not answer is left out of what follows.
    pub fn of(fleet: &Fleet) -> Self {
        let answers = fleet.run_all(&Task::tasuki([AGENT_COMMAND]).input("\n").long());
        Self(answers.into_iter().map(|answer| answer.json().ok()).collect())
    }

    /// What NICs have carried since an earlier time: those of the cluster file; without one, all devices.
    pub fn since(&self, before: &Self, fleet: &Fleet) -> Vec<NicUse> {
        let hosts = self.0.iter().zip(&before.0).enumerate();
        let hosts =
            hosts.filter_map(|(number, (now, before))| Some((number, now.as_ref()?, before.as_ref()?)));
        hosts.flat_map(|(number, now, before)| of_host(fleet, number, before, now)).collect()
    }
}

fn of_host(fleet: &Fleet, number: usize, before: &HostSample, now: &HostSample) -> Vec<NicUse> {
    let use_of = |sample: &NicSample| {
        let old = before.nics.iter().find(|old| old.name == sample.name)?;
        let grown = |of: fn(&NicSample) -> u64| of(sample).saturating_sub(of(old));
        Some(NicUse {
            host: fleet.name(number),
            nic: sample.name.clone(),
            to: None,
            bits_per_second: sample.bits_per_second,
            sent_bytes: grown(|nic| nic.sent_bytes),
            received_bytes: grown(|nic| nic.received_bytes),
            errors: grown(|nic| nic.errors),
            dropped: grown(|nic| nic.dropped),
        })
    };
    let Some(cluster) = fleet.cluster() else {
        return now.nics.iter().filter(|nic| nic.device).filter_map(use_of).collect();
    };
    let host = HostId(number);
    let ports = cluster.host_of(host).nics.iter().enumerate();
    let of_port = |(index, nic): (usize, &tasuki_cluster::Nic)| {
        let id = NicId { host, index };
        let used = use_of(now.nics.iter().find(|sample| sample.name == nic.name)?)?;
        Some(NicUse {
            to: cluster.other_end(End::Nic(id)).map(|end| cluster.end_name(end)),
            bits_per_second: fleet.line_rate(id).map(|rate| rate.bits_per_second),
            ..used
        })
    };
    ports.filter_map(of_port).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_added_counts() {
        let sample = |name: &str, device, sent_bytes| {
            let nic = NicSample { name: name.into(), device, sent_bytes, errors: 2, ..NicSample::default() };
            HostSample { nics: vec![nic], ..HostSample::default() }
        };
        let used = |before, now| Counters(vec![Some(now)]).since(&Counters(vec![before]), &Fleet::Local);
        let one = used(Some(sample("eth1", true, 5)), sample("eth1", true, 12));
        assert_eq!((one[0].sent_bytes, one[0].errors, one.len()), (7, 0, 1));
        assert_eq!(
            used(Some(sample("eth1", true, 5)), sample("eth1", true, 3))[0].sent_bytes,
            0,
            "it was reset"
        );
        assert_eq!(used(Some(sample("eth1", true, 5)), sample("eth2", true, 9)), [], "it was not there");
        assert_eq!(used(Some(sample("br0", false, 5)), sample("br0", false, 9)), [], "no device");
        assert_eq!(used(None, sample("eth1", true, 9)), [], "the host did not answer");
    }
}
