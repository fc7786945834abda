//! Finding the ends of cables.

use super::{
    document::{Document, RawCable},
    problem::Problem,
    report::{Findings, Span},
};
use crate::{Cable, Cluster, End, NicId, SwitchId, names::nearest};
use serde_spanned::Spanned;
use std::collections::BTreeMap;

const KEY: &str = "cable.ends";

/// What an end of a cable names, before switches assign their free ports.
#[derive(Clone, Copy)]
enum Plug {
    At(End),
    NextFree(SwitchId),
}

/// The ends that have a cable, and where in the file that is said.
struct Sockets<'a> {
    cluster: &'a Cluster,
    findings: &'a Findings,
    used: BTreeMap<End, Span>,
    /// Of each switch: the lowest port that may be free.
    lowest: Vec<u32>,
}

/// Adds the cables whose ends are found to the cluster; notes what is wrong with the others.
pub(super) fn connect(document: &mut Document, findings: &Findings) {
    let raw = std::mem::take(&mut document.cables);
    let cluster = &document.cluster;
    let lowest = vec![1; cluster.switches.len()];
    let mut sockets = Sockets { cluster, findings, used: BTreeMap::new(), lowest };
    // Ports that are named are taken first, whichever cable is earlier, because "switch" means a port that no
    // cable names.
    let plugged: Vec<_> =
        raw.into_iter().filter_map(|cable| sockets.plug(&cable).map(|plugs| (cable, plugs))).collect();
    let mut cables = Vec::new();
    for (cable, [a, b]) in plugged {
        let a = sockets.settle(a, &cable.ends[0]);
        let b = sockets.settle(b, &cable.ends[1]);
        if let (Some(a), Some(b)) = (a, b) {
            cables.push(Cable { ends: [a, b], length_m: cable.length_m });
            document.marks.cables.push(cable.span);
        }
    }
    document.cluster.cables = cables;
}

impl Sockets<'_> {
    /// Finds both ends of a cable and takes those that are named in full.
    fn plug(&mut self, cable: &RawCable) -> Option<[Plug; 2]> {
        let found = cable.ends.each_ref().map(|end| find(self.cluster, end, self.findings));
        if let [Some(a), Some(b)] = found
            && let Some(at) = same_place(self.cluster, [a, b])
        {
            self.findings.add(cable.ends[1].span(), KEY, Problem::SamePlace { at });
            return None;
        }
        let [a, b] = [0, 1].map(|side| found[side].filter(|&plug| self.claim(plug, &cable.ends[side])));
        Some([a?, b?])
    }

    /// Takes the end for this cable, unless another has it.
    fn claim(&mut self, plug: Plug, text: &Spanned<String>) -> bool {
        let Plug::At(end) = plug else { return true };
        let Some(first) = self.used.get(&end) else {
            self.used.insert(end, text.span());
            return true;
        };
        let problem = Problem::EndUsed { end: self.cluster.end_name(end) };
        let notes = vec![(first.clone(), "by this cable".into())];
        self.findings.add_with_notes(text.span(), KEY, problem, notes);
        false
    }

    /// The end itself; for a switch its lowest port that has no cable.
    fn settle(&mut self, plug: Plug, text: &Spanned<String>) -> Option<End> {
        let switch = match plug {
            Plug::At(end) => return Some(end),
            Plug::NextFree(switch) => switch,
        };
        let ports = self.cluster.switch_of(switch).ports;
        let lowest = &mut self.lowest[switch.0];
        while self.used.contains_key(&End::Port { switch, port: *lowest }) {
            *lowest += 1;
        }
        if *lowest > ports {
            let problem = Problem::NoFreePort { switch: self.cluster.switch_of(switch).name.clone(), ports };
            self.findings.add(text.span(), KEY, problem);
            return None;
        }
        let end = End::Port { switch, port: *lowest };
        self.used.insert(end, text.span());
        Some(end)
    }
}

/// The host, NIC or port that both ends are at. (Two ports of one switch are a loop, which is looked for
/// later.)
fn same_place(cluster: &Cluster, plugs: [Plug; 2]) -> Option<String> {
    match plugs {
        [Plug::At(a), Plug::At(b)] if a == b => Some(cluster.end_name(a)),
        [Plug::At(End::Nic(a)), Plug::At(End::Nic(b))] if a.host == b.host => {
            Some(format!("host {}", cluster.host_of(a.host).name))
        }
        _ => None,
    }
}

/// The end that a text names.
fn find(cluster: &Cluster, end: &Spanned<String>, findings: &Findings) -> Option<Plug> {
    match find_text(cluster, end.get_ref()) {
        Ok(plug) => Some(plug),
        Err(problem) => {
            findings.add(end.span(), KEY, problem);
            None
        }
    }
}

fn find_text(cluster: &Cluster, text: &str) -> Result<Plug, Problem> {
    let (name, part) = match text.split_once(':') {
        Some((name, part)) => (name, Some(part)),
        None => (text, None),
    };
    let end = || text.to_owned();
    if name.is_empty() {
        return Err(Problem::EndSyntax { end: end(), reason: "there is no name of a host or switch".into() });
    }
    match (cluster.host(name), cluster.switch(name), part) {
        (Some(host), _, Some(part)) => {
            let nics = &cluster.hosts[host.0].nics;
            let names = || nics.iter().map(|nic| nic.name.as_str());
            match names().position(|nic| nic == part) {
                Some(index) if !part.is_empty() => Ok(Plug::At(End::Nic(NicId { host, index }))),
                _ => Err(Problem::NoSuchNic {
                    end: end(),
                    host: name.into(),
                    nic: part.into(),
                    near: nearest(part, names()).map(|near| format!("{name}:{near}")),
                    present: if nics.is_empty() {
                        "no NIC".into()
                    } else {
                        names().collect::<Vec<_>>().join(", ")
                    },
                }),
            }
        }
        (Some(_), _, None) => {
            Err(Problem::EndSyntax { end: end(), reason: "it is a host, and does not say which NIC".into() })
        }
        (None, Some(switch), None) => Ok(Plug::NextFree(switch)),
        (None, Some(switch), Some(part)) => {
            let ports = cluster.switch_of(switch).ports;
            let digits = part.bytes().all(|digit| digit.is_ascii_digit());
            match part.parse().ok().filter(|port| digits && (1..=ports).contains(port)) {
                Some(port) => Ok(Plug::At(End::Port { switch, port })),
                None => {
                    Err(Problem::NoSuchPort { end: end(), switch: name.into(), port: part.into(), ports })
                }
            }
        }
        (None, None, _) => {
            let hosts = cluster.hosts.iter().map(|host| host.name.as_str());
            let names = hosts.chain(cluster.switches.iter().map(|switch| switch.name.as_str()));
            let near = nearest(name, names.filter(|name| !name.is_empty()));
            let near = near.map(|near| part.map_or(near.into(), |part| format!("{near}:{part}")));
            Err(Problem::NoSuchPlace { end: end(), name: name.into(), near })
        }
    }
}
