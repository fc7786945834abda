//! The agent, which runs on every host during a check: it listens on the cabled NICs and does what the
//! checker orders.

mod facts;
mod hardware;
mod listen;
mod pairs;
mod random;
mod send;

use crate::protocol::{Answer, Facts, Order};
use facts::Looker;
use listen::Listener;
use pairs::Servers;
use std::io::{self, BufRead, Write};
use tasuki_cluster::{AddressPlan, Cluster, End, HostId, NicId};

/// A host of a cluster, with its plan.
pub(crate) struct Place {
    pub cluster: Cluster,
    pub plan: AddressPlan,
    pub host: HostId,
    pub fingerprint: u32,
}

impl Place {
    fn new(text: &str, host: &str) -> Result<Self, String> {
        let cluster = Cluster::parse(text, None).map_err(|error| error.to_string())?;
        let plan = AddressPlan::new(&cluster).map_err(|error| error.to_string())?;
        let host = cluster.host(host).ok_or_else(|| format!("the cluster has no host {host}"))?;
        let fingerprint = tasuki_watch::fingerprint(&cluster);
        Ok(Self { cluster, plan, host, fingerprint })
    }

    /// Cabled NICs: index and name.
    pub fn nics(&self) -> Vec<(usize, String)> {
        let nics = self.cluster.host_of(self.host).nics.iter().enumerate();
        let is_cabled = |index| self.cluster.cable_at(End::Nic(NicId { host: self.host, index })).is_some();
        nics.filter(|(index, _)| is_cabled(*index)).map(|(index, nic)| (index, nic.name.clone())).collect()
    }

    pub fn host_name(&self) -> &str {
        &self.cluster.host_of(self.host).name
    }
}

/// A running agent.
struct Agent {
    place: Place,
    listeners: Vec<Listener>,
    problems: Vec<(usize, String)>,
    servers: Servers,
    looker: Looker,
}

/// Does what the lines of `input` order until it ends, and answers each with a line on `output`.
pub fn run(input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    // The check measures cables and not how busy the host is, so the agent asks for a higher priority.
    // Without the right to it, it runs like any other process.
    let _ = tasuki_sys::priority::raise();
    let mut agent: Option<Agent> = None;
    for line in input.lines() {
        let answer = match (serde_json::from_str::<Order>(&line?), &mut agent) {
            (Err(error), _) => {
                Answer::Failed(format!("not an order: {error}; is this tasuki of another version?"))
            }
            (Ok(Order::Begin { cluster, host, listen }), _) => match Agent::begin(&cluster, &host, listen) {
                Ok(begun) => {
                    let agent = agent.insert(begun);
                    Answer::Facts(Box::new(agent.look()))
                }
                Err(why) => Answer::Failed(why),
            },
            (Ok(_), None) => Answer::Failed("it was not told who it is".into()),
            (Ok(order), Some(agent)) => agent.obey(order),
        };
        serde_json::to_writer(&mut output, &answer)?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
    Ok(())
}

impl Agent {
    fn begin(cluster: &str, host: &str, listen: bool) -> Result<Self, String> {
        let place = Place::new(cluster, host)?;
        let (mut listeners, mut problems) = (Vec::new(), Vec::new());
        for (index, name) in place.nics().into_iter().filter(|_| listen) {
            match Listener::open(&place, index, &name) {
                Ok(listener) => listeners.push(listener),
                Err(error) => problems.push((index, error.to_string())),
            }
        }
        let servers = Servers::start().map_err(|error| format!("cannot open sockets: {error}"))?;
        Ok(Self { place, listeners, problems, servers, looker: Looker::default() })
    }

    fn look(&mut self) -> Facts {
        let mut facts = self.looker.look(&self.place);
        facts.problems.clone_from(&self.problems);
        (facts.udp_port, facts.tcp_port, facts.random_port) = self.servers.ports();
        facts
    }

    fn obey(&mut self, order: Order) -> Answer {
        match order {
            Order::Begin { .. } => Answer::Failed("it has begun already".into()),
            Order::Greet { run, ms } => {
                send::greet(&self.place, &self.listeners, run, ms);
                Answer::Done
            }
            Order::Fill { nics, run, frames, bytes, bits_per_second } => {
                let chosen = self.listeners.iter().filter(|listener| nics.contains(&listener.index()));
                let filling = send::Filling { run, frames, bytes, bits_per_second };
                Answer::Sent(send::fill(&self.place, &chosen.collect::<Vec<_>>(), filling))
            }
            Order::Ping { run, count } => {
                Answer::Pinged(send::ping(&self.place, &self.listeners, run, count))
            }
            Order::Tally { run } => {
                Answer::Tally(self.listeners.iter().map(|listener| listener.tally(run)).collect())
            }
            Order::Latency { to, port, count } => Answer::Times(pairs::latency(to, port, count)),
            Order::Throughput { to, port, bytes, ms } => Answer::Rate(pairs::throughput(to, port, bytes, ms)),
            Order::Random { seed, ms, peers, memory_mb, workers, bytes_per_second } => {
                let test = random::Test { seed, ms, peers, memory_mb, workers, bytes_per_second };
                Answer::Random(Box::new(test.run(self.place.host_name(), self.servers.random())))
            }
            Order::Look => Answer::Facts(Box::new(self.look())),
        }
    }
}
