//! Setting striping up and taking it away.

use crate::{
    StripeError,
    attached::{self, PRIORITY},
    error::doing,
    layout,
};
use aya::{
    Ebpf, EbpfLoader, Pod,
    maps::{Array, HashMap},
    programs::SchedClassifier,
};
use std::os::fd::AsFd;
use tasuki_cluster::{IDENTITY_INTERFACE, STRIPE_MAX, StripePlan};
use tasuki_sys::netlink::{Link, Netlink};

/// The object that the build script compiles from `bpf/stripe.bpf.c`.
static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/stripe.bpf.o"));
/// Name of the classifier in the object.
const PROGRAM: &str = "tasuki_stripe";

/// Has a host stripe as planned, in the place of what an earlier call set up. `sum` identifies the plan for
/// [`attached::find`]. Every NIC of the plan must have a clsact. No packet is lost: a NIC's program is
/// replaced in one step.
pub fn install(netlink: &mut Netlink, plan: &StripePlan, sum: u32) -> Result<(), StripeError> {
    let links = netlink.links()?;
    let mut ebpf = load(plan, &links)?;
    let program = ebpf.program_mut(PROGRAM).ok_or_else(missing)?;
    let program: &mut SchedClassifier = program.try_into().map_err(doing("find the program"))?;
    program.load().map_err(doing("load the program"))?;
    let descriptor = program.fd().map_err(doing("use the program"))?.as_fd();
    let name = attached::name(sum, plan.nics.len());
    let mut used = Vec::new();
    for nic in &plan.nics {
        let index = link(&links, &nic.interface)?.index;
        netlink.attach_egress(index, PRIORITY, descriptor, &name)?;
        used.push(index);
    }
    for (index, _) in attached::all(netlink)?.into_iter().filter(|(index, _)| !used.contains(index)) {
        netlink.detach_egress(index, PRIORITY)?;
    }
    Ok(())
}

/// Ends striping on all NICs.
pub fn remove(netlink: &mut Netlink) -> Result<(), StripeError> {
    for (index, _) in attached::all(netlink)? {
        netlink.detach_egress(index, PRIORITY)?;
    }
    Ok(())
}

fn missing() -> StripeError {
    StripeError::Program { doing: "find a part of the program", why: "it is not in the object".into() }
}

fn link<'a>(links: &'a [Link], interface: &str) -> Result<&'a Link, StripeError> {
    let found = links.iter().find(|link| link.name == interface);
    found.ok_or_else(|| StripeError::Interface { interface: interface.into(), what: "is not there" })
}

/// The program with its tables filled.
fn load(plan: &StripePlan, links: &[Link]) -> Result<Ebpf, StripeError> {
    let peers = plan.peers.len().max(1) as u32;
    let macs = plan.peers.iter().map(|peer| peer.slots.len()).sum::<usize>().max(1) as u32;
    let mut ebpf = EbpfLoader::new()
        .map_max_entries("peers", peers)
        .map_max_entries("identities", peers)
        .map_max_entries("verdicts", peers)
        // A NIC that was exchanged has a new address before its old one is forgotten, so there are more
        // addresses than NICs.
        .map_max_entries("macs", macs * 4)
        .load(OBJECT)
        .map_err(doing("load the tables"))?;
    // The mark is the host's number in the range of identities, which differs between the hosts of a lab. It
    // is never 0.
    let mark = (plan.identity.to_bits() as u16).max(1);
    let asks = link(links, IDENTITY_INTERFACE)?.index;
    set(&mut ebpf, "settings", 0, layout::config(plan.policy, mark, asks))?;
    let mut bundle: layout::Bundle = [[0; 32]; STRIPE_MAX];
    for ((number, nic), place) in (0_u32..).zip(&plan.nics).zip(&mut bundle) {
        let found = link(links, &nic.interface)?;
        let no_mac =
            || StripeError::Interface { interface: nic.interface.clone(), what: "has no MAC address" };
        *place = layout::nic(found.index, found.mac.ok_or_else(no_mac)?, nic.rate);
        insert(&mut ebpf, "numbers", found.index, number)?;
    }
    set(&mut ebpf, "nics", 0, bundle)?;
    for (number, peer) in (0..).zip(&plan.peers) {
        let slots = peer.slots.iter().map(|slot| layout::slot(slot.nic, slot.remote, slot.mac, slot.rate));
        set(&mut ebpf, "peers", number, layout::peer(&slots.collect::<Vec<_>>()))?;
        insert(&mut ebpf, "identities", peer.identity.octets(), number)?;
        for mac in peer.slots.iter().filter_map(|slot| slot.mac) {
            insert(&mut ebpf, "macs", layout::mac(mac), number)?;
        }
    }
    Ok(ebpf)
}

fn set<T: Pod>(ebpf: &mut Ebpf, table: &'static str, number: u32, value: T) -> Result<(), StripeError> {
    let table = ebpf.map_mut(table).ok_or_else(missing)?;
    let mut table: Array<_, T> = table.try_into().map_err(doing("use a table"))?;
    table.set(number, value, 0).map_err(doing("fill a table"))
}

fn insert<K: Pod, V: Pod>(ebpf: &mut Ebpf, table: &'static str, key: K, value: V) -> Result<(), StripeError> {
    let table = ebpf.map_mut(table).ok_or_else(missing)?;
    let mut table: HashMap<_, K, V> = table.try_into().map_err(doing("use a table"))?;
    table.insert(key, value, 0).map_err(doing("fill a table"))
}
