//! Builds a cluster cable by cable. Every connection adds the NICs that it needs, so a host's NICs are
//! numbered in the order in which its cables are added.

use super::Options;
use crate::{Addressing, Cable, Cluster, End, Host, HostId, Nic, NicId, SshOptions, Switch, SwitchId};

pub(super) struct Builder {
    cluster: Cluster,
    options: Options,
}

impl Builder {
    pub(super) fn new(name: String, hosts: usize, options: &Options) -> Self {
        let host = |number| Host {
            name: format!("n{number}"),
            management: None,
            ssh: SshOptions::default(),
            cores: options.cores,
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
            hosts: (1..=hosts).map(host).collect(),
            switches: Vec::new(),
            cables: Vec::new(),
        };
        Self { cluster, options: options.clone() }
    }

    /// Adds a NIC. Names begin with eth1, because the machine's own first NIC is often called eth0.
    fn nic(&mut self, host: usize) -> End {
        let nics = &mut self.cluster.hosts[host].nics;
        let name = format!("eth{}", nics.len() + 1);
        nics.push(Nic {
            name,
            mac: None,
            rate: self.options.rate,
            mtu: self.options.mtu,
            ip: true,
            delay: None,
        });
        End::Nic(NicId { host: HostId(host), index: nics.len() - 1 })
    }

    /// Cables two hosts to each other.
    pub(super) fn connect(&mut self, a: usize, b: usize) {
        for _ in 0..self.options.nics_per_cable {
            let ends = [self.nic(a), self.nic(b)];
            self.cluster.cables.push(Cable { ends, length_m: None });
        }
    }

    /// Adds a switch with all hosts on it.
    pub(super) fn switch(&mut self) {
        let number = self.cluster.switches.len() + 1;
        let switch = SwitchId(number - 1);
        let rate = self.options.rate;
        self.cluster.switches.push(Switch { name: format!("sw{number}"), ports: 0, rate });
        for host in 0..self.cluster.hosts.len() {
            for _ in 0..self.options.nics_per_cable {
                self.cluster.switches[switch.0].ports += 1;
                let port = self.cluster.switches[switch.0].ports;
                let ends = [self.nic(host), End::Port { switch, port }];
                self.cluster.cables.push(Cable { ends, length_m: None });
            }
        }
    }

    pub(super) fn finish(self) -> Cluster {
        self.cluster
    }
}
