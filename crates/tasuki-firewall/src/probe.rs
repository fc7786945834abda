//! Has all hosts send to each other, and asks those for their rules that something did not reach.

use crate::{
    AGENT_COMMAND, Blocked,
    judge::{Flow, Heard, judge},
    protocol::{Answer, Arrived, Knock, Order, Rules},
};
use std::{
    collections::BTreeSet,
    net::Ipv4Addr,
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tasuki_cluster::{AddressPlan, Cluster, HostId, PlanError, RailTable};
use tasuki_fleet::{Agents, Fleet, Task};

/// How long a host may take for an order.
const LIMIT: Duration = Duration::from_secs(30);
/// What has not arrived after the first of these times is sent again, and so on: a busy host is no firewall.
const TRAVEL: [Duration; 3] =
    [Duration::from_millis(50), Duration::from_millis(300), Duration::from_millis(1000)];

/// What does not get from host to host, and why. Hosts that cannot be asked are left out. Empty for this
/// machine alone.
///
/// # Errors
/// If the cluster has no plan of addresses.
pub fn probe(fleet: &Fleet) -> Result<Vec<Blocked>, PlanError> {
    let Some(cluster) = fleet.cluster().filter(|cluster| cluster.hosts.len() > 1) else {
        return Ok(Vec::new());
    };
    let plan = AddressPlan::new(cluster)?;
    let flows = flows(cluster, &plan);
    let mut prober = Prober::start(fleet, cluster, flows);
    for travel in TRAVEL {
        prober.round(travel);
        if prober.missing().next().is_none() {
            return Ok(Vec::new());
        }
    }
    let rules = prober.rules();
    let heard: Vec<Heard> = prober.missing().map(|number| prober.heard(number)).collect();
    Ok(judge(cluster, &heard, &rules))
}

/// All flows between hosts: datagrams over every rail, and datagrams and connections wherever routes lead.
fn flows(cluster: &Cluster, plan: &AddressPlan) -> Vec<Flow> {
    let tables = RailTable::of_all(cluster, plan, None);
    let mut flows = Vec::new();
    let hosts = || (0..cluster.hosts.len()).map(HostId);
    for (from, to) in hosts().flat_map(|from| hosts().map(move |to| (from, to))) {
        let Some(first) = cluster.rails(from, to).into_iter().next() else { continue };
        let [own, other] = first.nics.map(|nic| cluster.nic_of(nic).name.clone());
        let address = |at: HostId, of: HostId| plan.hosts.get(at.0)?.peers.get(of.0).copied();
        let (Some(source), Some(target)) = (address(to, from), address(from, to)) else { continue };
        let routed = Flow {
            from,
            to,
            nics: [own, other],
            is_rail: false,
            addresses: [source, target],
            relays: first.relays,
            tcp: false,
        };
        flows.push(Flow { tcp: true, ..routed.clone() });
        flows.push(routed);
        let identities = [from, to].map(|host| plan.hosts[host.0].identity);
        let rails = tables[from.0].peers.get(&identities[1]).into_iter().flat_map(|peer| &peer.rails);
        for rail in rails {
            let back = tables[to.0].peers.get(&identities[0]);
            let Some(other) = back.and_then(|peer| peer.rails.iter().find(|one| one.rail == rail.rail))
            else {
                continue;
            };
            flows.push(Flow {
                from,
                to,
                nics: [rail.nic.clone(), other.nic.clone()],
                is_rail: true,
                addresses: [rail.local, rail.remote],
                relays: Vec::new(),
                tcp: false,
            });
        }
    }
    flows
}

struct Prober {
    agents: Agents,
    flows: Vec<Flow>,
    /// The number of the first flow.
    first: u64,
    /// Ports for datagrams and connections; `None`: the host could not be asked.
    ports: Vec<Option<(u16, u16)>>,
    arrived: Vec<Arrived>,
    connected: BTreeSet<u64>,
}

impl Prober {
    fn start(fleet: &Fleet, cluster: &Cluster, flows: Vec<Flow>) -> Self {
        let mut agents = Agents::start(fleet, &Task::tasuki([AGENT_COMMAND]));
        let nics = |host: usize| -> Vec<String> {
            let own = flows.iter().filter(|flow| flow.from.0 == host).map(|flow| flow.nics[0].clone());
            own.collect::<BTreeSet<_>>().into_iter().collect()
        };
        let answers = agents.tell(LIMIT, |host| Some(Order::Listen { nics: nics(host) }));
        let ports = answers.into_iter().map(|answer| match answer {
            Some(Ok(Answer::Ports { udp, tcp })) => Some((udp, tcp)),
            _ => None,
        });
        let ports = ports.collect();
        // Numbers of another run must not be taken for those of this.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let first = since.as_nanos() as u64;
        let arrived = vec![Arrived::default(); cluster.hosts.len()];
        Self { agents, flows, first, ports, arrived, connected: BTreeSet::new() }
    }

    /// Has hosts send what has not arrived yet, and asks what has arrived.
    fn round(&mut self, travel: Duration) {
        let missing: Vec<usize> = self.missing().collect();
        let knock = |number: usize| {
            let flow = &self.flows[number];
            let (udp, tcp) = self.ports[flow.to.0]?;
            let knock = Knock {
                number: self.first + number as u64,
                nic: flow.is_rail.then(|| flow.nics[0].clone()),
                from: if flow.is_rail { flow.addresses[0] } else { Ipv4Addr::UNSPECIFIED },
                to: flow.addresses[1],
                port: if flow.tcp { tcp } else { udp },
                tcp: flow.tcp,
            };
            Some((flow.from.0, knock))
        };
        let knocks: Vec<(usize, Knock)> = missing.into_iter().filter_map(knock).collect();
        let answers = self.agents.tell(LIMIT, |host| {
            let own = knocks.iter().filter(|(from, _)| *from == host).map(|(_, knock)| knock.clone());
            let own: Vec<Knock> = own.collect();
            (!own.is_empty()).then_some(Order::Knock(own))
        });
        for answer in answers.into_iter().flatten().flatten() {
            if let Answer::Connected(numbers) = answer {
                self.connected.extend(numbers);
            }
        }
        thread::sleep(travel);
        let ports = &self.ports;
        let answers = self.agents.tell(LIMIT, |host| ports[host].map(|_| Order::Report));
        for (host, answer) in answers.into_iter().enumerate() {
            match answer {
                Some(Ok(Answer::Arrived(arrived))) => self.arrived[host] = arrived,
                _ => self.ports[host] = None,
            }
        }
    }

    /// Flows between hosts that can be asked, over NICs with a carrier, of which nothing has come.
    fn missing(&self) -> impl Iterator<Item = usize> {
        let is_missing = |&number: &usize| {
            let flow = &self.flows[number];
            let ends = [flow.from.0, flow.to.0];
            let is_known = ends.iter().all(|host| self.ports[*host].is_some());
            let mut sides = ends.iter().zip(&flow.nics);
            let is_dark = sides.any(|(host, nic)| self.arrived[*host].dark.contains(nic));
            let id = self.first + number as u64;
            let has_come = self.connected.contains(&id) || self.arrived[flow.to.0].given.contains(&id);
            is_known && !is_dark && !has_come
        };
        (0..self.flows.len()).filter(is_missing)
    }

    fn heard(&self, number: usize) -> Heard {
        let flow = self.flows[number].clone();
        let (udp, tcp) = self.ports[flow.to.0].unwrap_or_default();
        let heard = self.arrived[flow.to.0].heard.as_ref().filter(|_| !flow.tcp);
        let heard = heard.map(|heard| heard.contains(&(self.first + number as u64)));
        Heard { port: if flow.tcp { tcp } else { udp }, flow, by_nic: heard }
    }

    /// The rules of all hosts, as some may relay.
    fn rules(&mut self) -> Vec<Option<Rules>> {
        let ports = &self.ports;
        let answers = self.agents.tell(LIMIT, |host| ports[host].map(|_| Order::Rules));
        let rules = answers.into_iter().map(|answer| match answer {
            Some(Ok(Answer::Rules(rules))) => Some(*rules),
            _ => None,
        });
        rules.collect()
    }
}
