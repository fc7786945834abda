//! What `iptables-save` of the older kind prints (iptables-save(8)). Which rule drops a packet is not worked
//! out: the first that drops is named as one that may, or the policy.

use super::{Culprit, Place};

/// Rules for packets in a state in which the first one of a connection is not.
const IN_OTHER_STATES: [&str; 2] = ["--ctstate INVALID ", "--state INVALID "];

fn is_drop(line: &str) -> bool {
    line.starts_with("-A ") && [" -j DROP", " -j REJECT"].iter().any(|end| line.contains(end))
}

/// What may drop packets in a host.
pub fn find(saved: &str, place: Place) -> Option<Culprit> {
    let chain = match place {
        Place::Out => "OUTPUT",
        Place::Through => "FORWARD",
        Place::In => "INPUT",
    };
    let mut table = "";
    let mut policy = None;
    for line in saved.lines() {
        let culprit = |rule: &str, certain| Culprit {
            table: table.to_owned(),
            chain: chain.to_owned(),
            rule: rule.to_owned(),
            certain,
            iptables: true,
        };
        if let Some(name) = line.strip_prefix('*') {
            table = name;
        } else if line.starts_with(&format!(":{chain} DROP")) {
            policy = Some(culprit("policy DROP", true));
        } else if is_drop(line) && !IN_OTHER_STATES.iter().any(|state| line.contains(state)) {
            // A rule of another chain counts, because chains jump to each other.
            let of_other_place = ["INPUT", "OUTPUT", "FORWARD"]
                .iter()
                .any(|other| *other != chain && line.starts_with(&format!("-A {other} ")));
            if !of_other_place {
                // A rule that asks for nothing ends its chain.
                let for_all = line.starts_with(&format!("-A {chain} -j "));
                return Some(policy.unwrap_or_else(|| culprit(line, for_all)));
            }
        }
    }
    policy
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What firewalld sets with `FirewallBackend=iptables` (`src/firewall/core/ipXtables.py`), in short, as
    /// iptables-save prints it.
    const FIREWALLD: &str = "*filter
:INPUT ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:INPUT_ZONES - [0:0]
:INPUT_direct - [0:0]
:IN_public - [0:0]
-A INPUT -m conntrack --ctstate RELATED,ESTABLISHED,DNAT -j ACCEPT
-A INPUT -i lo -j ACCEPT
-A INPUT -j INPUT_direct
-A INPUT -j INPUT_ZONES
-A INPUT -m conntrack --ctstate INVALID -j DROP
-A INPUT -j REJECT --reject-with icmp-host-prohibited
-A FORWARD -m conntrack --ctstate INVALID -j DROP
-A FORWARD -j REJECT --reject-with icmp-host-prohibited
-A INPUT_ZONES -g IN_public
-A IN_public -p tcp -m tcp --dport 22 -m conntrack --ctstate NEW,UNTRACKED -j ACCEPT
COMMIT
";

    #[test]
    fn the_rule_at_the_end_is_named_and_not_the_one_for_invalid_packets() {
        for (place, chain) in [(Place::In, "INPUT"), (Place::Through, "FORWARD")] {
            let found = find(FIREWALLD, place).unwrap();
            assert_eq!((found.table.as_str(), found.chain.as_str()), ("filter", chain));
            assert!(found.certain && found.rule.contains("-j REJECT"), "{found:?}");
        }
        assert_eq!(find(FIREWALLD, Place::Out), None);
        // One that asks for something may be meant for other packets.
        let some = "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -p udp -j DROP\n";
        assert!(!find(some, Place::In).unwrap().certain);
    }
}
