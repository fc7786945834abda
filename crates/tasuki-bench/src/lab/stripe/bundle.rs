//! What the NICs of a host are to be like for a measurement: worked out here, made so inside of the host by
//! [`super::set_up_bundle`].
//!
//! Bonding is emulated by the same eBPF program with another destination table. The paper's scheme writes
//! each partner's own address into what a NIC sends; bonding as the paper describes it has the address of one
//! NIC in every line of the table, and the kernel's balance-rr gives all NICs of a host one address, so that
//! there is nothing to write. All of them take one NIC after the other, frame by frame.

use crate::{BenchError, lab::Testbed, stripe::Spreading};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, net::Ipv4Addr, thread, time::Duration};
use tasuki_cluster::{AddressPlan, Cluster, HostId, MacAddr, Rail, Rate, StripePlan, StripePolicy, Striping};
use tasuki_process::run_limited;

/// Longest time to set up a host.
const SETUP_LIMIT: Duration = Duration::from_secs(20);

/// What a host is to be like.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Bundle {
    pub nics: Vec<Nic>,
    /// NIC, address and MAC address of each neighbour.
    pub neighbours: Vec<(String, Ipv4Addr, MacAddr)>,
    /// The table of the striping program; `None`: nothing is striped.
    pub striping: Option<StripePlan>,
    /// Addresses that are told to the other side of a connection of Multipath TCP, with their NICs.
    pub announced: Vec<(String, Ipv4Addr)>,
    /// The processor that receives what comes in; `None`: the one that sent it.
    pub processor: Option<usize>,
}

/// What a NIC of the host is to be like.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Nic {
    pub interface: String,
    pub mac: MacAddr,
    /// Interrupt delay, us, 0 for none; `None`: as it is.
    pub delay_us: Option<u32>,
}

/// What to make of the hosts of a network.
#[derive(Clone, Copy, Debug)]
pub(in crate::lab) struct Wanted {
    /// How the stream is spread.
    pub spreading: Spreading,
    /// It is spread over the first so many NICs.
    pub nics: usize,
    /// Frames that go to one NIC at once; `None`: as striping chooses. Bonding takes one.
    pub granularity: Option<u32>,
    /// Interrupt delay of all NICs, us, 0 for none; `None`: as it is.
    pub delay_us: Option<u32>,
}

impl Bundle {
    /// What one host of a network is to be like. `processor`: the one that receives what comes in; `None`:
    /// the one that sent it.
    fn of(
        network: &Testbed,
        host: usize,
        wanted: Wanted,
        processor: Option<usize>,
    ) -> Result<Self, BenchError> {
        let cluster = &network.cluster;
        let addresses = match wanted.spreading {
            Spreading::BondOneMac => bonded_addresses(cluster),
            _ => BTreeMap::new(),
        };
        let shown = |mac: MacAddr| addresses.get(&mac).copied().unwrap_or(mac);
        let nics = cluster.hosts[host].nics.iter().map(|nic| {
            let mac =
                nic.mac.ok_or_else(|| BenchError::refused(format!("{} has no MAC address", nic.name)))?;
            Ok(Nic { interface: nic.name.clone(), mac: shown(mac), delay_us: wanted.delay_us })
        });
        let own = &network.plan.hosts[host];
        let neighbours = own.neighbours.iter();
        let neighbours = neighbours.map(|it| (it.interface.clone(), it.address, shown(it.mac)));
        let mut striping =
            striping(cluster, network.lab_options().and_then(|options| options.rate), host, wanted)?;
        for slot in striping.iter_mut().flat_map(|plan| &mut plan.peers).flat_map(|peer| &mut peer.slots) {
            slot.mac = slot.mac.map(shown);
        }
        let links = own.links.iter().take(wanted.nics).skip(1);
        let links = links.map(|link| (link.interface.clone(), link.address));
        Ok(Self {
            nics: nics.collect::<Result<_, BenchError>>()?,
            neighbours: neighbours.collect(),
            striping,
            announced: links.filter(|_| wanted.spreading == Spreading::Mptcp).collect(),
            processor,
        })
    }
}

/// By each NIC's own address the one that it has under bonding: that of the first NIC of its bundle. A bundle
/// is what leads to the same host: all NICs on a switch, or the cables between two hosts.
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
) -> Result<Option<StripePlan>, BenchError> {
    let policy = match wanted.spreading {
        Spreading::One | Spreading::Mptcp => return Ok(None),
        Spreading::ShortestDelay => StripePolicy::ShortestDelay,
        Spreading::ByteWeighted => StripePolicy::ByteWeighted,
        Spreading::FlowHash => StripePolicy::FlowHash,
        Spreading::RoundRobin | Spreading::BondFixed | Spreading::BondOneMac => StripePolicy::RoundRobin,
    };
    let is_bonding = matches!(wanted.spreading, Spreading::BondFixed | Spreading::BondOneMac);
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
    if wanted.spreading == Spreading::BondFixed {
        for peer in plan.iter_mut().flat_map(|plan| &mut plan.peers) {
            let first = peer.slots.first().and_then(|slot| slot.mac);
            peer.slots.iter_mut().for_each(|slot| slot.mac = first);
        }
    }
    Ok(plan)
}

/// Makes all hosts of a network so. `processor`: by host, which processor receives what comes to it; `None`:
/// the one that sent it.
pub(in crate::lab) fn set_up_bundles(
    network: &Testbed,
    wanted: Wanted,
    processor: impl Fn(usize) -> Option<usize> + Sync,
) -> Result<(), BenchError> {
    let set_up = |host: usize| {
        let bundle = Bundle::of(network, host, wanted, processor(host))?;
        let words = ["bundle-here".to_owned(), serde_json::to_string(&bundle)?];
        let output = run_limited(&mut network.tasuki(HostId(host), words), SETUP_LIMIT)?;
        if output.is_success() {
            return Ok(());
        }
        let name = &network.cluster.hosts[host].name;
        let (reason, said) = (output.reason(), output.stderr_tail(3));
        Err(BenchError::refused(format!("bundle-here in {name}: {reason}: {said}")))
    };
    let set_up = &set_up;
    thread::scope(|scope| {
        let hosts = 0..network.cluster.hosts.len();
        let threads: Vec<_> = hosts.map(|host| scope.spawn(move || set_up(host))).collect();
        let ended = || Err(BenchError::refused("a thread that sets a host up ended"));
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| ended()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_cluster::generate::{Options, Shape, generate};

    /// Addresses that the first host writes into frames to the second, over the first three of four NICs.
    fn table(cluster: &Cluster, spreading: Spreading) -> Option<(Vec<MacAddr>, u32)> {
        let wanted = Wanted { spreading, nics: 3, granularity: Some(7), delay_us: None };
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
            let cluster = generate(&shape, &options).expect("a cluster").with_lab_macs();
            let partners: Vec<_> =
                cluster.hosts[1].nics.iter().map(|nic| nic.mac.expect("an address")).collect();
            assert_eq!(table(&cluster, Spreading::RoundRobin), Some((partners[..3].to_vec(), 7)));
            assert_eq!(table(&cluster, Spreading::BondFixed), Some((vec![partners[0]; 3], 1)));
            assert_eq!(table(&cluster, Spreading::One), None);
        }
    }

    /// Four hosts with two cables between any two: a bundle is a pair of NICs, and the host at its other end
    /// sees the same bundle.
    #[test]
    fn under_bonding_the_nics_to_a_host_have_the_address_of_the_first() {
        let options = Options { nics_per_cable: 2, ..Options::default() };
        let cluster = generate(&Shape::Full { hosts: 4 }, &options);
        let cluster = cluster.expect("a cluster").with_lab_macs();
        let shown = bonded_addresses(&cluster);
        assert_eq!(shown.len(), 4 * 6);
        for host in &cluster.hosts {
            let own: Vec<_> = host.nics.iter().map(|nic| nic.mac.expect("an address")).collect();
            // NICs come in the order of the cables: eth1 and eth2 lead to the same host, eth3 and eth4 to the
            // next.
            let expected = [own[0], own[0], own[2], own[2], own[4], own[4]];
            assert_eq!(own.iter().map(|mac| shown[mac]).collect::<Vec<_>>(), expected);
        }
        let options = Options { nics_per_cable: 4, ..Options::default() };
        let switch = generate(&Shape::Star { hosts: 3 }, &options);
        let switch = switch.expect("a cluster").with_lab_macs();
        let distinct: std::collections::BTreeSet<_> = bonded_addresses(&switch).into_values().collect();
        assert_eq!(distinct.len(), 3, "on a switch a host has one");
    }
}
