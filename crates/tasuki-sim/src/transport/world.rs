//! Everything that takes part in a run, and the clock that moves it.

use std::collections::BTreeMap;

use tasuki_msg::{Endpoint, Frame, Pacer, PeerOptions};
use tasuki_proto::Config;
use tasuki_wire::MAX_PACKET_LEN;

use super::defect::Plant;
use super::event::Event;
use super::host::{Habit, Host, local};
use super::laziness::Laziness;
use super::network::Network;
use super::rest::{REST_NS, at_rest, transfer_ns};
use super::upcalls::{Directory, EngineUpcalls};
use crate::Rng;
use crate::kernel::{Kernel, Time};
use tasuki_testkit::oracle::Oracle;
use tasuki_testkit::{Check, demand};

/// What carries frames between different nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carriage {
    /// The packet layer over rails.
    #[default]
    Packets,
    /// Like `Packets`, with a raw lane beside UDP on every rail; some rails pass no raw frames, from the
    /// beginning or for a while.
    Lanes,
    /// A carrier without faults: every frame arrives once, in any order. A failure here is the fault of the
    /// message layer or of the oracle.
    Perfect,
}

pub(crate) struct World {
    pub oracle: Oracle,
    /// Controller of every endpoint.
    pub pacer: Pacer,
    /// Defect to plant into every endpoint.
    pub plant: Plant,
    pub laziness: Laziness,
    pub hosts: Vec<Host>,
    pub network: Network,
    pub directory: Directory,
    /// The node that lives at each place.
    pub tenants: BTreeMap<usize, usize>,
    pub kernel: Kernel<Event>,
    /// Draws what the scenario and the programs do.
    pub rng: Rng,
    pub proto_config: Config,
    pub carriage: Carriage,
    /// Longest delay of frames that go straight to their receiver, ns.
    pub direct_ns: u64,
    /// Number of such frames under way.
    pub direct_out: usize,
    /// Events after which a run counts as one that never ends.
    pub events_most: u64,
    /// No further mishap begins.
    pub calm: bool,
    pub packet: Vec<u8>,
    pub seen: super::inspect::Seen,
    /// `polled` is filled.
    pub watched: bool,
    /// Nodes that have polled since this was last emptied.
    pub polled: Vec<usize>,
}

impl World {
    pub fn new(
        oracle: Oracle,
        pacer: impl Into<Pacer>,
        proto_config: Config,
        carriage: Carriage,
        rng: Rng,
    ) -> World {
        World {
            oracle,
            pacer: pacer.into(),
            plant: Plant::default(),
            laziness: Laziness::default(),
            hosts: Vec::new(),
            network: Network::default(),
            directory: Directory::new(),
            tenants: BTreeMap::new(),
            kernel: Kernel::new(),
            rng,
            proto_config,
            carriage,
            direct_ns: 1,
            direct_out: 0,
            events_most: 4_000_000,
            calm: false,
            packet: vec![0; MAX_PACKET_LEN],
            seen: super::inspect::Seen::default(),
            watched: false,
            polled: Vec::new(),
        }
    }

    /// Adds an endpoint at a place, whose former process, if there was one, is dead.
    pub fn add_host(&mut self, place: usize, endpoint: u32, habit: Habit) -> usize {
        let mut ep = Endpoint::new(self.oracle.config, self.pacer.clone());
        self.plant.plant_msg(&mut ep);
        let node = self.oracle.add_node(ep);
        let incarnation = self.rng.next_u64();
        let secret = [self.rng.next_u64(), self.rng.next_u64()];
        let local = local(place, endpoint, incarnation, secret);
        let mut host = Host::new(place, local, &self.proto_config, self.rng.next_u64(), habit);
        self.plant.plant_proto(&mut host.proto);
        self.hosts.push(host);
        self.tenants.insert(place, node);
        self.directory.insert((endpoint, incarnation), (node, place));
        self.oracle.note(|| format!("node {node} begins at place {place} as endpoint {endpoint}"));
        // Every node knows itself from the beginning.
        self.oracle.acquaint(node, node, PeerOptions::default());
        node
    }

    pub fn now(&self) -> Time {
        self.kernel.now()
    }

    pub fn schedule_after(&mut self, ns: u64, event: Event) {
        self.kernel.schedule(self.now().after(ns), event);
    }

    /// Takes the next event and handles it; a `Step` is returned to the caller, who must handle it.
    pub fn advance(&mut self) -> Check<Option<Event>> {
        if let Some(switched) = &mut self.network.switched {
            switched.advance(&mut self.kernel)?;
        }
        let Some(event) = self.kernel.pop() else { return Ok(None) };
        self.oracle.now_ns = self.kernel.now().0;
        demand(self.kernel.happened() < self.events_most, || {
            format!("{} events and no end: {}", self.kernel.happened(), self.dump())
        })?;
        match event {
            Event::Arrive { to, packet } => self.packet_arrives(to, packet)?,
            Event::Direct { from, to, frame, payload } => self.direct_arrives(from, to, &frame, &payload)?,
            Event::Poll(node) => self.poll_if_due(node)?,
            Event::Mishap(mishap) => self.mishap(mishap)?,
            Event::Tell { node, dead } => self.tell(node, dead)?,
            Event::Meet { node, there } => self.meet(node, there)?,
            Event::Step => return Ok(Some(Event::Step)),
        }
        Ok(Some(Event::Poll(usize::MAX)))
    }

    /// Lets time pass until everything is at rest.
    pub fn rest(&mut self, what: &str) -> Check {
        for node in self.oracle.living() {
            self.service(node)?;
        }
        let until = self.now().after(REST_NS + transfer_ns(self));
        while !at_rest(self) {
            let stall = self.now() > until || self.kernel.pending() == 0;
            demand(!stall, || format!("a stall: {what} never ends: {}", self.dump()))?;
            self.advance()?;
        }
        Ok(())
    }

    /// Lets time pass, so that all news of deaths and all introductions arrive.
    pub fn let_pass(&mut self, ns: u64) -> Check {
        let until = self.now().after(ns);
        while self.kernel.next_time().is_some_and(|next| next <= until) {
            self.advance()?;
        }
        Ok(())
    }

    fn packet_arrives(&mut self, place: usize, packet: Vec<u8>) -> Check {
        let Some(&node) = self.tenants.get(&place) else { return Ok(()) };
        let sum =
            packet.get(24..32).map_or(0, |bytes| bytes.iter().fold(0, |sum, &b| sum << 8 | u64::from(b)));
        self.oracle.trace.mark(&[1, self.now().0, place as u64, packet.len() as u64, sum]);
        if !self.oracle.nodes[node].alive {
            self.oracle.cover("packet for a dead process");
            return Ok(());
        }
        let now = self.now();
        let fits = self.hosts[node].receive(now, packet);
        if !fits {
            self.oracle.cover("socket overflow");
        }
        let wait = self.hosts[node].habit.poll_ns;
        let wait = if wait == 0 { 0 } else { self.rng.below(wait) };
        let ready = self.hosts[node].next_packet().map_or(now, |at| at.max(now));
        self.poll_by(node, ready.after(wait));
        Ok(())
    }

    fn direct_arrives(&mut self, from: usize, to: usize, frame: &Frame, payload: &[u8]) -> Check {
        self.direct_out -= 1;
        if !self.oracle.nodes[to].alive {
            return Ok(());
        }
        let stopped = self.hosts[to].stopped_until;
        if stopped > self.now() {
            self.direct_out += 1;
            let event = Event::Direct { from, to, frame: *frame, payload: payload.to_vec() };
            self.kernel.schedule(stopped, event);
            return Ok(());
        }
        self.oracle.trace.mark(&[2, self.now().0, from as u64, to as u64, payload.len() as u64]);
        self.oracle.arrive(from, to, frame, payload, true)?;
        self.oracle.settle(to)?;
        self.service(to)
    }

    /// Makes the node poll at `at` at the latest, or as soon as it is no longer stopped.
    pub fn poll_by(&mut self, node: usize, at: Time) {
        let host = &mut self.hosts[node];
        let at = at.max(host.stopped_until);
        if host.poll_at.is_none_or(|planned| at < planned) {
            host.poll_at = Some(at);
            self.kernel.schedule(at, Event::Poll(node));
        }
    }

    fn poll_if_due(&mut self, node: usize) -> Check {
        let now = self.now();
        if !self.oracle.nodes[node].alive || self.hosts[node].poll_at != Some(now) {
            return Ok(());
        }
        self.hosts[node].poll_at = None;
        if self.hosts[node].stopped_until > now {
            let until = self.hosts[node].stopped_until;
            self.poll_by(node, until);
            return Ok(());
        }
        self.poll(node)
    }

    /// The packet layer of one node, and its upcalls.
    pub fn split(&mut self, node: usize) -> (&mut tasuki_proto::Proto, EngineUpcalls<'_>) {
        let host = &mut self.hosts[node];
        let upcalls = EngineUpcalls {
            oracle: &mut self.oracle,
            laziness: &mut self.laziness,
            node,
            place: host.place,
            conns: &mut host.conns,
            network: &self.network,
            directory: &self.directory,
            leaving: host.leaving,
            giving_up: false,
            complaint: None,
            delivered: 0,
        };
        (&mut host.proto, upcalls)
    }

    /// The state of everything as text, for complaints.
    pub fn dump(&self) -> String {
        let mut text = self.oracle.dump();
        for (at, host) in self.hosts.iter().enumerate().filter(|(at, _)| self.oracle.nodes[*at].alive) {
            text += &format!(
                "\nnode {at}: polls at {:?}, stopped until {}, {} packets in its socket, deadline {:?}",
                host.poll_at,
                host.stopped_until,
                host.socket.len(),
                (self.carriage != Carriage::Perfect).then(|| host.proto.deadline()),
            );
            for (conn, there) in &host.conns.of_conn {
                text += &format!("\n  to node {there}: {}", host.proto.describe(*conn));
            }
        }
        text
    }
}
