//! What `iptables-save` of the older kind prints (iptables-save(8)). Which rule drops a packet is not worked
//! out: the first that drops is named as one that may, or the policy.

use super::{Culprit, Place};

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
        } else if line.starts_with("-A ") && [" -j DROP", " -j REJECT"].iter().any(|end| line.contains(end)) {
            // A rule of another chain counts, because chains jump to each other.
            let of_other_place = ["INPUT", "OUTPUT", "FORWARD"]
                .iter()
                .any(|other| *other != chain && line.starts_with(&format!("-A {other} ")));
            if !of_other_place {
                return Some(policy.unwrap_or_else(|| culprit(line, false)));
            }
        }
    }
    policy
}
