//! Which NIC of a switch is slow. Two NICs carry what the slower one does, so a slow pair says nothing of
//! either alone; pairs with others tell which one it is. It performs no IO.

use crate::{
    finding::{Finding, Kind, port_name},
    infer::Graph,
    measure::{self, Line, Measured, SLOW},
    model::{HostSight, PortId},
};
use std::collections::{BTreeMap, BTreeSet};

/// How often more pairs are measured at most.
pub(crate) const ROUNDS: usize = 4;
/// In how many of these rounds, and how many at a time, pairs of NICs are measured of which none is known to
/// be fast.
const BLIND: (usize, usize) = (2, 8);

/// A NIC that carries less than it says, or that says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slow {
    /// The most that it carried with any other, Mbit/s.
    pub mbits: u64,
    /// Whether it was slow with a NIC that carries more with others.
    pub is_proven: bool,
}

/// What the measurements say of each NIC.
struct Evidence<'a> {
    hosts: &'a [Option<HostSight>],
    graph: &'a Graph,
    measured: &'a [Measured],
    /// The most that each NIC carried with any other, Mbit/s; `u64::MAX`: all that was sent where one of both
    /// says no rate.
    most: BTreeMap<PortId, u64>,
}

impl<'a> Evidence<'a> {
    fn new(hosts: &'a [Option<HostSight>], graph: &'a Graph, measured: &'a [Measured]) -> Self {
        let mut evidence = Self { hosts, graph, measured, most: BTreeMap::new() };
        for line in measured.iter().filter(|line| line.is_rate_known) {
            let [a, b] = line.ports.map(|port| evidence.told(port));
            let all = a.zip(b).map_or(u64::MAX, |(a, b)| a.min(b));
            for port in line.ports {
                let most = evidence.most.entry(port).or_insert(0);
                *most = line.mbits.unwrap_or(all).max(*most);
            }
        }
        evidence
    }

    fn told(&self, port: PortId) -> Option<u64> {
        measure::nic(self.hosts, port)?.mbits
    }

    fn most(&self, port: PortId) -> u64 {
        self.most.get(&port).copied().unwrap_or(0)
    }

    /// The pairs with a NIC that are slow: the other NIC, and what both carry.
    fn slow_with(&self, port: PortId) -> impl Iterator<Item = (PortId, u64)> {
        let with = move |line: &Measured| match line.ports {
            [a, b] if a == port => Some((b, line.mbits?)),
            [a, b] if b == port => Some((a, line.mbits?)),
            _ => None,
        };
        self.measured.iter().filter_map(with)
    }

    /// Whether a NIC was slow, and never carried what it says.
    fn is_suspect(&self, port: PortId) -> bool {
        let enough = self.told(port).map_or(u64::MAX as f64, |told| told as f64 * SLOW);
        self.slow_with(port).next().is_some() && (self.most(port) as f64) < enough
    }

    /// Whether a NIC was slow with one that carries more with others.
    fn is_proven(&self, port: PortId) -> bool {
        self.slow_with(port).any(|(other, mbits)| self.most(other) > mbits)
    }

    /// Whether another NIC is the reason that both carry so little: it is known to be slow, or it may be,
    /// because it says no rate and this one does.
    fn explains(&self, other: PortId, mbits: u64, port: PortId) -> bool {
        let is_cable = self.graph.cables.iter().any(|ends| ends.contains(&port));
        let is_odd_one = !is_cable && self.told(port).is_some() && self.told(other).is_none();
        self.most(other) <= mbits && (self.is_proven(other) || is_odd_one)
    }

    fn is_measured(&self, a: PortId, b: PortId) -> bool {
        self.measured.iter().any(|line| line.ports == [a, b] || line.ports == [b, a])
    }
}

/// The NICs that are slow.
pub(crate) fn slow(
    hosts: &[Option<HostSight>],
    graph: &Graph,
    measured: &[Measured],
) -> BTreeMap<PortId, Slow> {
    let evidence = Evidence::new(hosts, graph, measured);
    let is_slow = |port: &PortId| {
        let is_explained = |(other, mbits)| evidence.explains(other, mbits, *port);
        evidence.is_suspect(*port) && !evidence.slow_with(*port).all(is_explained)
    };
    let slow =
        |&port: &PortId| (port, Slow { mbits: evidence.most(port), is_proven: evidence.is_proven(port) });
    evidence.most.keys().filter(|port| is_slow(port)).map(slow).collect()
}

/// What is to be told of the rate of a line, of which these NICs are slow.
pub(crate) fn findings(
    hosts: &[Option<HostSight>],
    line: &Line,
    found: &Measured,
    slow: &BTreeMap<PortId, Slow>,
) -> Vec<Finding> {
    let [a, b] = line.ports.map(|port| slow.get(&port));
    if let (Some(told), Some(mbits), Some(a), Some(b)) = (line.told, found.mbits, a, b)
        && !a.is_proven
        && !b.is_proven
    {
        let [a, b] = line.ports.map(|port| port_name(hosts, port));
        let says = format!("{a} - {b} says {told} Mbit/s and carries {mbits}");
        let advice = "the file has what it carries; look at the slot or adapter of the NICs, and at what is \
                      between them";
        return vec![Finding::new(Kind::Slow, line.ports, says, advice)];
    }
    let alone = |port: PortId| {
        let (slow, told) = (slow.get(&port)?, measure::nic(hosts, port)?.mbits?);
        let says = format!("{} says {told} Mbit/s and carries {}", port_name(hosts, port), slow.mbits);
        let advice = "the file has what it carries; look at its slot or adapter, and at its cable";
        Some(Finding::new(Kind::Slow, [port], says, advice))
    };
    let is_slow = found.mbits.is_some();
    line.ports.into_iter().filter(|_| is_slow).filter_map(alone).collect()
}

/// The pairs of NICs to be measured besides in a round, counted from 0, to know which NICs are slow: each
/// NIC that may be with the fastest of its switch, or with another of them where none is faster.
pub(crate) fn more(
    hosts: &[Option<HostSight>],
    graph: &Graph,
    measured: &[Measured],
    round: usize,
) -> Vec<[PortId; 2]> {
    let evidence = Evidence::new(hosts, graph, measured);
    let mut pairs = Vec::new();
    for segment in &graph.segments {
        let suspects = segment.ports.iter().copied().filter(|&port| evidence.is_suspect(port));
        let mut unpaired = Vec::new();
        for port in suspects {
            let others = segment.ports.iter().copied().filter(|other| other.host != port.host);
            let fastest = others.max_by_key(|&other| evidence.most(other));
            match fastest.filter(|&other| evidence.most(other) > evidence.most(port)) {
                Some(_) if evidence.is_proven(port) => {}
                Some(fastest) if !evidence.is_measured(port, fastest) => pairs.push([port, fastest]),
                Some(_) => {}
                None => unpaired.push(port),
            }
        }
        if round < BLIND.0 {
            pairs.extend(blind(&evidence, &unpaired));
        }
    }
    pairs
}

/// Pairs of these NICs that were not measured together, no NIC twice.
fn blind(evidence: &Evidence<'_>, ports: &[PortId]) -> Vec<[PortId; 2]> {
    let mut used = BTreeSet::new();
    let mut pairs = Vec::new();
    for (at, &port) in ports.iter().enumerate() {
        let fits = |other: &&PortId| {
            other.host != port.host && !used.contains(*other) && !evidence.is_measured(port, **other)
        };
        let other = ports[at + 1..].iter().find(fits).copied();
        if let (Some(other), false) = (other.filter(|_| pairs.len() < BLIND.1), used.contains(&port)) {
            used.extend([port, other]);
            pairs.push([port, other]);
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{infer::Segment, model::NicSight};

    fn port(host: usize) -> PortId {
        PortId { host, nic: 0 }
    }

    /// Hosts with a NIC each on one switch.
    fn on_a_switch(told: &[Option<u64>]) -> (Vec<Option<HostSight>>, Graph) {
        let host = |mbits: &Option<u64>| {
            let nic = NicSight { mbits: *mbits, ..NicSight::default() };
            Some(HostSight { nics: vec![nic], ..HostSight::default() })
        };
        let segment = Segment { ports: (0..told.len()).map(port).collect(), neighbours: Vec::new() };
        (told.iter().map(host).collect(), Graph { segments: vec![segment], ..Graph::default() })
    }

    /// What is found of NICs that carry so much, Mbit/s: every pair carries what its slower NIC does. The
    /// pairs are those of the first measurement and what is asked for after it.
    fn found(told: &[Option<u64>], carry: &[u64]) -> (Vec<(usize, u64)>, usize) {
        let (hosts, graph) = on_a_switch(told);
        let mut measured = Vec::new();
        let mut try_out = |pairs: Vec<[PortId; 2]>| {
            for ports in &pairs {
                let [a, b] = ports.map(|port| (told[port.host], carry[port.host]));
                // What is sent: the smaller rate, or 1.2 Gbit/s; slow is what carries less than 4/5 of that.
                let least = a.0.zip(b.0).map_or(1_200, |(a, b)| a.min(b) * 4 / 5);
                let mbits = Some(a.1.min(b.1)).filter(|&mbits| mbits < least);
                measured.push(Measured { ports: *ports, mtu: None, mbits, is_rate_known: true });
            }
            measured.clone()
        };
        let lines = measure::lines(&hosts, &graph);
        let mut known = try_out(lines.iter().map(|line| line.ports).collect());
        for round in 0..ROUNDS {
            known = try_out(more(&hosts, &graph, &known, round));
        }
        let slow = slow(&hosts, &graph, &known).into_iter().map(|(port, slow)| (port.host, slow.mbits));
        (slow.collect(), known.len() - lines.len())
    }

    /// One of several NICs of 2.5 Gbit/s carries 1: with it alone pairs are slow, wherever it is. Two pairs
    /// of four NICs may both have a slow one.
    #[test]
    fn pairs_tell_which_nic_is_slow() {
        for told in [Some(2_500), None] {
            for hosts in 3..8 {
                for slow in 0..hosts {
                    let carry: Vec<u64> =
                        (0..hosts).map(|host| if host == slow { 1_000 } else { 2_500 }).collect();
                    let (found, _) = found(&vec![told; hosts], &carry);
                    assert_eq!(found, [(slow, 1_000)], "{told:?}: {slow} of {hosts}");
                }
            }
            let (found, _) = found(&[told; 4], &[1_000, 2_500, 2_500, 100]);
            assert_eq!(found, [(0, 1_000), (3, 100)], "{told:?}");
        }
    }

    /// A NIC of 2.5 Gbit/s beside one of 1 keeps its rate, on a switch of two or of many.
    #[test]
    fn a_slower_kind_of_nic_slows_no_other() {
        assert_eq!(found(&[Some(2_500), Some(1_000)], &[2_500, 1_000]), (vec![], 0));
        assert_eq!(found(&[Some(2_500), None], &[2_500, 1_000]), (vec![(1, 1_000)], 0));
        let told = [Some(2_500), None, Some(2_500), None];
        assert_eq!(found(&told, &[2_500, 1_000, 2_500, 1_000]).0, [(1, 1_000), (3, 1_000)]);
    }

    /// A pair of which nothing came clears none of its NICs.
    #[test]
    fn what_is_not_known_is_no_evidence() {
        let (hosts, graph) = on_a_switch(&[Some(2_500); 3]);
        let line = |a, b, mbits: Option<u64>| {
            let ports = [port(a), port(b)];
            Measured { ports, mtu: None, mbits, is_rate_known: mbits.is_some() }
        };
        let found = slow(&hosts, &graph, &[line(0, 1, Some(1_000)), line(2, 0, None)]);
        assert_eq!(found.len(), 2, "{found:?}");
    }

    /// Of two NICs that say the same it is not known which one is slow. A cable is as slow at both ends.
    #[test]
    fn two_alone_are_both_suspects() {
        assert_eq!(found(&[Some(2_500); 2], &[1_000, 2_500]), (vec![(0, 1_000), (1, 1_000)], 0));
        let (hosts, mut graph) = on_a_switch(&[Some(2_500), None]);
        graph.segments.clear();
        graph.cables.push([port(0), port(1)]);
        let (ports, mbits) = ([port(0), port(1)], Some(1_000));
        let measured = [Measured { ports, mtu: None, mbits, is_rate_known: true }];
        let both = slow(&hosts, &graph, &measured);
        assert!(both.len() == 2 && both.values().all(|slow| slow.mbits == 1_000 && !slow.is_proven));
    }

    /// A switch that holds all NICs back holds each back. It costs few pairs more to know that.
    #[test]
    fn a_slow_switch_is_soon_known() {
        let (found, more) = found(&[Some(1_000); 48], &[100; 48]);
        assert_eq!(found, (0..48).map(|host| (host, 100)).collect::<Vec<_>>());
        assert!(more <= BLIND.0 * BLIND.1, "{more}");
    }
}
