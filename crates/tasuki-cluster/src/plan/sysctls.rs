//! The kernel settings of a host.

use super::host::{BarePlan, LinkPlan, SysctlPlan};

/// Settings for every cabled NIC.
const OF_LINKS: [(&str, &str); 6] = [
    // Routes over several NICs are asymmetric: a packet may arrive on another NIC than the one by which the
    // answer leaves.
    ("rp_filter", "0"),
    // A NIC answers only for its own address and asks only with it. Otherwise peers on a switch domain learn
    // the MAC address of a neighbouring NIC, and all traffic goes to that one.
    ("arp_ignore", "1"),
    ("arp_announce", "2"),
    // A next hop whose cable is unplugged leaves the multipath routes.
    ("ignore_routes_with_linkdown", "1"),
    // A relay whose route leads out of the NIC by which the packet came would tell the sender of a shorter
    // route, and a sender that listens would leave the plan.
    ("send_redirects", "0"),
    ("accept_redirects", "0"),
];

/// Settings for which the kernel uses the higher, or either, of `all` and the interface's own. `all` must not
/// override the interface.
const OF_ALL: [(&str, &str); 3] = [("rp_filter", "0"), ("send_redirects", "0"), ("accept_redirects", "0")];

/// The settings with one subnet per cable. There is only one route to each host, so the kernel's own settings
/// suffice. Forwarding is off, so that the only route to a host is the cable to it (cross-connection paper,
/// section 3.1).
pub(super) fn of_subnets(links: &[LinkPlan]) -> Vec<SysctlPlan> {
    let path = |link: &LinkPlan| format!("net/ipv4/conf/{}/forwarding", link.interface);
    links.iter().map(|link| SysctlPlan { path: path(link), value: "0".into() }).collect()
}

/// The settings of NICs without IP: they forward nothing, and answer for none of the host's addresses.
pub(super) fn of_bare(nics: &[BarePlan]) -> Vec<SysctlPlan> {
    let set = |nic: &BarePlan, (name, value): (&str, &str)| SysctlPlan {
        path: format!("net/ipv4/conf/{}/{name}", nic.interface),
        value: value.into(),
    };
    nics.iter()
        .flat_map(|nic| [("forwarding", "0"), ("arp_ignore", "1")].map(|setting| set(nic, setting)))
        .collect()
}

/// The settings in the order in which they are written. Whether a packet is forwarded depends on the setting
/// of the NIC by which it comes in. So `ip_forward`, which stands for all interfaces of the machine, is not
/// changed: a relay forwards what comes from the cluster's cables and nothing else.
pub(super) fn sysctls(links: &[LinkPlan], relays: bool) -> Vec<SysctlPlan> {
    let set = |path: String, value: &str| SysctlPlan { path, value: value.into() };
    let mut plan = vec![
        // Flows are spread over the next hops, and not destinations, so that the connections of two ranks
        // between the same hosts use two cables.
        set("net/ipv4/fib_multipath_hash_policy".into(), "1"),
        // A next hop whose neighbour does not answer is skipped.
        set("net/ipv4/fib_multipath_use_neigh".into(), "1"),
    ];
    let mut of_interface = |interface: &str, settings: &[(&str, &str)]| {
        let path = |name| format!("net/ipv4/conf/{interface}/{name}");
        plan.extend(settings.iter().map(|(name, value)| set(path(name), value)));
    };
    of_interface("all", &OF_ALL);
    for link in links {
        of_interface(&link.interface, &[("forwarding", if relays { "1" } else { "0" })]);
        of_interface(&link.interface, &OF_LINKS);
    }
    plan
}
