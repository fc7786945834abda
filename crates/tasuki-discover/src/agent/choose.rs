//! Which NICs of a host take part: not those that someone else needs.

use std::{collections::BTreeMap, fs, path::Path};
use tasuki_cluster::check_interface;
use tasuki_host::login_interfaces;
use tasuki_lab::{HOST_SOCKET, MANAGEMENT_INTERFACE};
use tasuki_sys::{negotiated_mbits, netlink::Link};

/// Where sysfs shows the interfaces of this network namespace.
const INTERFACES: &str = "/sys/class/net";

/// The choice.
pub struct Chosen<'a> {
    /// NICs that take part, in the order of their indices.
    pub nics: Vec<&'a Link>,
    /// Interfaces that are left alone although they could take part: name and reason.
    pub left_alone: Vec<(String, String)>,
}

/// Chooses NICs: all Ethernet devices except those by which someone is logged in, that have a default route,
/// or that are ports of a bridge or bond. NICs that are included by name take part in any case.
pub fn choose<'a>(host: &str, links: &'a [Link], include: &[String]) -> Result<Chosen<'a>, String> {
    let login = login_interfaces(host).map_err(|error| error.to_string())?;
    let default = default_routes(
        &fs::read_to_string("/proc/net/route").unwrap_or_default(),
        &fs::read_to_string("/proc/net/ipv6_route").unwrap_or_default(),
    );
    let is_lab = Path::new(HOST_SOCKET).exists();
    let mut chosen = Chosen { nics: Vec::new(), left_alone: Vec::new() };
    for link in links {
        let is_management = is_lab && link.name == MANAGEMENT_INTERFACE;
        if link.mac.is_none() || link.name == "lo" || is_management {
            continue;
        }
        let is_device = Path::new(INTERFACES).join(&link.name).join("device").exists();
        let is_lab_nic = is_lab && link.kind.as_deref() == Some("veth");
        let reason = reason(link, links, &login, &default);
        if include.contains(&link.name) {
            chosen.nics.push(link);
        } else if is_device || is_lab_nic {
            match reason {
                None => chosen.nics.push(link),
                Some(reason) => chosen.left_alone.push((link.name.clone(), reason)),
            }
        }
    }
    Ok(chosen)
}

/// Why an interface is left alone.
fn reason(
    link: &Link,
    links: &[Link],
    login: &BTreeMap<String, String>,
    default: &[String],
) -> Option<String> {
    let name = &link.name;
    if let Err(why) = check_interface(name) {
        return Some(format!("its name cannot be in a cluster file: {why}"));
    }
    if let Some(why) = login.get(name) {
        return Some(format!("you are logged in by it: {why}"));
    }
    if default.contains(name) {
        return Some("the default route leads over it".into());
    }
    if Path::new(INTERFACES).join(name).join("phy80211").exists() {
        return Some("it is wireless".into());
    }
    let controller = links.iter().find(|other| Some(other.index) == link.controller);
    controller.map(|controller| format!("it is a port of {}", controller.name))
}

/// Interfaces of default routes, by the text of `/proc/net/route` (interface, destination, gateway, flags,
/// counters, metric, mask) and of `/proc/net/ipv6_route` (destination, its length, ..., interface).
fn default_routes(four: &str, six: &str) -> Vec<String> {
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let four = four.lines().map(words).filter_map(|words| {
        let is_default = words.len() > 7 && words[1] == "00000000" && words[7] == "00000000";
        is_default.then(|| words[0].clone())
    });
    let six = six.lines().map(words).filter_map(|words| {
        let is_default = words.len() > 9 && words[0].bytes().all(|byte| byte == b'0') && words[1] == "00";
        is_default.then(|| words[words.len() - 1].clone())
    });
    four.chain(six).filter(|name| name != "lo").collect()
}

/// The negotiated rate of a NIC in Mbit/s.
pub fn mbits(name: &str) -> Option<u64> {
    negotiated_mbits(&Path::new(INTERFACES).join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_routes_are_found_and_no_others() {
        let four = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n\
                    eth0\t00000000\t0102A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n\
                    eth1\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0\n";
        let zero = "00000000000000000000000000000000";
        let six = format!(
            "{zero} 00 {zero} 00 fe800000000000000000000000000001 00000400 00000001 0 00000003 eth2\n\
             {zero} 00 {zero} 00 {zero} ffffffff 00000001 00000000 00200200 lo\n\
             fe800000000000000000000000000000 40 {zero} 00 {zero} 00000100 00000001 00000000 00000001 eth3\n"
        );
        assert_eq!(default_routes(four, &six), ["eth0", "eth2"]);
        assert_eq!(default_routes("", "odd"), [""; 0]);
    }
}
