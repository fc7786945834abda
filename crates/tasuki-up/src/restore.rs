//! Taking back what was done to hosts, as far as they can be reached.

use tasuki_apply::{HostOptions, Step, undo_all};
use tasuki_cluster::{Cluster, Host};
use tasuki_fleet::Fleet;
use tasuki_host::{Mode, Report};

/// Restores all hosts of a fleet as they were before `apply`. A host that cannot be asked does not keep the
/// others from being restored: its report says why, in its place.
///
/// Hosts that refuse are asked again once others are restored. This machine may be among those: until then
/// its `/etc/hosts` gave the others' names addresses of cables, and they refuse what would cut a login there.
pub fn restore(fleet: &Fleet, options: &HostOptions, progress: &(dyn Fn(Step<'_>) + Sync)) -> Vec<Report> {
    let mut reports = undo_all(fleet, options, Mode::Change, progress);
    let is_well = |report: &Report| report.problems.is_empty();
    if reports.iter().all(is_well) || reports.iter().any(|report| report.done) {
        return reports;
    }
    // One host has problems, so none was changed.
    let (able, unable): (Vec<usize>, Vec<usize>) =
        (0..reports.len()).partition(|&host| is_well(&reports[host]));
    let Some(fewer) = some_of(fleet, &able) else { return reports };
    for (host, report) in able.iter().zip(undo_all(&fewer, options, Mode::Change, progress)) {
        reports[*host] = report;
    }
    let is_any_restored = able.iter().any(|&host| reports[host].done);
    if let Some(fewer) = some_of(fleet, &unable).filter(|_| is_any_restored) {
        // This ends, because each time there are fewer hosts.
        for (host, report) in unable.iter().zip(restore(&fewer, options, progress)) {
            reports[*host] = report;
        }
    }
    reports
}

/// The fleet of some hosts, without cables; `None`: of no host, or of this machine alone.
fn some_of(fleet: &Fleet, hosts: &[usize]) -> Option<Fleet> {
    let cluster = fleet.cluster().filter(|_| !hosts.is_empty())?;
    let bare = |host: &usize| Host { nics: Vec::new(), ..cluster.hosts[*host].clone() };
    let fewer = Cluster {
        hosts: hosts.iter().map(bare).collect(),
        switches: Vec::new(),
        cables: Vec::new(),
        ..cluster.clone()
    };
    Some(match fleet {
        Fleet::Local => return None,
        Fleet::Lab(lab) => Fleet::Lab(Box::new(lab.as_ref().clone().held_against(fewer))),
        Fleet::Ssh(ssh) => Fleet::Ssh(Box::new(ssh.with_cluster(fewer))),
    })
}
