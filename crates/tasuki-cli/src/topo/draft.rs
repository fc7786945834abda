//! A cluster that grows cable by cable.

use crate::args::{OwnSwitch, PlanArgs};
use tasuki_cluster::{
    Addressing, Cable, Cluster, DEFAULT_CORES, End, Host, HostId, Nic, NicId, SshOptions, Switch, SwitchId,
};

/// A tree of switches that takes `nics` NICs of every host. The first switch is the root; every other one is cabled to
/// it once, because switches without a spanning tree bear no loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Plane {
    pub switches: Vec<OwnSwitch>,
    pub nics: usize,
}

impl Plane {
    /// Ports that are left for hosts; 0 if the root has too few for the others.
    pub fn room(switches: &[OwnSwitch]) -> usize {
        let cables = switches.len().saturating_sub(1);
        let ports: usize = switches.iter().map(|switch| switch.ports as usize).sum();
        let root = switches.first().map_or(0, |switch| switch.ports as usize);
        if root < cables { 0 } else { ports - 2 * cables }
    }
}

/// A cluster in the making: hosts n1, n2, ..., NICs eth1, eth2, ... in the order of their cables, switches sw1, ...
pub struct Draft {
    cluster: Cluster,
    nic: Nic,
}

impl Draft {
    pub fn new(name: String, arguments: &PlanArgs) -> Self {
        let host = |number| Host {
            name: format!("n{number}"),
            management: None,
            ssh: SshOptions::default(),
            cores: DEFAULT_CORES,
            rack: None,
            module: None,
            relay: true,
            delay: None,
            nics: Vec::new(),
        };
        let cluster = Cluster {
            name,
            source: None,
            addressing: Addressing::default(),
            fallback: true,
            striping: None,
            tune: None,
            ssh: SshOptions::default(),
            hosts: (1..=arguments.hosts).map(host).collect(),
            switches: Vec::new(),
            cables: Vec::new(),
        };
        let nic = Nic {
            name: String::new(),
            mac: None,
            rate: arguments.rate,
            mtu: arguments.mtu,
            ip: true,
            delay: None,
        };
        Self { cluster, nic }
    }

    pub fn finish(self) -> Cluster {
        self.cluster
    }

    fn nic(&mut self, host: usize) -> End {
        let nics = &mut self.cluster.hosts[host].nics;
        nics.push(Nic { name: format!("eth{}", nics.len() + 1), ..self.nic.clone() });
        End::Nic(NicId { host: HostId(host), index: nics.len() - 1 })
    }

    fn cable(&mut self, ends: [End; 2]) {
        self.cluster.cables.push(Cable { ends, length_m: None });
    }

    /// Cables two hosts.
    pub fn connect(&mut self, a: usize, b: usize) {
        let ends = [self.nic(a), self.nic(b)];
        self.cable(ends);
    }

    /// Adds a tree of switches with NICs of every host, switch after switch, the root's ports first.
    pub fn plane(&mut self, plane: &Plane) {
        let first = self.cluster.switches.len();
        for switch in &plane.switches {
            let name = format!("sw{}", self.cluster.switches.len() + 1);
            let rate = switch.rate.unwrap_or(self.nic.rate);
            self.cluster.switches.push(Switch { name, ports: switch.ports, rate });
        }
        let mut used = vec![0; plane.switches.len()];
        let mut port = |at: usize| {
            used[at] += 1;
            End::Port { switch: SwitchId(first + at), port: used[at] }
        };
        // Ports between switches come last on paper, but are counted first.
        let mut free: Vec<usize> = plane.switches.iter().map(|switch| switch.ports as usize).collect();
        for other in 1..plane.switches.len() {
            free[0] -= 1;
            free[other] -= 1;
        }
        let mut at = 0;
        for host in 0..self.cluster.hosts.len() {
            for _ in 0..plane.nics {
                while free.get(at) == Some(&0) {
                    at += 1;
                }
                free[at] -= 1;
                let ends = [self.nic(host), port(at)];
                self.cable(ends);
            }
        }
        for other in 1..plane.switches.len() {
            let ends = [port(0), port(other)];
            self.cable(ends);
        }
    }
}
