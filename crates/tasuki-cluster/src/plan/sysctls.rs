//! Kernel settings of a host.

use crate::{BarePlan, LinkPlan, SysctlPlan};

/// Settings of every cabled NIC.
const OF_LINKS: [(&str, &str); 6] = [
    // Host routes over several NICs are asymmetric: a packet may arrive on another NIC than the answer takes.
    ("rp_filter", "0"),
    // A NIC answers only for its own address and asks only with it: otherwise peers on a switch domain
    // learn the MAC of a neighbouring NIC and all traffic goes to one.
    ("arp_ignore", "1"),
    ("arp_announce", "2"),
    // A next hop whose cable is out leaves the multipath routes.
    ("ignore_routes_with_linkdown", "1"),
    // A relay whose way leads out of the NIC by which the packet came would tell the sender of a shorter way,
    // and a sender that listens would leave the plan.
    ("send_redirects", "0"),
    ("accept_redirects", "0"),
];

/// Settings that take effect as the higher, or either, of `all` and the interface: `all` must not spoil them.
const OF_ALL: [(&str, &str); 3] = [("rp_filter", "0"), ("send_redirects", "0"), ("accept_redirects", "0")];

/// With one subnet per cable there are single ways only, and the kernel's own settings do. Forwarding is off, so that the way to a host is
/// the cable to it (cross-connection paper, section 3.1).
pub(super) fn of_subnets(links: &[LinkPlan]) -> Vec<SysctlPlan> {
    let path = |link: &LinkPlan| format!("net/ipv4/conf/{}/forwarding", link.interface);
    links.iter().map(|link| SysctlPlan { path: path(link), value: "0".into() }).collect()
}

/// A NIC without IP passes nothing on, and answers for none of the host's addresses.
pub(super) fn of_bare(nics: &[BarePlan]) -> Vec<SysctlPlan> {
    let set = |nic: &BarePlan, (name, value): (&str, &str)| SysctlPlan {
        path: format!("net/ipv4/conf/{}/{name}", nic.interface),
        value: value.into(),
    };
    nics.iter()
        .flat_map(|nic| [("forwarding", "0"), ("arp_ignore", "1")].map(|setting| set(nic, setting)))
        .collect()
}

/// The settings in the order in which they are to be written. Whether packets are passed on is decided by the
/// setting of the NIC by which they come in, so `ip_forward`, which stands for all interfaces of the machine, is
/// left as it is: a relay passes on what comes from the cluster's cables and nothing else.
pub(super) fn sysctls(links: &[LinkPlan], relays: bool) -> Vec<SysctlPlan> {
    let set = |path: String, value: &str| SysctlPlan { path, value: value.into() };
    let mut plan = vec![
        // Flows, not destinations, spread over the next hops: two ranks' connections between the same hosts
        // use two cables.
        set("net/ipv4/fib_multipath_hash_policy".into(), "1"),
        // A next hop whose neighbour does not answer is passed over.
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
