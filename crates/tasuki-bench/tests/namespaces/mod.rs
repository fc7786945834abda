//! Two network namespaces joined by a cable; the kernel removes them with their descriptors.

use nix::sched::{CloneFlags, unshare};
use std::{error::Error, fs::File, net::Ipv4Addr, os::fd::AsFd, thread};
use tasuki_sys::{
    netlink::{Netlink, VethEnd},
    netns::within,
};

pub type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// One host.
pub struct End {
    pub namespace: File,
    /// Address of its interface `e0`.
    pub address: Ipv4Addr,
}

pub struct Cable {
    pub ends: [End; 2],
}

/// `None`, with a message, if we are not root.
pub fn cable(mtu: u32) -> Outcome<Option<Cable>> {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: needs root to make network namespaces");
        return Ok(None);
    }
    let end = |last| -> Outcome<End> {
        Ok(End { namespace: namespace()?, address: Ipv4Addr::new(10, 8, 0, last) })
    };
    let cable = Cable { ends: [end(1)?, end(2)?] };
    let [a, b] = &cable.ends;
    connect(a, b, "e0", mtu, [a.address, b.address])?;
    Ok(Some(cable))
}

/// A second cable between the same hosts.
pub fn join(a: &End, b: &End, name: &str, addresses: [[u8; 4]; 2]) -> Outcome<[Ipv4Addr; 2]> {
    let addresses = addresses.map(Ipv4Addr::from);
    connect(a, b, name, 1500, addresses)?;
    Ok(addresses)
}

fn connect(a: &End, b: &End, name: &str, mtu: u32, addresses: [Ipv4Addr; 2]) -> Outcome {
    let end = |end: &'_ End| -> Outcome<File> { Ok(end.namespace.try_clone()?) };
    let (first, second) = (end(a)?, end(b)?);
    Netlink::open()?.add_veth(
        &VethEnd { name, mac: None, mtu, namespace: Some(first.as_fd()) },
        &VethEnd { name, mac: None, mtu, namespace: Some(second.as_fd()) },
    )?;
    for (namespace, address) in [first, second].iter().zip(addresses) {
        within(namespace.as_fd(), || -> Outcome {
            let mut netlink = Netlink::open()?;
            let index = netlink.link(name)?.index;
            netlink.add_address(index, address, 24)?;
            Ok(netlink.set_up(index, true)?)
        })??;
    }
    Ok(())
}

fn namespace() -> Outcome<File> {
    let maker = thread::spawn(|| {
        unshare(CloneFlags::CLONE_NEWNET)?;
        File::open("/proc/thread-self/ns/net")
    });
    Ok(maker.join().map_err(|_| "the thread panicked")??)
}
