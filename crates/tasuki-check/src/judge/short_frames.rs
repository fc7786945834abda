//! Switches that pass short frames alone: each of their cables shows it, and none is at fault.

use super::cable_name;
use crate::finding::{Finding, Kind, Part};
use tasuki_cluster::{Cluster, End, NicId, SwitchId};

/// Least number of cables of a switch that show it. Of two, one could be at fault as well.
const CABLES_MIN: usize = 3;

/// Findings in which a switch has the place of its cables, where frames of full size pass by none of them.
pub fn by_switch(cluster: &Cluster, mut findings: Vec<Finding>) -> Vec<Finding> {
    for switch in (0..cluster.switches.len()).map(SwitchId) {
        let nics = nics_of(cluster, switch);
        let cables: Vec<String> = nics.iter().map(|nic| cable_name(cluster, *nic)).collect();
        let is_its = |finding: &Finding, cable: &String| {
            finding.kind == Kind::Mtu && finding.part == Part::Cable(cable.clone())
        };
        let is_told = |cable: &String| findings.iter().any(|finding| is_its(finding, cable));
        // One of them is never accused: what is lost on its way to the others is explained by these.
        let told = cables.iter().filter(|cable| is_told(cable)).count();
        if cables.len() < CABLES_MIN || told + 1 < cables.len() {
            continue;
        }
        let of_switch = |finding: &mut Finding| cables.iter().any(|cable| is_its(finding, cable));
        let told: Vec<Finding> = findings.extract_if(.., of_switch).collect();
        let name = cluster.switches[switch.0].name.clone();
        let mtu = nics.iter().map(|nic| cluster.nic_of(*nic).mtu).max().unwrap_or_default();
        let says = format!(
            "the switch {name} passes no frames of full size (MTU {mtu}) from any of its {} cables, and \
             short ones do pass",
            cables.len()
        );
        let advice = format!(
            "enable jumbo frames on {name}: its largest frame has to be 18 bytes above the MTU or more; or \
             lower `mtu` of the NICs on it in the file, and `tasuki apply`"
        );
        let mut finding = Finding::new(1, Kind::Mtu, Part::Switch(name), says, advice);
        finding.evidence =
            told.into_iter().filter_map(|finding| finding.evidence.into_iter().next()).collect();
        findings.push(finding);
    }
    findings
}

/// The NICs whose cables lead to a switch.
fn nics_of(cluster: &Cluster, of: SwitchId) -> Vec<NicId> {
    let nic = |ends: &[End; 2]| match *ends {
        [End::Nic(nic), End::Port { switch, .. }] | [End::Port { switch, .. }, End::Nic(nic)]
            if switch == of =>
        {
            Some(nic)
        }
        _ => None,
    };
    cluster.cables.iter().filter_map(|cable| nic(&cable.ends)).collect()
}
