//! From what did not arrive, and from rules, to whose firewall drops what.

use crate::{
    Remedy,
    protocol::Rules,
    rules::{Culprit, Known, Packet, Place},
};
use serde::Serialize;
use std::net::Ipv4Addr;
use tasuki_cluster::{Cluster, HostId};

/// What one host sends to another: packets of one protocol over one rail, or wherever routes lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The host that sends.
    pub from: HostId,
    /// The host that should receive.
    pub to: HostId,
    /// The NIC there and the NIC here; of a flow over no rail those that the shortest route uses.
    pub nics: [String; 2],
    /// It goes over a rail; otherwise wherever routes lead.
    pub is_rail: bool,
    /// Source and destination.
    pub addresses: [Ipv4Addr; 2],
    /// Hosts in between.
    pub relays: Vec<HostId>,
    /// TCP instead of UDP.
    pub tcp: bool,
}

/// Something that did not arrive.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub flow: Flow,
    pub port: u16,
    /// Whether the NIC has heard it; `None`: not known.
    pub by_nic: Option<bool>,
}

/// Why something does not arrive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Cause {
    /// A rule of the host's firewall drops it.
    Rule(Culprit),
    /// The NIC has heard it, and the host's programs were not given it; why is not known.
    Dropped {
        /// Why its rules say nothing.
        why: String,
    },
    /// Whether the NIC hears it is not known, and rules cannot be read.
    Unread {
        /// Why rules cannot be read.
        why: String,
    },
    /// The NIC does not hear it, or no rule drops it: a cable, or a route.
    Lost,
}

/// What a host does not let through.
#[derive(Clone, Debug, Serialize)]
pub struct Blocked {
    /// The host.
    pub host: String,
    /// Why.
    pub cause: Cause,
    /// What does not arrive, as `UDP from n1:eth1 to n2:eth1`.
    pub what: Vec<String>,
    /// Pairs of hosts, sender first, between which something does not arrive.
    pub pairs: Vec<[String; 2]>,
    /// Whether datagrams between addresses of hosts are dropped, without which programs do not start.
    pub stops_programs: bool,
    /// What helps, for the firewall that the host has, or for all common ones.
    pub remedies: Vec<Remedy>,
}

/// So many flows are named in one sentence.
const NAMED: usize = 3;

impl Blocked {
    /// What is wrong, as a sentence.
    pub fn says(&self) -> String {
        let host = &self.host;
        match &self.cause {
            Cause::Rule(Culprit { table, chain, rule, certain, iptables }) => {
                let kind = if *iptables { "iptables" } else { "nftables" };
                let drops = if *certain { "drops" } else { "may drop (it asks for more than is known here)" };
                format!("{host}'s firewall {drops} this: {kind} table {table}, chain {chain}: {rule}")
            }
            Cause::Dropped { why } => {
                format!(
                    "{host} hears this and gives it to no program, as a firewall does, or a host whose \
                     address is another one ({why})"
                )
            }
            Cause::Unread { why } => format!(
                "{host} does not get this; whether a firewall drops it cannot be seen without root ({why})"
            ),
            Cause::Lost => format!("{host} does not hear this, and no rule of a firewall drops it"),
        }
    }

    /// What does not arrive, in short.
    pub fn summary(&self) -> String {
        let named = self.what[..self.what.len().min(NAMED)].join(", ");
        match self.what.len().saturating_sub(NAMED) {
            0 => named,
            more => format!("{named}, and {more} more"),
        }
    }

    /// What helps, a line for each firewall, with its name where there are several.
    pub fn advice(&self) -> Vec<String> {
        let several = self.remedies.len() > 1;
        let line = |remedy: &Remedy| match several {
            true => format!("{} ({})", remedy.command, remedy.firewall),
            false => remedy.command.clone(),
        };
        self.remedies.iter().map(line).collect()
    }
}

/// Judges what did not arrive. `rules` has those of every host; `None`: the host could not be asked.
pub(crate) fn judge(cluster: &Cluster, all: &[Heard], rules: &[Option<Rules>]) -> Vec<Blocked> {
    let mut found: Vec<(HostId, Place, Cause, Vec<&Heard>)> = Vec::new();
    let known: Vec<_> = rules.iter().map(|told| told.as_ref().map(Known::of)).collect();
    for heard in all {
        let (host, place, cause) = explain(heard, &known);
        match found.iter_mut().find(|one| (one.0, one.1, &one.2) == (host, place, &cause)) {
            Some((.., heard_so_far)) => heard_so_far.push(heard),
            None => found.push((host, place, cause, vec![heard])),
        }
    }
    let name = |host: HostId| cluster.host_of(host).name.clone();
    let blocked = found.into_iter().map(|(host, place, cause, heard)| Blocked {
        host: name(host),
        remedies: Remedy::for_host(
            cluster,
            place,
            &cause,
            &heard,
            rules.get(host.0).and_then(Option::as_ref),
        ),
        what: heard.iter().map(|one| wording(cluster, &one.flow)).collect(),
        pairs: heard.iter().map(|one| [name(one.flow.from), name(one.flow.to)]).collect(),
        stops_programs: heard.iter().any(|one| !one.flow.tcp && !one.flow.is_rail),
        cause,
    });
    blocked.collect()
}

fn wording(cluster: &Cluster, flow: &Flow) -> String {
    let [from, to] = [flow.from, flow.to].map(|host| cluster.host_of(host).name.as_str());
    let [own, other] = &flow.nics;
    match (flow.is_rail, flow.tcp) {
        (true, _) => format!("UDP from {from}:{own} to {to}:{other}"),
        (false, tcp) => {
            format!("{} from {from} to {to} ({})", if tcp { "TCP" } else { "UDP" }, flow.addresses[1])
        }
    }
}

/// The host at fault, where in it, and why.
fn explain(heard: &Heard, known: &[Option<Known<'_>>]) -> (HostId, Place, Cause) {
    let flow = &heard.flow;
    let mut places = Vec::new();
    if heard.by_nic != Some(true) {
        places.push((flow.from, Place::Out));
        places.extend(flow.relays.iter().map(|relay| (*relay, Place::Through)));
    }
    if heard.by_nic != Some(false) {
        places.push((flow.to, Place::In));
    }
    let of = |host: HostId| known.get(host.0).and_then(Option::as_ref);
    let found = places.iter().filter_map(|(host, place)| {
        Some((*host, *place, of(*host)?.culprit(*place, &packet(heard, *place))?))
    });
    let found: Vec<_> = found.collect();
    let best = found.iter().find(|(.., culprit)| culprit.certain).or(found.first());
    if let Some((host, place, culprit)) = best {
        return (*host, *place, Cause::Rule(culprit.clone()));
    }
    let problem = of(flow.to).and_then(|known| known.problem.clone());
    let cause = match (heard.by_nic, problem) {
        (Some(true), Some(why)) => Cause::Dropped { why },
        (Some(true), None) => Cause::Dropped { why: "no rule of nftables does it".into() },
        (None, Some(why)) => Cause::Unread { why },
        (None, None) | (Some(false), _) => Cause::Lost,
    };
    (flow.to, Place::In, cause)
}

/// What a host's chains see at this place.
fn packet(heard: &Heard, place: Place) -> Packet {
    let flow = &heard.flow;
    let [own, other] = flow.nics.clone();
    Packet {
        tcp: flow.tcp,
        from: flow.addresses[0],
        to: flow.addresses[1],
        port: heard.port,
        comes_by: (place == Place::In).then_some(other),
        leaves_by: (place == Place::Out).then_some(own),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_are_not_understood_are_not_taken_for_none() {
        let flow = Flow {
            from: HostId(0),
            to: HostId(1),
            nics: ["eth1".into(), "eth1".into()],
            is_rail: true,
            addresses: [[192, 0, 2, 1].into(), [192, 0, 2, 2].into()],
            relays: Vec::new(),
            tcp: false,
        };
        let heard = |by_nic| Heard { flow: flow.clone(), port: 40_000, by_nic };
        let why = |nft: &str, by_nic| {
            let told = Rules { nft: Some(nft.into()), ..Rules::default() };
            explain(&heard(by_nic), &[None, Some(Known::of(&told))]).2
        };
        let Cause::Dropped { why: whole } = why("{\"nftables\": []}", Some(true)) else { panic!() };
        assert!(whole.contains("no rule"), "{whole}");
        let cut = "{\"nftables\": [{\"chain\": {\"family\": \"in";
        let Cause::Dropped { why: dropped } = why(cut, Some(true)) else { panic!() };
        assert!(dropped.contains("not understood"), "{dropped}");
        let Cause::Unread { why: unread } = why(cut, None) else { panic!() };
        assert!(unread.contains("not understood"), "{unread}");
    }
}
