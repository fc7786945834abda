//! What one host's NICs are to be like for a measurement: worked out here, made so by this program inside of the host.
//!
//! Bonding is emulated by the same eBPF program with another destination table. The paper's scheme writes each partner's own address
//! into what a NIC sends; bonding as the paper describes it has the address of one NIC in every line of the table, and the kernel's
//! balance-rr gives all NICs of a host one address, so that there is nothing to write. All of them take one NIC after the other, frame by
//! frame.

use crate::{bench::LabNetwork, failure::Failure};
use nix::sys::socket::{setsockopt, sockopt::BindToDevice};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    net::{Ipv4Addr, UdpSocket},
    process::{Command, ExitCode, Stdio},
    thread,
    time::Duration,
};
use tasuki_bench::stripe::Way;
use tasuki_cluster::{AddressPlan, Cluster, HostId, MacAddr, Rail, Rate, StripePlan, StripePolicy, Striping};
use tasuki_sys::{
    ethtool::Ethtool,
    netlink::{Netlink, NetlinkError},
};

/// `GSO_MAX_SEGS`: what an interface has that nobody has touched (include/linux/netdevice.h).
const PIECES_UNTOUCHED: u32 = 65_535;
/// Paths of one connection that Multipath TCP allows at most (`MPTCP_PM_ADDR_MAX`).
const MPTCP_PATHS: &str = "8";

/// What a host is to be like.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bundle {
    nics: Vec<Nic>,
    neighbours: Vec<(String, Ipv4Addr, MacAddr)>,
    striping: Option<StripePlan>,
    /// Addresses that are told to the other side of a connection of Multipath TCP, with their NICs.
    announced: Vec<(String, Ipv4Addr)>,
    /// The processor that receives what comes in; `None`: the one that sent it.
    core: Option<usize>,
}

/// What an own NIC is to be like.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Nic {
    interface: String,
    mac: MacAddr,
    /// Interrupt delay, us, 0 for none; `None`: as it is.
    delay_us: Option<u32>,
}

/// What to make of two hosts.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// How the stream is spread.
    pub way: Way,
    /// Over the first so many NICs.
    pub nics: usize,
    /// Frames that go to one NIC at once; `None`: as striping chooses. Bonding takes one.
    pub granularity: Option<u32>,
    /// Interrupt delay of all NICs, us, 0 for none; `None`: as it is.
    pub delay_us: Option<u32>,
}

impl Bundle {
    /// For one host of a network.
    pub fn of(
        network: &LabNetwork,
        host: usize,
        wanted: Wanted,
        core: Option<usize>,
    ) -> Result<Self, Failure> {
        let cluster = &network.cluster;
        let addresses = match wanted.way {
            Way::BondOneMac => bonded_addresses(cluster),
            _ => BTreeMap::new(),
        };
        let shown = |mac: MacAddr| addresses.get(&mac).copied().unwrap_or(mac);
        let nics = cluster.hosts[host].nics.iter().map(|nic| {
            let mac = nic.mac.ok_or_else(|| Failure::new(format!("{} has no MAC address", nic.name)))?;
            Ok(Nic { interface: nic.name.clone(), mac: shown(mac), delay_us: wanted.delay_us })
        });
        let own = &network.plan.hosts[host];
        let neighbours = own.neighbours.iter();
        let neighbours = neighbours.map(|it| (it.interface.clone(), it.address, shown(it.mac)));
        let mut striping = striping(cluster, network.options.rate, host, wanted)?;
        for slot in striping.iter_mut().flat_map(|plan| &mut plan.peers).flat_map(|peer| &mut peer.slots) {
            slot.mac = slot.mac.map(shown);
        }
        let links = own.links.iter().take(wanted.nics).skip(1);
        let links = links.map(|link| (link.interface.clone(), link.address));
        Ok(Self {
            nics: nics.collect::<Result<_, Failure>>()?,
            neighbours: neighbours.collect(),
            striping,
            announced: links.filter(|_| wanted.way == Way::Mptcp).collect(),
            core,
        })
    }
}

/// The address that each NIC has under bonding, by its own: that of the first NIC of its bundle. A bundle is what leads to the same host: all
/// NICs on a switch, or the cables between two hosts.
fn bonded_addresses(cluster: &Cluster) -> BTreeMap<MacAddr, MacAddr> {
    let mut addresses = BTreeMap::new();
    let hosts = || (0..cluster.hosts.len()).map(HostId);
    for (own, other) in hosts().flat_map(|own| hosts().map(move |other| (own, other))) {
        let direct = cluster.rails(own, other).into_iter().filter(Rail::is_direct);
        let mut bundle: Vec<_> = direct.map(|rail| rail.nics[0]).collect();
        bundle.sort_unstable();
        let macs: Vec<MacAddr> = bundle.iter().filter_map(|&nic| cluster.nic_of(nic).mac).collect();
        addresses.extend(macs.iter().map(|mac| (*mac, macs[0])));
    }
    addresses
}

/// The destination table of a host; `None` where nothing is striped.
fn striping(
    cluster: &Cluster,
    rate: Option<Rate>,
    host: usize,
    wanted: Wanted,
) -> Result<Option<StripePlan>, Failure> {
    let policy = match wanted.way {
        Way::One | Way::Mptcp => return Ok(None),
        Way::ShortestDelay => StripePolicy::ShortestDelay,
        Way::ByteWeighted => StripePolicy::ByteWeighted,
        Way::FlowHash => StripePolicy::FlowHash,
        Way::RoundRobin | Way::BondFixed | Way::BondOneMac => StripePolicy::RoundRobin,
    };
    let is_bonding = matches!(wanted.way, Way::BondFixed | Way::BondOneMac);
    let mut cluster = cluster.clone();
    let names = cluster.hosts[host].nics.iter().take(wanted.nics).map(|nic| nic.name.clone());
    cluster.striping = Some(Striping {
        policy,
        granularity: if is_bonding { Some(1) } else { wanted.granularity },
        nics: names.collect(),
        except: Vec::new(),
    });
    let mut plan = AddressPlan::new(&cluster)?.hosts.swap_remove(host).striping;
    if let Some(rate) = rate {
        plan = plan.map(|plan| plan.with_rate(&cluster, rate));
    }
    if wanted.way == Way::BondFixed {
        for peer in plan.iter_mut().flat_map(|plan| &mut plan.peers) {
            let first = peer.slots.first().and_then(|slot| slot.mac);
            peer.slots.iter_mut().for_each(|slot| slot.mac = first);
        }
    }
    Ok(plan)
}

/// The internal command: makes this host so.
pub fn set_up(specification: &str) -> Result<ExitCode, Failure> {
    let bundle: Bundle = serde_json::from_str(specification)?;
    let mut netlink = Netlink::open()?;
    tasuki_stripe::remove(&mut netlink)?;
    let pieces = bundle.striping.as_ref().map_or(PIECES_UNTOUCHED, |plan| plan.granularity);
    for nic in &bundle.nics {
        let link = netlink.link(&nic.interface)?;
        if link.mac != Some(nic.mac.0) {
            netlink.set_mac(link.index, nic.mac.0)?;
        }
        netlink.set_gso_max_segs(link.index, pieces)?;
        receive_on(&nic.interface, bundle.core)?;
        nic.delay_us.map_or(Ok(()), |delay_us| delay(&nic.interface, delay_us))?;
    }
    // Changed addresses have made the kernel forget these.
    for (interface, address, mac) in &bundle.neighbours {
        let index = netlink.link(interface)?.index;
        netlink.set_neighbour(index, *address, mac.0)?;
    }
    for _ in 0..2 {
        bundle.nics.iter().try_for_each(|nic| speak(&nic.interface))?;
        // What an earlier measurement has left in queues, with other addresses, passes in between.
        thread::sleep(SETTLE);
    }
    announce(&bundle.announced)?;
    if let Some(plan) = &bundle.striping {
        for nic in &plan.nics {
            let index = netlink.link(&nic.interface)?.index;
            netlink.add_clsact(index).or_else(|error| passed_over(error, NetlinkError::is_exists))?;
        }
        tasuki_stripe::install(&mut netlink, plan, 0)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn passed_over(error: NetlinkError, is_harmless: fn(&NetlinkError) -> bool) -> Result<(), NetlinkError> {
    if is_harmless(&error) { Ok(()) } else { Err(error) }
}

/// Has a processor receive what comes in by an interface (Documentation/networking/scaling.rst): otherwise, in a lab, the one
/// that sent a frame would receive it as well.
fn receive_on(interface: &str, core: Option<usize>) -> Result<(), Failure> {
    // Groups of 32 processors, the highest first.
    let group = |number: usize| match core {
        Some(core) if core / 32 == number => format!("{:x}", 1u32 << (core % 32)),
        _ => "0".into(),
    };
    let groups: Vec<String> = (0..=core.unwrap_or(0) / 32).rev().map(group).collect();
    write(&format!("/sys/class/net/{interface}/queues/rx-0/rps_cpus"), &groups.join(","))
}

/// Sends a frame to everybody on a NIC's network (an empty datagram to the discard port), so that switches learn where its address
/// is: another NIC may have had it a moment ago, and what is sent to it would go there.
fn speak(interface: &str) -> Result<(), Failure> {
    let spoken = || {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        setsockopt(&socket, BindToDevice, &OsString::from(interface))?;
        socket.set_broadcast(true)?;
        socket.send_to(&[], (Ipv4Addr::BROADCAST, DISCARD))
    };
    spoken()
        .map(drop)
        .map_err(|error: io::Error| Failure::new(format!("cannot send by {interface}: {error}")))
}

/// Port of the discard protocol (RFC 863).
const DISCARD: u16 = 9;
const SETTLE: Duration = Duration::from_millis(50);

/// Delays receive interrupts as a NIC does. Virtual interfaces have no such setting, but the kernel can hold back the
/// look at what has come in (Documentation/networking/napi.rst), which an interface of this kind has with merging on.
fn delay(interface: &str, delay_us: u32) -> Result<(), Failure> {
    Ethtool::open(interface)?.set_features(|name| name == "rx-gro", true)?;
    let set =
        |name: &str, value: u32| write(&format!("/sys/class/net/{interface}/{name}"), &value.to_string());
    set("napi_defer_hard_irqs", if delay_us > 0 { DEFERRED_LOOKS } else { 0 })?;
    set("gro_flush_timeout", delay_us * 1000)
}

/// Looks that may find nothing before interrupts are on again. One bounds interrupts per second, as NICs do and as `tasuki tune` sets it: what
/// comes after a pause as long as the delay is looked at at once.
const DEFERRED_LOOKS: u32 = 1;

fn write(path: &str, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| Failure::new(format!("cannot write {path}: {error}")))
}

/// Sets up, or empties, what Multipath TCP tells the other side.
fn announce(addresses: &[(String, Ipv4Addr)]) -> Result<(), Failure> {
    if !fs::exists("/proc/sys/net/mptcp/enabled")? {
        return match addresses {
            [] => Ok(()),
            _ => {
                Err(Failure::new("this kernel has no Multipath TCP (net.mptcp.enabled): leave `mptcp` away"))
            }
        };
    }
    if addresses.is_empty() {
        return ip(&["mptcp", "endpoint", "flush"]);
    }
    ip(&["mptcp", "endpoint", "flush"])?;
    ip(&["mptcp", "limits", "set", "subflow", MPTCP_PATHS, "add_addr_accepted", MPTCP_PATHS])?;
    for (interface, address) in addresses {
        ip(&["mptcp", "endpoint", "add", &address.to_string(), "dev", interface, "signal"])?;
    }
    Ok(())
}

fn ip(words: &[&str]) -> Result<(), Failure> {
    let output = Command::new("ip").args(words).stdin(Stdio::null()).output();
    let output =
        output.map_err(|error| Failure::new(format!("cannot run ip (package iproute2): {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Failure::new(format!("ip {}: {}", words.join(" "), said.trim())))
}

/// Makes all hosts of a network so. `core`: which processor receives what comes to a host; none: the one that sent it.
pub fn make(
    network: &LabNetwork,
    wanted: Wanted,
    core: impl Fn(usize) -> Option<usize> + Sync,
) -> Result<(), Failure> {
    let made = tasuki_fleet::for_each_host(network.cluster.hosts.len(), |host| {
        let bundle = Bundle::of(network, host, wanted, core(host))?;
        super::inside(network, HostId(host), "bundle-here", &serde_json::to_string(&bundle)?)
    });
    made.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_cluster::generate::{Options, Shape};

    /// Addresses that the first host writes into frames to the second, over the first three of four NICs.
    fn table(cluster: &Cluster, way: Way) -> Option<(Vec<MacAddr>, u32)> {
        let wanted = Wanted { way, nics: 3, granularity: Some(7), delay_us: None };
        let plan = striping(cluster, None, 0, wanted).expect("a plan")?;
        // The program is on all NICs: a route may choose any of them.
        assert_eq!((plan.nics.len(), plan.peers.len()), (4, 1));
        let macs = plan.peers[0].slots.iter().map(|slot| slot.mac.expect("an address"));
        Some((macs.collect(), plan.granularity))
    }

    #[test]
    fn each_partner_has_its_own_address_and_bonding_has_one() {
        for (shape, nics_per_cable) in [(Shape::Pair { cables: 4 }, 1), (Shape::Star { hosts: 2 }, 4)] {
            let options = Options { nics_per_cable, ..Options::default() };
            let cluster =
                crate::shape::cluster(None, Some(&shape), &options).expect("a cluster").with_lab_macs();
            let partners: Vec<_> =
                cluster.hosts[1].nics.iter().map(|nic| nic.mac.expect("an address")).collect();
            assert_eq!(table(&cluster, Way::RoundRobin), Some((partners[..3].to_vec(), 7)));
            assert_eq!(table(&cluster, Way::BondFixed), Some((vec![partners[0]; 3], 1)));
            assert_eq!(table(&cluster, Way::One), None);
        }
    }

    /// Four hosts, two cables between any two: a bundle is a pair of NICs, and looks the same to the host at its other end.
    #[test]
    fn under_bonding_the_nics_to_a_host_have_the_address_of_the_first() {
        let options = Options { nics_per_cable: 2, ..Options::default() };
        let cluster = crate::shape::cluster(None, Some(&Shape::Full { hosts: 4 }), &options);
        let cluster = cluster.expect("a cluster").with_lab_macs();
        let shown = bonded_addresses(&cluster);
        assert_eq!(shown.len(), 4 * 6);
        for host in &cluster.hosts {
            let own: Vec<_> = host.nics.iter().map(|nic| nic.mac.expect("an address")).collect();
            // NICs come in the order of the cables: eth1 and eth2 lead to the same host, eth3 and eth4 to the next.
            let expected = [own[0], own[0], own[2], own[2], own[4], own[4]];
            assert_eq!(own.iter().map(|mac| shown[mac]).collect::<Vec<_>>(), expected);
        }
        let options = Options { nics_per_cable: 4, ..Options::default() };
        let switch = crate::shape::cluster(None, Some(&Shape::Star { hosts: 3 }), &options);
        let switch = switch.expect("a cluster").with_lab_macs();
        let distinct: std::collections::BTreeSet<_> = bonded_addresses(&switch).into_values().collect();
        assert_eq!(distinct.len(), 3, "on a switch a host has one");
    }
}
