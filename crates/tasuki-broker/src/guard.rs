//! Rules for nftables by which lanes can send nothing but Tasuki's frames. They are needed because a packet
//! socket's own filter looks at incoming frames only, not at outgoing ones.

use nix::{errno::Errno, ifaddrs::getifaddrs, net::if_::if_nameindex};
use std::{collections::BTreeMap, fmt::Write as _};

/// Tasuki's ethertype, as `docs/reference/wire.md` defines it.
const ETHERTYPE: u16 = 0x88b5;

/// Why no rules can be made.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// The user is root: rules for root's sockets would be rules for everything.
    #[error("the broker needs a user of its own for this: root's sockets are not its alone")]
    Root,
    /// The interfaces cannot be listed.
    #[error("the interfaces cannot be listed: {0}")]
    Interfaces(#[from] Errno),
    /// The name of an interface cannot stand in rules.
    #[error("interface {0}: nftables cannot be told a name with such characters")]
    Name(String),
}

/// Rules for all interfaces that there are now, as `nft -f -` takes them: sockets that the user `uid` has
/// opened send frames of Tasuki's type from the NIC's own address on `nics`, and nothing at all elsewhere.
/// The kernel applies them also to frames that go past the queueing discipline, but does not see the Ethernet
/// header of those, so they are dropped: a guarded broker must not set that bypass.
pub fn guard(uid: u32, nics: impl Fn(&str) -> bool) -> Result<String, GuardError> {
    if uid == 0 {
        return Err(GuardError::Root);
    }
    let macs: BTreeMap<String, [u8; 6]> = getifaddrs()?
        .filter_map(|one| Some((one.interface_name, one.address?.as_link_addr()?.addr()?)))
        .collect();
    let mut rules = String::from("table netdev tasuki_broker\ndelete table netdev tasuki_broker\n");
    rules.push_str("table netdev tasuki_broker {\n");
    for interface in &if_nameindex()? {
        let name = interface.name().to_string_lossy();
        if name.contains(['"', '\\', '*']) {
            return Err(GuardError::Name(name.into_owned()));
        }
        let allowed = macs.get(&*name).filter(|_| nics(&name));
        // Writing to a string does not fail.
        let _ = write!(
            rules,
            "\tchain nic{} {{\n\t\ttype filter hook egress device \"{name}\" priority 0; policy \
             accept;\n\t\tmeta skuid != {uid} accept\n",
            interface.index()
        );
        if let Some([a, b, c, d, e, f]) = allowed {
            let _ = writeln!(
                rules,
                "\t\tether type {ETHERTYPE:#06x} ether saddr {a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x} \
                 accept"
            );
        }
        rules.push_str("\t\tcounter drop\n\t}\n");
    }
    rules.push_str("}\n");
    Ok(rules)
}
