//! Rules that let in what the cables bring, in the words of the firewall that a host has.

use crate::{
    judge::{Cause, Heard},
    protocol::Rules,
    rules::{Culprit, Place},
};
use serde::Serialize;
use std::collections::BTreeSet;
use tasuki_cluster::Cluster;

/// One way to let packets through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remedy {
    /// For which firewall: `nftables`, `iptables`, `ufw`, `firewalld`.
    pub firewall: &'static str,
    /// The command, to be typed on the host as root.
    pub command: String,
}

impl Remedy {
    /// What lets these packets through; several where it is not known which firewall the host has.
    pub(crate) fn for_host(
        cluster: &Cluster,
        place: Place,
        cause: &Cause,
        heard: &[&Heard],
        rules: Option<&Rules>,
    ) -> Vec<Self> {
        let culprit = match cause {
            Cause::Lost => return Vec::new(),
            Cause::Rule(culprit) => Some(culprit),
            Cause::Dropped { .. } | Cause::Unread { .. } => None,
        };
        let nics: BTreeSet<&str> = match place {
            Place::Out => heard.iter().map(|one| one.flow.nics[0].as_str()).collect(),
            Place::In => heard.iter().map(|one| one.flow.nics[1].as_str()).collect(),
            Place::Through => BTreeSet::new(),
        };
        let networks = [cluster.addressing.identity, cluster.addressing.link].map(|net| net.to_string());
        let to = Opening { place, nics, networks, culprit };
        match owner(culprit, rules) {
            Owner::Ufw => vec![to.ufw()],
            Owner::Firewalld => vec![to.firewalld()],
            Owner::Iptables => vec![to.iptables()],
            Owner::Itself => vec![to.nft(), to.ufw(), to.firewalld()],
        }
    }
}

/// Which program has written the rules.
enum Owner {
    Ufw,
    Firewalld,
    Iptables,
    /// The user, or nobody knows.
    Itself,
}

fn owner(culprit: Option<&Culprit>, rules: Option<&Rules>) -> Owner {
    let written = |what: &str| {
        let text = rules.map(|rules| [&rules.text, rules.iptables.as_ref().unwrap_or(&rules.text)]);
        text.is_some_and(|texts| texts.iter().any(|text| text.contains(what)))
    };
    match culprit {
        Some(culprit) if culprit.table.ends_with(" firewalld") => Owner::Firewalld,
        // With `FirewallBackend=iptables` its chains are in the table that all programs share. This one every
        // version has (`src/firewall/core/ipXtables.py`).
        Some(culprit) if (culprit.iptables || culprit.table == "ip filter") && written("INPUT_direct") => {
            Owner::Firewalld
        }
        Some(culprit) if culprit.iptables && !written("ufw-") => Owner::Iptables,
        Some(culprit) if (culprit.iptables || culprit.table == "ip filter") && written("chain ufw-") => {
            Owner::Ufw
        }
        Some(culprit) if culprit.iptables => Owner::Ufw,
        _ => Owner::Itself,
    }
}

/// What is to be let through.
struct Opening<'a> {
    place: Place,
    nics: BTreeSet<&'a str>,
    networks: [String; 2],
    culprit: Option<&'a Culprit>,
}

impl Opening<'_> {
    fn nft(&self) -> Remedy {
        let networks = format!("{{ {} }}", self.networks.join(", "));
        let nics: Vec<String> = self.nics.iter().map(|nic| format!("\"{nic}\"")).collect();
        let nics = format!("{{ {} }}", nics.join(", "));
        let (chain, rule) = match self.place {
            Place::In => ("input", format!("iifname {nics} ip saddr {networks} accept")),
            Place::Out => ("output", format!("oifname {nics} ip daddr {networks} accept")),
            Place::Through => ("forward", format!("ip saddr {networks} ip daddr {networks} accept")),
        };
        let (table, chain) = self.culprit.map_or(("inet filter", chain), |one| (&one.table, &one.chain));
        Remedy { firewall: "nftables", command: format!("nft insert rule {table} {chain} '{rule}'") }
    }

    fn iptables(&self) -> Remedy {
        let rules = match self.place {
            Place::In => self.each("iptables -I INPUT -i", "-s", " -j ACCEPT"),
            Place::Out => self.each("iptables -I OUTPUT -o", "-d", " -j ACCEPT"),
            Place::Through => {
                self.networks.iter().map(|net| format!("iptables -I FORWARD -s {net} -j ACCEPT")).collect()
            }
        };
        Remedy { firewall: "iptables", command: rules.join(" && ") }
    }

    fn ufw(&self) -> Remedy {
        let rules = match self.place {
            Place::In => self.each("ufw allow in on", "from", ""),
            Place::Out => self.each("ufw allow out on", "to", ""),
            Place::Through => self.networks.iter().map(|net| format!("ufw route allow from {net}")).collect(),
        };
        Remedy { firewall: "ufw", command: rules.join(" && ") }
    }

    fn firewalld(&self) -> Remedy {
        let [identity, link] = &self.networks;
        let command = format!(
            "firewall-cmd --permanent --zone=trusted --add-source={identity} --add-source={link} && \
             firewall-cmd --reload"
        );
        Remedy { firewall: "firewalld", command }
    }

    /// A command for each NIC and each network.
    fn each(&self, command: &str, word: &str, end: &str) -> Vec<String> {
        let pairs = self.nics.iter().flat_map(|nic| self.networks.iter().map(move |net| (nic, net)));
        pairs.map(|(nic, net)| format!("{command} {nic} {word} {net}{end}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The firewall whose line is printed for a rule of this table, where the host has these chains.
    fn named(table: &str, iptables: bool, text: &str, older: Option<&str>) -> &'static str {
        let culprit = Culprit {
            table: table.into(),
            chain: "INPUT".into(),
            rule: "reject".into(),
            certain: true,
            iptables,
        };
        let told = Rules { text: text.into(), iptables: older.map(str::to_owned), ..Rules::default() };
        match owner(Some(&culprit), Some(&told)) {
            Owner::Ufw => "ufw",
            Owner::Firewalld => "firewalld",
            Owner::Iptables => "iptables",
            Owner::Itself => "all",
        }
    }

    #[test]
    fn the_firewall_that_wrote_the_rules_is_known_by_its_chains() {
        assert_eq!(named("inet firewalld", false, "", None), "firewalld");
        // Its other back end, with iptables of the newer kind, which nft shows, and of the older one.
        assert_eq!(named("ip filter", false, "\tchain INPUT_direct {", None), "firewalld");
        assert_eq!(named("filter", true, "", Some(":INPUT_direct - [0:0]")), "firewalld");
        assert_eq!(named("ip filter", false, "\tchain ufw-before-input {", None), "ufw");
        assert_eq!(named("filter", true, "", Some(":INPUT DROP [0:0]")), "iptables");
        assert_eq!(named("inet filter", false, "\tchain input {", None), "all");
    }
}
