//! The rails of a cluster as ways over its cables.

use tasuki_cluster::{Cluster, End, HostId, Rail};
use tasuki_sim::ETHERNET_OVERHEAD;
use tasuki_sim::fabric::Settings;
use tasuki_sim::fabric::trace::{Cables, Path};

/// Bytes of a packet that are headers of IPv4, of UDP, and of Tasuki.
const HEADERS: u32 = 20 + 8 + 32;
/// Least payload of a packet, bytes, whatever the MTU.
const LEAST: u32 = 64;

/// Where a way has come to: a host or a switch, by its number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Host(usize),
    Switch(usize),
}

fn place(end: End) -> Place {
    match end {
        End::Nic(nic) => Place::Host(nic.host.0),
        End::Port { switch, .. } => Place::Switch(switch.0),
    }
}

/// The cables of a cluster with the ways that its rails are, and the payload of the largest packet that all
/// rails carry, bytes. A routed rail is the same way in both directions.
pub(super) fn cables(cluster: &Cluster) -> (Cables, u32) {
    let settings = Settings::ethernet();
    let hosts = cluster.hosts.len();
    let mut paths = vec![Vec::new(); hosts * hosts];
    let mut mtu = u32::MAX;
    for ((a, b), rails) in cluster.all_rails() {
        mtu = rails.iter().map(|rail| rail.mtu).fold(mtu, u32::min);
        let there: Vec<Path> = rails.iter().filter_map(|rail| path(cluster, a, rail, &settings)).collect();
        paths[b.0 * hosts + a.0] = there.iter().map(back).collect();
        paths[a.0 * hosts + b.0] = there;
    }
    let rate = |end: End| match end {
        End::Nic(nic) => cluster.nic_of(nic).rate.bits_per_second,
        End::Port { switch, .. } => cluster.switch_of(switch).rate.bits_per_second,
    };
    let of_cable = |ends: [End; 2]| rate(ends[0]).min(rate(ends[1]));
    let rates = cluster.cables.iter().flat_map(|cable| [of_cable(cable.ends); 2]).collect();
    let overhead = ETHERNET_OVERHEAD as u32 + HEADERS;
    let cables = Cables { rates, paths, hosts, cable_ps: settings.cable_ps, overhead };
    (cables, mtu.saturating_sub(HEADERS).max(LEAST))
}

/// The way of a rail that begins at a host; `None` if its cables do not follow each other.
fn path(cluster: &Cluster, from: HostId, rail: &Rail, settings: &Settings) -> Option<Path> {
    let mut here = Place::Host(from.0);
    let (mut channels, mut pauses) = (Vec::new(), Vec::new());
    for &cable in &rail.cables {
        if !channels.is_empty() {
            let relays = matches!(here, Place::Host(_));
            pauses.push(if relays { settings.relay_ps } else { settings.switch_ps });
        }
        let ends = cluster.cable_of(cable).ends.map(place);
        let against = ends.iter().position(|&end| end == here)?;
        here = ends[1 - against];
        channels.push((2 * cable.0 + against) as u32);
    }
    Some(Path { channels, pauses })
}

/// The way back.
fn back(path: &Path) -> Path {
    Path {
        channels: path.channels.iter().rev().map(|channel| channel ^ 1).collect(),
        pauses: path.pauses.iter().rev().copied().collect(),
    }
}
