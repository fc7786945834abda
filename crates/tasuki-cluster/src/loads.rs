//! Loads: what each cable carries if all hosts send at once over the routes of the address plan.

use crate::{CableId, Cluster, End, HostId, NicId, Rate, SwitchId, fabric::Fabric, plan::weights_of};
use std::ops::Range;

/// A part of a cluster that has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// A cable.
    Cable(CableId),
    /// A switch, with all its cables.
    Switch(SwitchId),
}

/// All rails that routes can begin with or go on by, found once for many questions.
#[derive(Clone, Debug)]
pub struct RouteLoads<'a> {
    cluster: &'a Cluster,
    rails: Vec<DirectRail>,
    /// The channels of all rails, one rail after the other. A channel is twice the number of a cable, and one
    /// more if it leads from the second end to the first.
    channels: Vec<usize>,
    /// Of every ordered pair of hosts, at `from * hosts + to` where `from` is the earlier: its rails.
    between: Vec<Range<usize>>,
    /// Of every host: those that share a cable or switch domain with it.
    neighbours: Vec<Vec<usize>>,
}

#[derive(Clone, Debug)]
struct DirectRail {
    nics: [NicId; 2],
    rate: Rate,
    channels: Range<usize>,
}

/// A rail from the point of view of one of its hosts.
type Step<'a> = (&'a DirectRail, bool);

impl<'a> RouteLoads<'a> {
    /// The rails of a cluster.
    pub fn new(cluster: &'a Cluster) -> Self {
        let fabric = Fabric::new(cluster);
        let hosts = cluster.hosts.len();
        let neighbours = (0..hosts).map(|host| fabric.neighbours(HostId(host)));
        let neighbours = neighbours.map(|all| all.into_iter().map(|host| host.0).collect()).collect();
        let (rails, channels, between) = (Vec::new(), Vec::new(), vec![0..0; hosts * hosts]);
        let mut loads = Self { cluster, rails, channels, between, neighbours };
        for from in 0..hosts {
            for to in from + 1..hosts {
                let first = loads.rails.len();
                for nics in fabric.pairs(HostId(from), HostId(to)) {
                    let path = fabric.path(nics);
                    let start = loads.channels.len();
                    loads.channels.extend(channels_of(cluster, nics[0], &path.cables));
                    let channels = start..loads.channels.len();
                    loads.rails.push(DirectRail { nics, rate: path.rate, channels });
                }
                loads.between[from * hosts + to] = first..loads.rails.len();
            }
        }
        loads
    }

    /// Number of elementary steps of [`RouteLoads::all_to_all`], roughly.
    pub fn steps(&self) -> usize {
        let hosts = self.neighbours.len();
        let towards = |from: usize| {
            let (far, near) = (self.neighbours[from].len(), &self.between[from * hosts..][..hosts]);
            near.iter().map(move |rails| if rails.is_empty() { far } else { 1 + rails.len() }).sum::<usize>()
        };
        (0..hosts).map(towards).sum()
    }

    /// What each cable carries, from its first end to the second and back, if every host sends 1 to every
    /// other and every route divides what it leads to a destination by its weights. `failed` is a part that
    /// the routes lead around. `None`: hosts are out of reach of each other.
    pub fn all_to_all(&self, failed: Option<Failed>) -> Option<Vec<[f64; 2]>> {
        let is_on = |end: &End, gone| matches!(end, End::Port { switch, .. } if *switch == gone);
        let is_gone = self.cluster.cables.iter().enumerate().map(|(number, cable)| match failed {
            None => false,
            Some(Failed::Cable(gone)) => gone.0 == number,
            Some(Failed::Switch(gone)) => cable.ends.iter().any(|end| is_on(end, gone)),
        });
        let is_gone: Vec<bool> = is_gone.collect();
        let lives = |rail: &DirectRail| {
            let mut channels = self.channels[rail.channels.clone()].iter();
            !channels.any(|channel| is_gone[channel / 2])
        };
        let lives: Vec<bool> = self.rails.iter().map(lives).collect();
        let mut load = vec![[0.0; 2]; self.cluster.cables.len()];
        for to in 0..self.cluster.hosts.len() {
            self.add_towards(to, &lives, &mut load)?;
        }
        Some(load)
    }

    /// The rails that live from one host to another.
    fn steps_to<'s>(&'s self, from: usize, to: usize, lives: &'s [bool]) -> impl Iterator<Item = Step<'s>> {
        let (hosts, turned) = (self.cluster.hosts.len(), from > to);
        let all = self.between[from.min(to) * hosts + from.max(to)].clone();
        all.filter(|&rail| lives[rail]).map(move |rail| (&self.rails[rail], turned))
    }

    /// Number of hops from every host to one, and the hosts in the order of their hops; `None` if a host is
    /// out of reach.
    fn hops_to(&self, to: usize, lives: &[bool]) -> Option<(Vec<usize>, Vec<usize>)> {
        let hosts = self.cluster.hosts.len();
        let mut hops = vec![usize::MAX; hosts];
        hops[to] = 0;
        let mut order = vec![to];
        let mut at = 0;
        while order.len() < hosts {
            let &here = order.get(at)?;
            at += 1;
            if here != to && !self.cluster.hosts[here].relay {
                continue;
            }
            for &next in &self.neighbours[here] {
                if hops[next] == usize::MAX && self.steps_to(here, next, lives).next().is_some() {
                    hops[next] = hops[here] + 1;
                    order.push(next);
                }
            }
        }
        Some((hops, order))
    }

    /// Adds what all other hosts send to one.
    fn add_towards(&self, to: usize, lives: &[bool], load: &mut [[f64; 2]]) -> Option<()> {
        let (hops, order) = self.hops_to(to, lives)?;
        let mut amount = vec![1.0; hops.len()];
        for &from in order[1..].iter().rev() {
            let is_next = |next: &&usize| {
                hops[**next] + 1 == hops[from] && (**next == to || self.cluster.hosts[**next].relay)
            };
            let last = [to];
            let near = if hops[from] == 1 { &last[..] } else { &self.neighbours[from] };
            let steps = near.iter().filter(is_next).flat_map(|&next| {
                let steps = self.steps_to(from, next, lives);
                steps.map(move |step| (next, step))
            });
            let steps: Vec<(usize, Step<'_>)> = steps.collect();
            let rails: Vec<_> = steps.iter().map(|(_, (rail, _))| (rail.nics, rail.rate)).collect();
            let weights = weights_of(self.cluster, &rails);
            let all: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
            for ((next, (rail, turned)), weight) in steps.into_iter().zip(weights) {
                let part = amount[from] * f64::from(weight) / all;
                amount[next] += part;
                for channel in &self.channels[rail.channels.clone()] {
                    load[channel / 2][(channel % 2) ^ usize::from(turned)] += part;
                }
            }
        }
        Some(())
    }
}

/// The channels of a rail that begins at a NIC.
fn channels_of(cluster: &Cluster, nic: NicId, cables: &[CableId]) -> Vec<usize> {
    let mut here = End::Nic(nic);
    let is_here = |end: &End, here: End| match (*end, here) {
        (End::Port { switch: a, .. }, End::Port { switch: b, .. }) => a == b,
        (end, here) => end == here,
    };
    let channel = |cable: &CableId| {
        let ends = cluster.cable_of(*cable).ends;
        let back = usize::from(!is_here(&ends[0], here));
        here = ends[1 - back];
        2 * cable.0 + back
    };
    cables.iter().map(channel).collect()
}
