//! Has all hosts send to each other, and asks those for their rules that something did not reach.

use crate::{
    AGENT_COMMAND, Blocked,
    judge::{Heard, Way, judge},
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
    let ways = ways(cluster, &plan);
    let mut prober = Prober::start(fleet, cluster, ways);
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

/// All ways between hosts: datagrams over every rail, and datagrams and connections wherever routes lead.
fn ways(cluster: &Cluster, plan: &AddressPlan) -> Vec<Way> {
    let tables = RailTable::of_all(cluster, plan, None);
    let mut ways = Vec::new();
    let hosts = || (0..cluster.hosts.len()).map(HostId);
    for (from, to) in hosts().flat_map(|from| hosts().map(move |to| (from, to))) {
        let Some(first) = cluster.rails(from, to).into_iter().next() else { continue };
        let [own, other] = first.nics.map(|nic| cluster.nic_of(nic).name.clone());
        let address = |at: HostId, of: HostId| plan.hosts.get(at.0)?.peers.get(of.0).copied();
        let (Some(source), Some(target)) = (address(to, from), address(from, to)) else { continue };
        let routed = Way {
            from,
            to,
            nics: [own, other],
            is_rail: false,
            addresses: [source, target],
            relays: first.relays,
            tcp: false,
        };
        ways.push(Way { tcp: true, ..routed.clone() });
        ways.push(routed);
        let identities = [from, to].map(|host| plan.hosts[host.0].identity);
        let rails = tables[from.0].peers.get(&identities[1]).into_iter().flat_map(|peer| &peer.rails);
        for rail in rails {
            let back = tables[to.0].peers.get(&identities[0]);
            let Some(other) = back.and_then(|peer| peer.rails.iter().find(|one| one.rail == rail.rail))
            else {
                continue;
            };
            ways.push(Way {
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
    ways
}

struct Prober {
    agents: Agents,
    ways: Vec<Way>,
    /// The number of the first way.
    first: u64,
    /// Ports for datagrams and connections; `None`: the host could not be asked.
    ports: Vec<Option<(u16, u16)>>,
    arrived: Vec<Arrived>,
    connected: BTreeSet<u64>,
}

impl Prober {
    fn start(fleet: &Fleet, cluster: &Cluster, ways: Vec<Way>) -> Self {
        let mut agents = Agents::start(fleet, &Task::tasuki([AGENT_COMMAND]));
        let nics = |host: usize| -> Vec<String> {
            let own = ways.iter().filter(|way| way.from.0 == host).map(|way| way.nics[0].clone());
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
        Self { agents, ways, first, ports, arrived, connected: BTreeSet::new() }
    }

    /// Has hosts send what has not arrived yet, and asks what has arrived.
    fn round(&mut self, travel: Duration) {
        let missing: Vec<usize> = self.missing().collect();
        let knock = |number: usize| {
            let way = &self.ways[number];
            let (udp, tcp) = self.ports[way.to.0]?;
            let knock = Knock {
                number: self.first + number as u64,
                nic: way.is_rail.then(|| way.nics[0].clone()),
                from: if way.is_rail { way.addresses[0] } else { Ipv4Addr::UNSPECIFIED },
                to: way.addresses[1],
                port: if way.tcp { tcp } else { udp },
                tcp: way.tcp,
            };
            Some((way.from.0, knock))
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

    /// Ways between hosts that can be asked, over NICs with a carrier, by which nothing has come.
    fn missing(&self) -> impl Iterator<Item = usize> {
        let is_missing = |&number: &usize| {
            let way = &self.ways[number];
            let ends = [way.from.0, way.to.0];
            let is_known = ends.iter().all(|host| self.ports[*host].is_some());
            let mut sides = ends.iter().zip(&way.nics);
            let is_dark = sides.any(|(host, nic)| self.arrived[*host].dark.contains(nic));
            let id = self.first + number as u64;
            let has_come = self.connected.contains(&id) || self.arrived[way.to.0].given.contains(&id);
            is_known && !is_dark && !has_come
        };
        (0..self.ways.len()).filter(is_missing)
    }

    fn heard(&self, number: usize) -> Heard {
        let way = self.ways[number].clone();
        let (udp, tcp) = self.ports[way.to.0].unwrap_or_default();
        let heard = self.arrived[way.to.0].heard.as_ref().filter(|_| !way.tcp);
        let heard = heard.map(|heard| heard.contains(&(self.first + number as u64)));
        Heard { port: if way.tcp { tcp } else { udp }, way, by_nic: heard }
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
