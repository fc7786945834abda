//! Ports of switches as witnesses: they count what comes damaged from their cable, and so tell a direction of
//! a cable from the other.

use super::{cable_name, port_of};
use crate::finding::{Finding, Kind, Part};
use std::collections::BTreeMap;
use tasuki_cluster::{Cluster, End, NicId};
use tasuki_switch::{Grown, PortSample, SwitchAnswer};

/// What ports of switches say.
#[derive(Clone, Debug, Default)]
pub struct Witness {
    /// By port, as `sw1:3`.
    ports: BTreeMap<String, Port>,
}

#[derive(Clone, Debug)]
struct Port {
    end: End,
    /// What it has counted during the check.
    grown: Grown,
    /// Rate of its line, bit/s, if the switch says so and there is a signal.
    rate: Option<u64>,
}

impl Witness {
    /// What ports have counted between two answers of their switches. A switch that did not answer, or began
    /// anew in between, says nothing.
    pub fn new(cluster: &Cluster, before: &[SwitchAnswer], after: &[SwitchAnswer]) -> Self {
        let mut ports = BTreeMap::new();
        for now in after {
            let Some(switch) = cluster.switch(&now.switch) else { continue };
            let was = before.iter().find(|was| was.switch == now.switch);
            for (port, grown) in was.into_iter().flat_map(|was| grown(was, now)) {
                let end = End::Port { switch, port: port.port };
                let rate = port.rate.filter(|rate| *rate > 0 && port.up == Some(true));
                ports.insert(cluster.end_name(end), Port { end, grown, rate });
            }
        }
        Self { ports }
    }

    /// What the port at the other end of a NIC's cable says of frames from the NIC, or to it. `damaged` are
    /// those that the NIC has counted itself.
    pub fn says(&self, cluster: &Cluster, nic: NicId, outwards: bool, damaged: u64) -> Vec<String> {
        let Some(name) = port_of(cluster, nic) else { return Vec::new() };
        let nic_name = cluster.nic_name(nic);
        let mut all = Vec::new();
        if !outwards && damaged > 0 {
            all.push(format!(
                "{nic_name} has counted {damaged} damaged frames itself: they were damaged on the way from \
                 the switch, by {name}, the cable or its plugs"
            ));
        }
        let Some(Port { grown, rate, .. }) = self.ports.get(&name) else { return all };
        match (outwards, grown.damaged) {
            (true, Some(0)) => all.push(format!(
                "the switch has counted no damaged frame from {nic_name} at {name}: what is missing was \
                 never sent, or was lost in the switch or behind it"
            )),
            (true, Some(count)) => all.push(format!(
                "the switch has counted {count} damaged frames from {nic_name} at {name}: they were damaged \
                 on the way to it, by {nic_name}, the cable or its plugs"
            )),
            _ => {}
        }
        let dropped = if outwards { grown.receive_dropped } else { grown.send_dropped };
        if let Some(count) = dropped.filter(|count| *count > 0) {
            let way = if outwards { "from" } else { "for" };
            all.push(format!("the switch had no room for {count} frames {way} {nic_name} at {name}"));
        }
        let planned = cluster.nic_of(nic).rate.bits_per_second;
        if let Some(rate) = rate.filter(|rate| *rate < planned) {
            let [rate, planned] = [rate, planned].map(|rate| rate / 1_000_000);
            all.push(format!("the switch says that the line of {name} has {rate} Mbit/s, not {planned}"));
        }
        all
    }

    /// Ports that have counted damaged frames within so many seconds, as findings. The cable is accused.
    pub fn errors(&self, cluster: &Cluster, seconds: f64, per_hour_max: f64) -> Vec<Finding> {
        let finding = |(name, port): (&String, &Port)| {
            let count = port.grown.damaged.filter(|count| *count > 0)?;
            let per_hour = f64::from(count) * 3600.0 / seconds.max(1.0);
            if per_hour <= per_hour_max {
                return None;
            }
            let other = cluster.other_end(port.end)?;
            let sender = cluster.end_name(other);
            let part = match other {
                End::Nic(nic) => cable_name(cluster, nic),
                End::Port { .. } => format!("{name} - {sender}"),
            };
            let says = format!(
                "the switch has counted {count} damaged frames from {sender} at {name}, {per_hour:.0} an hour"
            );
            let advice = format!(
                "they were damaged on the way to the switch: the cable or its plugs first, then {sender}, \
                 then the port {name}"
            );
            let finding = Finding::new(1, Kind::Errors, Part::Cable(part), says, advice);
            Some(match port.grown.crc_errors.filter(|count| *count > 0) {
                Some(count) => finding.seen(format!("{count} of them had a wrong checksum")),
                None => finding,
            })
        };
        self.ports.iter().filter_map(finding).collect()
    }

    /// Rows of a table: port, other end, damaged frames from it, and frames without room from it and for it.
    pub fn rows(&self, cluster: &Cluster) -> Vec<Vec<String>> {
        let number = |count: Option<u32>| count.map_or_else(|| "-".into(), |count| count.to_string());
        let row = |(name, port): (&String, &Port)| {
            let other = cluster.other_end(port.end).map(|end| cluster.end_name(end)).unwrap_or_default();
            let Grown { damaged, receive_dropped, send_dropped, .. } = port.grown;
            vec![name.clone(), other, number(damaged), number(receive_dropped), number(send_dropped)]
        };
        self.ports.iter().map(row).collect()
    }
}

/// The ports that are in both answers, and what they have counted in between.
fn grown<'a>(was: &SwitchAnswer, now: &'a SwitchAnswer) -> Vec<(&'a PortSample, Grown)> {
    let (Ok(was), Ok(now)) = (&was.answer, &now.answer) else { return Vec::new() };
    let of = |port: &'a PortSample| {
        let before = was.ports.iter().find(|before| before.port == port.port)?;
        Some((port, port.since(before)?))
    };
    now.ports.iter().filter_map(of).collect()
}

/// Adds findings about ports to those about NICs. What both accuse is one finding.
pub fn merge(of_nics: &mut Vec<Finding>, of_ports: Vec<Finding>) {
    for finding in of_ports {
        let same = |known: &&mut Finding| (known.kind, &known.part) == (finding.kind, &finding.part);
        match of_nics.iter_mut().find(same) {
            Some(known) => {
                known.evidence.push(finding.says);
                known.evidence.extend(finding.evidence);
            }
            None => of_nics.push(finding),
        }
    }
}

/// Switches that could not be asked, or ports of theirs, as warnings.
pub fn unasked(answers: &[SwitchAnswer]) -> Vec<Finding> {
    let finding = |answer: &SwitchAnswer| {
        let problems = match &answer.answer {
            Ok(sample) => sample.problems.clone(),
            Err(error) => vec![error.to_string()],
        };
        let (first, rest) = problems.split_first()?;
        let says = format!("{} is no witness of which end of a cable is at fault: {first}", answer.switch);
        let advice = "hosts and cables were checked all the same; `management`, `community_file` and \
                      `interfaces` of [[switch]] in the cluster file say how it is asked";
        let part = Part::Switch(answer.switch.clone());
        let finding = Finding::new(1, Kind::Unchecked, part, says, advice).as_warning();
        Some(rest.iter().fold(finding, |finding, problem| finding.seen(problem)))
    };
    answers.iter().filter_map(finding).collect()
}
