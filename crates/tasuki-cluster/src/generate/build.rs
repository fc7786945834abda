//! Builds a cluster cable by cable. Every connection adds the NICs that it needs, so a host's NICs are
//! numbered in the order in which its cables are added.

use super::Options;
use crate::{Cable, Cluster, End, Host, HostId, Nic, NicId, SshOptions, Switch, SwitchId};

/// A cluster in the making. Hosts are named n1, n2, ..., their NICs eth1, eth2, ..., switches sw1, sw2, ...;
/// a name that something has already is passed over.
pub struct ClusterBuilder {
    cluster: Cluster,
    options: Options,
    /// The cluster began empty, so that no name can be taken: large clusters need not look for one that is.
    is_new: bool,
}

impl ClusterBuilder {
    /// A cluster of so many hosts without NICs. New hosts, NICs and cables are as `options` says.
    pub fn new(name: String, hosts: usize, options: &Options) -> Self {
        let mut builder = Self { cluster: Cluster::empty(name), options: options.clone(), is_new: true };
        (0..hosts).for_each(|_| {
            builder.host();
        });
        builder
    }

    /// Adds to a cluster that there is. New hosts, NICs and cables are as `options` says.
    pub fn extend(cluster: Cluster, options: &Options) -> Self {
        Self { cluster, options: options.clone(), is_new: false }
    }

    /// The cluster as it is so far.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Adds a host, and returns its number.
    pub fn host(&mut self) -> usize {
        let name = free_name("n", self.cluster.hosts.len() + 1, |name| self.is_taken(name));
        self.cluster.hosts.push(Host {
            name,
            management: None,
            ssh: SshOptions::default(),
            cores: self.options.cores,
            rack: None,
            module: None,
            relay: true,
            delay: None,
            nics: Vec::new(),
        });
        self.cluster.hosts.len() - 1
    }

    /// Whether a host or a switch has this name, whatever the case of its letters, as files may not have it.
    fn is_taken(&self, name: &str) -> bool {
        let hosts = self.cluster.hosts.iter().map(|host| &host.name);
        let mut names = hosts.chain(self.cluster.switches.iter().map(|switch| &switch.name));
        !self.is_new && names.any(|taken| taken.eq_ignore_ascii_case(name))
    }

    /// Adds a NIC to a host. Names begin with eth1, because eth0 is what the machine's own first NIC is often
    /// called.
    pub fn nic(&mut self, host: usize) -> End {
        let (nics, is_new) = (&mut self.cluster.hosts[host].nics, self.is_new);
        let name =
            free_name("eth", nics.len() + 1, |name| !is_new && nics.iter().any(|nic| nic.name == name));
        let Options { rate, mtu, .. } = self.options;
        nics.push(Nic { name, mac: None, rate, mtu, ip: true, delay: None });
        End::Nic(NicId { host: HostId(host), index: nics.len() - 1 })
    }

    /// Adds a switch with so many ports at its own rate; `None`: at the rate of the NICs.
    pub fn switch(&mut self, ports: u32, rate: Option<crate::Rate>) -> SwitchId {
        let first = if self.is_new { self.cluster.switches.len() + 1 } else { 1 };
        let name = free_name("sw", first, |name| self.is_taken(name));
        let rate = rate.unwrap_or(self.options.rate);
        self.cluster.switches.push(Switch { name, ports, rate, agent: None });
        SwitchId(self.cluster.switches.len() - 1)
    }

    /// Adds a cable between two ends.
    pub fn cable(&mut self, ends: [End; 2]) {
        self.cluster.cables.push(Cable { ends, length_m: None });
    }

    /// Cables two hosts to each other by NICs of their own, with as many cables as `options` says.
    pub fn connect(&mut self, a: usize, b: usize) {
        for _ in 0..self.options.nics_per_cable {
            let ends = [self.nic(a), self.nic(b)];
            self.cable(ends);
        }
    }

    /// Adds a switch with a port for each NIC of all hosts: as many NICs per host as `options` says of
    /// cables.
    pub fn switch_for_all(&mut self) {
        let ports = self.cluster.hosts.len() * self.options.nics_per_cable;
        let switch = self.switch(ports as u32, None);
        for port in 1..=ports {
            let nic = self.nic((port - 1) / self.options.nics_per_cable);
            self.cable([nic, End::Port { switch, port: port as u32 }]);
        }
    }

    /// The cluster.
    pub fn finish(self) -> Cluster {
        self.cluster
    }
}

/// The first of `stem` and a number, counted from `first`, that is not taken.
fn free_name(stem: &str, first: usize, is_taken: impl Fn(&str) -> bool) -> String {
    let names = (first..).map(|number| format!("{stem}{number}"));
    // Numbers do not end before the names that are taken do.
    names.into_iter().find(|name| !is_taken(name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;

    /// Hosts and switches share one space of names, in which case does not count (RFC 4343): a file in which
    /// two are alike is refused.
    #[test]
    fn what_is_added_has_a_name_that_nothing_has() {
        let mut cluster = generate(&"star:3".parse().unwrap(), &Options::default()).unwrap();
        cluster.hosts[1].name = "N4".into();
        cluster.hosts[2].name = "SW2".into();
        cluster.switches[0].name = "n5".into();
        cluster.switches[0].ports = 8;
        let mut builder = ClusterBuilder::extend(cluster, &Options::default());
        let host = builder.host();
        let ends = [builder.nic(host), End::Port { switch: SwitchId(0), port: 8 }];
        builder.cable(ends);
        builder.switch(4, None);
        builder.switch(4, None);
        let cluster = builder.finish();
        let names = cluster.switches.iter().map(|switch| switch.name.as_str());
        assert_eq!(cluster.hosts[host].name, "n6");
        assert_eq!(names.collect::<Vec<_>>(), ["n5", "sw1", "sw3"]);
        if let Err(errors) = Cluster::parse(&cluster.to_toml(), None) {
            panic!("{errors}");
        }
    }
}
