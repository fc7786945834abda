//! Which NICs of a switch are measured with each other.

use crate::model::PortId;
use std::collections::BTreeMap;

/// The NICs of a switch two by two, each with one of another host: the first NICs of all hosts, then the
/// second ones, and so on. One that is left over is measured with a NIC that another pair has already. There
/// are none where all NICs are those of one host.
pub(crate) fn pairs(ports: &[PortId]) -> Vec<[PortId; 2]> {
    let mut of_host: BTreeMap<usize, usize> = BTreeMap::new();
    let number = |port: &PortId| {
        let number = of_host.entry(port.host).or_default();
        *number += 1;
        (*number, *port)
    };
    let mut in_turn: Vec<(usize, PortId)> = ports.iter().map(number).collect();
    in_turn.sort_unstable();
    let in_turn: Vec<PortId> = in_turn.into_iter().map(|(_, port)| port).collect();
    let other = |port: PortId| in_turn.iter().copied().find(|other| other.host != port.host);
    let of_two = |two: &[PortId]| match *two {
        [a, b] if a.host != b.host => vec![[a, b]],
        _ => two.iter().filter_map(|&port| Some([port, other(port)?])).collect(),
    };
    in_turn.chunks(2).flat_map(of_two).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        infer::{Graph, Segment},
        measure::lines,
        model::{HostSight, NicSight},
    };
    use std::collections::BTreeSet;

    /// Hosts with so many NICs each, all on one switch.
    fn on_a_switch(nics: &[usize]) -> (Vec<Option<HostSight>>, Graph) {
        let host = |nics: &usize| {
            let nics = vec![NicSight { mtu: 1500, ..NicSight::default() }; *nics];
            Some(HostSight { nics, ..HostSight::default() })
        };
        let ports = nics.iter().enumerate();
        let ports = ports.flat_map(|(host, nics)| (0..*nics).map(move |nic| PortId { host, nic }));
        let segment = Segment { ports: ports.collect(), neighbours: Vec::new() };
        (nics.iter().map(host).collect(), Graph { segments: vec![segment], ..Graph::default() })
    }

    /// Frames from a host to the host itself show nothing of a cable, and every cable is to be measured: of
    /// hosts with two NICs on one switch none was, as the pairs were those of each host.
    #[test]
    fn every_nic_of_a_switch_is_measured_with_another_host() {
        for nics in [
            &[1, 1][..],
            &[2, 2],
            &[2, 2, 2],
            &[4, 4],
            &[3, 1],
            &[1, 3],
            &[5, 1, 1],
            &[1, 2, 3, 4],
            &[2, 1, 2],
        ] {
            let (hosts, graph) = on_a_switch(nics);
            let lines = lines(&hosts, &graph);
            assert!(lines.iter().all(|line| line.ports[0].host != line.ports[1].host), "{nics:?}: {lines:?}");
            let measured: BTreeSet<PortId> = lines.iter().flat_map(|line| line.ports).collect();
            assert!(measured.iter().eq(&graph.segments[0].ports), "{nics:?}: {lines:?}");
        }
        let (hosts, graph) = on_a_switch(&[4]);
        assert_eq!(lines(&hosts, &graph), [], "frames of one host to itself");
    }

    /// A switch on which no host has more than half of the NICs takes one line for two of them.
    #[test]
    fn no_nic_is_measured_twice_without_need() {
        for (nics, count) in [(&[1; 6][..], 3), (&[1; 7], 4), (&[2; 4], 4), (&[4; 2], 4), (&[3; 3], 5)] {
            let (hosts, graph) = on_a_switch(nics);
            assert_eq!(lines(&hosts, &graph).len(), count, "{nics:?}");
        }
    }
}
