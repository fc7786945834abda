//! Building a lab: hosts, then cables, then every host's configuration.

use super::{
    fabric::Fabric,
    host::{self, LabHost},
    mounts,
    outcome::{Outcome, while_doing},
    server::Server,
};
use crate::{HOST_SOCKET, LabOptions, MANAGEMENT_INTERFACE, protocol::StartMessage};
use nix::{
    sched::{CloneFlags, unshare},
    sys::socket::{AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, listen, socket},
};
use std::{
    net::Ipv4Addr,
    os::fd::{AsRawFd, OwnedFd},
    path::Path,
};
use tasuki_cluster::{AddressPlan, Cluster, HostId, RailTable};
use tasuki_sys::{netlink::Netlink, netns};

type Report<'a> = &'a mut dyn FnMut(usize, usize, &str);

/// Builds the lab that the message asks for. Returns the server of the lab.
pub fn build(message: StartMessage, listener: OwnedFd, report: Report) -> Outcome<Server> {
    let cluster = Cluster::parse(&message.cluster, message.source.as_deref())
        .map_err(while_doing("the cluster"))?
        .with_lab_macs();
    let mut plan = AddressPlan::new(&cluster).map_err(while_doing("the address plan"))?;
    if let Some(rate) = message.options.rate {
        for host in &mut plan.hosts {
            host.striping = host.striping.take().map(|striping| striping.with_rate(&cluster, rate));
        }
    }
    unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWIPC)
        .map_err(while_doing("unshare"))?;
    let rails = RailTable::of_all(&cluster, &plan, message.options.rate);
    let names = |(number, host): (usize, &tasuki_cluster::Host)| {
        (host.name.clone(), plan.etc_hosts(&cluster, HostId(number)))
    };
    let names: Vec<_> = cluster.hosts.iter().enumerate().map(names).collect();
    mounts::set_up_lab(&message.cluster, &names, &rails)?;
    let inner = listen_inside()?;

    let total = 2 * cluster.hosts.len() + cluster.cables.len();
    let mut done = 0;
    let mut step = |what: &str| {
        report(done, total, what);
        done += 1;
    };
    let mut hosts = Vec::new();
    for host in &cluster.hosts {
        step(&host.name);
        hosts.push(host::start(&host.name, message.options.bare)?);
    }
    let mut fabric = Fabric::new(&cluster, &message.options)?;
    fabric.add_management(&hosts, MANAGEMENT_INTERFACE)?;
    for cable in &cluster.cables {
        let [a, b] = cable.ends.map(|end| cluster.end_name(end));
        step(&format!("{a} - {b}"));
        fabric.add_cable(&cluster, &hosts, &message.options)?;
    }
    for (number, host) in hosts.iter().enumerate() {
        step(&format!("addresses of {}", cluster.hosts[number].name));
        let configure = if message.options.bare { leave_bare } else { configure };
        netns::within(host.network(), || configure(&cluster, &plan, number, &message.options))
            .map_err(while_doing("enter a host's network"))??;
    }
    Ok(Server::new(message, cluster, plan, hosts, fabric, [listener, inner]))
}

/// Configures one host, in its network namespace.
fn configure(cluster: &Cluster, plan: &AddressPlan, number: usize, options: &LabOptions) -> Outcome<()> {
    let host = &plan.hosts[number];
    let management = cluster.lab_management(HostId(number));
    set_up_management(management).map_err(while_doing(&host.host))?;
    tasuki_host::apply(host).map_err(|error| error.to_string())?;
    if !options.offloads {
        for (interface, _) in host.cabled() {
            tasuki_host::set_offloads(&host.host, interface, false).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

/// Leaves a host as an installed system is before Tasuki comes: its NICs are up, and nothing else is set.
fn leave_bare(cluster: &Cluster, plan: &AddressPlan, number: usize, _: &LabOptions) -> Outcome<()> {
    let host = &plan.hosts[number];
    let up = || {
        set_up_management(cluster.lab_management(HostId(number)))?;
        let mut netlink = Netlink::open()?;
        for (interface, _) in host.cabled() {
            let index = netlink.link(interface)?.index;
            netlink.set_up(index, true)?;
        }
        Ok::<_, Box<dyn std::error::Error>>(())
    };
    up().map_err(while_doing(&host.host))
}

/// Sets up what a real machine has before Tasuki comes: a loopback interface, and the interface by which one
/// logs in.
fn set_up_management(address: Ipv4Addr) -> Result<(), Box<dyn std::error::Error>> {
    let mut netlink = Netlink::open()?;
    for (name, address) in [("lo", None), (MANAGEMENT_INTERFACE, Some(address))] {
        let index = netlink.link(name)?.index;
        if let Some(address) = address {
            netlink.add_address(index, address, tasuki_cluster::LAB_MANAGEMENT.prefix)?;
        }
        netlink.set_up(index, true)?;
    }
    Ok(())
}

/// Makes the socket by which processes inside hosts reach `lab-init`. Only root can use it.
fn listen_inside() -> Outcome<OwnedFd> {
    let name = Path::new(HOST_SOCKET).file_name().ok_or("the socket has no name")?;
    let path = Path::new(mounts::LAB_FOLDER).join(name);
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let fail = || while_doing::<nix::Error>("make the hosts' socket");
    let listener = socket(AddressFamily::Unix, SockType::SeqPacket, flags, None).map_err(fail())?;
    let address = UnixAddr::new(&path).map_err(fail())?;
    bind(listener.as_raw_fd(), &address).map_err(fail())?;
    listen(&listener, Backlog::MAXCONN).map_err(fail())?;
    Ok(listener)
}

/// The number of a host, by its name or one of its addresses.
pub fn host_number(cluster: &Cluster, plan: &AddressPlan, hosts: &[LabHost], name: &str) -> Option<usize> {
    let matches = |&number: &usize| {
        let address = name.parse::<Ipv4Addr>().ok();
        cluster.hosts[number].name == name
            || address.is_some_and(|address| {
                address == plan.hosts[number].identity
                    || address == cluster.lab_management(HostId(number))
                    || plan.hosts[number].links.iter().any(|link| link.address == address)
            })
    };
    (0..hosts.len()).find(matches)
}
