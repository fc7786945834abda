//! Finding parts of a cluster by name or by cable, naming them, and what holds for one host: delays of its
//! NICs, its address in a lab, and how ssh reaches it.

use crate::{
    Cable, CableId, Cluster, DelayWish, End, Host, HostId, LAB_MANAGEMENT, Nic, NicId, SshAddress, SshJump,
    SshTarget, SshUser, Switch, SwitchId, fabric::Fabric, lab_macs,
};
use std::net::Ipv4Addr;

impl Cluster {
    /// The host of that name.
    pub fn host(&self, name: &str) -> Option<HostId> {
        self.hosts.iter().position(|host| host.name == name).map(HostId)
    }

    /// The switch of that name.
    pub fn switch(&self, name: &str) -> Option<SwitchId> {
        self.switches.iter().position(|switch| switch.name == name).map(SwitchId)
    }

    /// The NIC called `name` as `host:nic`.
    pub fn nic(&self, name: &str) -> Option<NicId> {
        let (host, nic) = name.split_once(':')?;
        let host = self.host(host)?;
        let index = self.hosts[host.0].nics.iter().position(|other| other.name == nic)?;
        Some(NicId { host, index })
    }

    /// The end called `name`, as `host:nic` or `switch:port`.
    pub fn end(&self, name: &str) -> Option<End> {
        if let Some(nic) = self.nic(name) {
            return Some(End::Nic(nic));
        }
        let (switch, port) = name.split_once(':')?;
        let switch = self.switch(switch)?;
        let port = port.parse().ok().filter(|port| (1..=self.switches[switch.0].ports).contains(port))?;
        Some(End::Port { switch, port })
    }

    /// The receive-interrupt delays of a host's cabled NICs, where the file has any.
    pub fn delays(&self, host: HostId) -> Vec<(&str, DelayWish)> {
        let of_host = self.host_of(host).delay.or(self.tune.and_then(|tune| tune.delay));
        let is_cabled = |index| {
            let nic = End::Nic(NicId { host, index });
            self.cables.iter().any(|cable| cable.ends.contains(&nic))
        };
        let nics = self.host_of(host).nics.iter().enumerate().filter(|(index, _)| is_cabled(*index));
        nics.filter_map(|(_, nic)| Some((nic.name.as_str(), nic.delay.or(of_host)?))).collect()
    }

    /// A host by its id.
    pub fn host_of(&self, id: HostId) -> &Host {
        &self.hosts[id.0]
    }

    /// A NIC by its id.
    pub fn nic_of(&self, id: NicId) -> &Nic {
        &self.hosts[id.host.0].nics[id.index]
    }

    /// A switch by its id.
    pub fn switch_of(&self, id: SwitchId) -> &Switch {
        &self.switches[id.0]
    }

    /// A cable by its id.
    pub fn cable_of(&self, id: CableId) -> &Cable {
        &self.cables[id.0]
    }

    /// A NIC's name, as `n1:eth1`.
    pub fn nic_name(&self, id: NicId) -> String {
        let host = self.host_of(id.host);
        format!("{}:{}", host.name, host.nics[id.index].name)
    }

    /// A cable end's name, as `n1:eth1` or `sw1:3`.
    pub fn end_name(&self, end: End) -> String {
        match end {
            End::Nic(nic) => self.nic_name(nic),
            End::Port { switch, port } => format!("{}:{port}", self.switch_of(switch).name),
        }
    }

    /// What the cable in an end leads to; `None`: there is no cable.
    pub fn other_end(&self, end: End) -> Option<End> {
        let ends = self.cable_of(self.cable_at(end)?).ends;
        ends.into_iter().find(|other| *other != end)
    }

    /// The cable that is plugged into an end.
    pub fn cable_at(&self, end: End) -> Option<CableId> {
        self.cables.iter().position(|cable| cable.ends.contains(&end)).map(CableId)
    }

    /// All NICs, host after host in the order of the file.
    pub fn nics(&self) -> impl Iterator<Item = NicId> {
        self.hosts.iter().enumerate().flat_map(|(host, nics)| {
            (0..nics.nics.len()).map(move |index| NicId { host: HostId(host), index })
        })
    }

    /// The NICs with IP that share a cable or connected switches: frames pass between them without a host.
    pub fn segments(&self) -> Vec<Vec<NicId>> {
        Fabric::new(self).segments
    }

    /// The host's address on the management network of a lab: [`LAB_MANAGEMENT`] plus the host's number.
    pub fn lab_management(&self, host: HostId) -> Ipv4Addr {
        // Parsing and generating keep clusters far below the size of the network. For clusters that are made
        // by hand the remainder keeps the address inside of it.
        let number = (host.0 as u64 + 1) % LAB_MANAGEMENT.size();
        Ipv4Addr::from_bits(LAB_MANAGEMENT.address.to_bits() | number as u32)
    }
    /// The cluster with a MAC address for every NIC: those of the file, and locally administered ones for the
    /// rest: `02:54`, two bytes of host number, two bytes of NIC number, both from 1. Where the file has that
    /// address already, the next free one is taken.
    #[must_use]
    pub fn with_lab_macs(&self) -> Cluster {
        lab_macs::with_lab_macs(self)
    }

    /// How ssh reaches a host: at its `management` address, or else at its name, with the host's own options,
    /// and those of the cluster for what these leave open.
    pub fn ssh_target(&self, host: HostId) -> SshTarget<'_> {
        let host = self.host_of(host);
        let management = host.management.as_ref();
        SshTarget {
            address: management.map_or(host.name.as_str(), SshAddress::address),
            user: management
                .and_then(SshAddress::user)
                .or_else(|| host.ssh.user.as_ref().or(self.ssh.user.as_ref()).map(SshUser::as_str)),
            port: host.ssh.port.or(self.ssh.port),
            jump: host.ssh.jump.as_ref().or(self.ssh.jump.as_ref()).map(SshJump::as_str),
        }
    }
}
