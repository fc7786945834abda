//! Finding the ends of cables.

use super::{
    Problem,
    document::{Document, RawCable},
    report::{Findings, Span},
};
use crate::{Cable, Cluster, End, NicId, SwitchId, names::nearest};
use serde_spanned::Spanned;
use std::collections::BTreeMap;

const KEY: &str = "cable.ends";

/// What an end means, before switches hand out their free ports.
#[derive(Clone, Copy)]
enum Plug {
    At(End),
    NextFree(SwitchId),
}

/// Adds the cables whose ends are found to the cluster; notes what is wrong with the others.
pub(super) fn connect(document: &mut Document, findings: &Findings) {
    let cables = std::mem::take(&mut document.cables);
    let cluster = &mut document.cluster;
    let mut used = BTreeMap::new();
    let mut plugs = Vec::new();
    // Ports that are named come first, whichever cable is earlier: "switch" means a port that no cable names.
    for cable in cables {
        let find = |end| find(cluster, end, findings);
        let [a, b] = cable.ends.each_ref().map(find);
        let (Some(a), Some(b)) = (a, b) else { continue };
        if join_different_places(cluster, &cable, [a, b], findings) {
            let free = [(a, 0), (b, 1)]
                .map(|(plug, side)| claim(cluster, plug, &cable.ends[side], &mut used, findings));
            if free == [true, true] {
                plugs.push((cable, [a, b]));
            }
        }
    }
    for (cable, ends) in plugs {
        let mut port = |plug, side: usize| match plug {
            Plug::At(end) => Some(end),
            Plug::NextFree(switch) => {
                next_free(cluster, switch, cable.ends[side].span(), &mut used, findings)
            }
        };
        let (Some(a), Some(b)) = (port(ends[0], 0), port(ends[1], 1)) else { continue };
        cluster.cables.push(Cable { ends: [a, b], length_m: cable.length_m });
        document.marks.cables.push(cable.span);
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

/// Whether a cable's ends are not at one host. (Both at one switch is a loop, which is looked for later.)
fn join_different_places(cluster: &Cluster, cable: &RawCable, plugs: [Plug; 2], findings: &Findings) -> bool {
    let at = match plugs {
        [Plug::At(End::Nic(a)), Plug::At(End::Nic(b))] if a == b => cluster.nic_name(a),
        [Plug::At(End::Nic(a)), Plug::At(End::Nic(b))] if a.host == b.host => {
            format!("host {}", cluster.host_of(a.host).name)
        }
        [Plug::At(a), Plug::At(b)] if a == b => cluster.end_name(a),
        _ => return true,
    };
    findings.add(cable.ends[1].span(), KEY, Problem::SamePlace { at });
    false
}

/// Takes the end for this cable, unless another has it.
fn claim(
    cluster: &Cluster,
    plug: Plug,
    text: &Spanned<String>,
    used: &mut BTreeMap<End, Span>,
    findings: &Findings,
) -> bool {
    let Plug::At(end) = plug else { return true };
    let Some(first) = used.get(&end) else {
        used.insert(end, text.span());
        return true;
    };
    let problem = Problem::EndUsed { end: cluster.end_name(end) };
    findings.add_with_notes(text.span(), KEY, problem, vec![(first.clone(), "by this cable".into())]);
    false
}

/// The lowest port of a switch that has no cable.
fn next_free(
    cluster: &Cluster,
    switch: SwitchId,
    span: Span,
    used: &mut BTreeMap<End, Span>,
    findings: &Findings,
) -> Option<End> {
    let ports = cluster.switch_of(switch).ports;
    // Used ports come in ascending order, so the first gap is the first free port.
    let low = End::Port { switch, port: 0 };
    let taken = used.range(low..).map(|(end, _)| *end);
    let mut free = 1;
    for end in taken.take_while(|end| matches!(end, End::Port { switch: other, .. } if *other == switch)) {
        if end == (End::Port { switch, port: free }) {
            free += 1;
        } else {
            break;
        }
    }
    if free > ports {
        let problem = Problem::NoFreePort { switch: cluster.switch_of(switch).name.clone(), ports };
        findings.add(span, KEY, problem);
        return None;
    }
    let end = End::Port { switch, port: free };
    used.insert(end, span);
    Some(end)
}
