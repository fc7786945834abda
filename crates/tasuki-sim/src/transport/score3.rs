//! 512 endpoints with real message and packet layers on the networks of SCore III (Ishikawa, Sumimoto,
//! Harada: "Building a large PC cluster", 2001): Myrinet with full bisection, and one or two planes of
//! Ethernet with a third of it.

use super::event::Event;
use super::host::Habit;
use super::network::End;
use super::run::Failure;
use super::switched::Switched;
use super::world::{Carriage, World};
use crate::Rng;
use crate::channel::ETHERNET_OVERHEAD;
use crate::fabric::{Fabric, FlowControl, Room, Settings};
use crate::kernel::Time;
use tasuki_msg::{Config, Window};
use tasuki_testkit::oracle::Oracle;
use tasuki_testkit::oracle::{RecvSpec, SendSpec};
use tasuki_testkit::{Check, demand};
use tasuki_testkit::{Text, Trace};
use tasuki_topo::shapes::{self, Fit};
use tasuki_topo::{Engine, Limits, Network, PathRule, route};
use tasuki_wire::{Lane, Lanes};

/// A network of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Score3 {
    /// Switches with 16 ports of 2 Gbit/s in three levels, with as many cables up as down: 512 hosts, full
    /// bisection. A full buffer stops its sender; nothing is dropped.
    Myrinet,
    /// One or two planes, each of 16 switches with 32 hosts at 100 Mbit/s, joined by one switch over one 1
    /// Gbit/s cable each. Switches store and forward, and drop what 128 KiB per port do not hold.
    Ethernet {
        /// Number of planes: 1 or 2.
        planes: u8,
    },
}

/// Number of hosts of the machine.
const HOSTS: usize = 512;

impl Score3 {
    /// The network of one plane.
    pub fn network(self) -> Result<Network, tasuki_topo::NetworkError> {
        match self {
            Score3::Myrinet => shapes::fat_tree(8, 8, 2, &Fit::switches(8).rates(MYRINET_BPS, MYRINET_BPS)),
            Score3::Ethernet { .. } => {
                shapes::leaf_spine(16, 1, 1, &Fit::switches(32).rates(1_000_000_000, 100_000_000))
            }
        }
    }

    fn mtu(self) -> u16 {
        match self {
            Score3::Myrinet => 4096,
            Score3::Ethernet { .. } => 1500,
        }
    }

    fn planes(self) -> u8 {
        match self {
            Score3::Myrinet => 1,
            Score3::Ethernet { planes } => planes.clamp(1, 2),
        }
    }

    /// Rate at which the machine's two halves can exchange data, both directions together, bit/s: 1 Tbit/s,
    /// and 16 Gbit/s per plane (the paper's figure may also be both planes in one direction, half as much).
    pub fn bisection_bps(self) -> f64 {
        match self {
            Score3::Myrinet => (HOSTS / 2 * 2) as f64 * MYRINET_BPS as f64,
            Score3::Ethernet { .. } => 16e9 * f64::from(self.planes()),
        }
    }

    fn settings(self) -> Settings {
        let largest = u32::from(self.mtu()) + ETHERNET_OVERHEAD as u32;
        match self {
            Score3::Myrinet => Settings {
                room: Room::Lossless { buffer: 2 * largest, flow: FlowControl::Credits },
                largest,
                ..Settings::lossless()
            },
            Score3::Ethernet { .. } => Settings { largest, ..Settings::ethernet() },
        }
    }

    fn fabrics(self) -> Check<Vec<Fabric>> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let net = self.network().map_err(|error| text(&error))?;
        // Each destination gets one of the many equal routes of a tree. If the hosts of a switch were spread
        // over them switch by switch, the routes to the first hosts of all switches would meet one level
        // higher, so the routes must be balanced.
        let (engine, limits) = match self {
            Score3::Myrinet => (Engine::Dfsssp, Limits::lossless(1)),
            Score3::Ethernet { .. } => (Engine::Minimal(PathRule::LowPortFirst), Limits::lossy()),
        };
        let tables = route(&net, engine, limits).map_err(|error| text(&error))?;
        let fabric = |_| Fabric::new(&net, &tables, self.settings()).map_err(|error| text(&error));
        (0..self.planes()).map(fabric).collect()
    }
}

const MYRINET_BPS: u64 = 2_000_000_000;

/// What the endpoints do: first a barrier of all, then every host of one half of the machine exchanges
/// messages with its partner in the other half.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    /// The network.
    pub network: Score3,
    /// Number of endpoints, one per host: a power of two, at most 512.
    pub endpoints: usize,
    /// Length of a message, bytes.
    pub len: u64,
    /// Messages that each endpoint sends.
    pub messages: usize,
    /// Seed of all random choices of the endpoints.
    pub seed: u64,
}

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carried {
    /// Number of connections between endpoints.
    pub connections: usize,
    /// Time of the barrier (dissemination, messages of 8 bytes), us.
    pub barrier_us: f64,
    /// Payload rate of the exchange, all endpoints together, bit/s.
    pub payload_bps: f64,
    /// The rate as a share of what the bisection carries, or of what the cables of the hosts carry that take
    /// part, if that is less.
    pub share: f64,
    /// Number of packets that switches dropped in the whole run.
    pub dropped: u64,
    /// Bytes of payload sent again in the exchange.
    pub resent_bytes: u64,
    /// Events of the run.
    pub events: u64,
}

impl Exchange {
    /// Runs the simulation; fails with what an endpoint did wrong. Every message is compared with what was
    /// sent.
    pub fn run(&self) -> Result<Carried, Failure> {
        let failure =
            |complaint| Failure { carriage: Carriage::Packets, seed: self.seed, complaint, tail: Vec::new() };
        self.play().map_err(failure)
    }

    fn play(&self) -> Check<Carried> {
        let n = self.endpoints;
        demand(n.is_power_of_two() && (2..=HOSTS).contains(&n), || {
            format!("{n} endpoints; take a power of two from 2 to {HOSTS}")
        })?;
        let mut world = self.world()?;
        self.meet(&mut world)?;
        let barrier_us = self.barrier(&mut world)?;
        let time = self.exchange(&mut world)?;
        let payload_bps = (n * self.messages) as f64 * self.len as f64 * 8e9 / time.max(1) as f64;
        let own = match self.network {
            Score3::Myrinet => MYRINET_BPS as f64,
            Score3::Ethernet { planes } => 1e8 * f64::from(planes),
        };
        let most = self.network.bisection_bps().min(own * n as f64);
        let conns = |at: usize| world.hosts[at].conns.of_conn.keys();
        let stats = (0..n).flat_map(|at| conns(at).map(move |conn| (at, *conn)));
        let resent = stats.flat_map(|(at, conn)| world.hosts[at].proto.rail_stats(conn));
        Ok(Carried {
            connections: (0..n).map(|at| conns(at).count()).sum::<usize>() / 2,
            barrier_us,
            payload_bps,
            share: payload_bps / most,
            dropped: world.network.switched.as_ref().map_or(0, |switched| switched.dropped),
            resent_bytes: resent.map(|rail| rail.resent_bytes).sum(),
            events: world.kernel.happened(),
        })
    }

    /// Place of endpoint `at`: the endpoints of a smaller run are spread over the machine.
    fn place(&self, at: usize) -> usize {
        at * (HOSTS / self.endpoints)
    }

    fn world(&self) -> Check<World> {
        // Without initial credit, telling each other's credit opens the connections before anything is
        // measured.
        let config = Config { initial_credit: 0, ..Config::default() };
        let oracle = Oracle::new(config, Trace::new(Text::None));
        let proto = tasuki_proto::Config::default();
        let mut world = World::new(oracle, Window::default(), proto, Carriage::Packets, Rng::new(self.seed));
        world.seen.off = true;
        world.watched = true;
        world.events_most = 200_000_000;
        let rate_mbps = if self.network == Score3::Myrinet { 2000 } else { 100 };
        let end = End { mtu: self.network.mtu(), rate_mbps, lanes: Lanes::NONE.with(Lane::Udp), up: true };
        world.network.switched = Some(Switched::new(self.network.fabrics()?, end));
        for at in 0..self.endpoints {
            world.add_host(self.place(at), 0, Habit { poll_ns: 0, socket_bytes: 4 << 20, drain: None });
        }
        Ok(world)
    }

    /// Distances to the partners in the barrier: 1, 2, 4, ...; the last one is also that of the exchange.
    fn distances(&self) -> impl Iterator<Item = usize> {
        let n = self.endpoints;
        (0..n.trailing_zeros()).map(|bit| 1usize << bit)
    }

    /// Lets every endpoint get to know its partners, and waits until all is quiet.
    fn meet(&self, world: &mut World) -> Check {
        for node in 0..self.endpoints {
            for distance in self.distances() {
                let there = (node + distance) % self.endpoints;
                // The endpoints do not begin in the same nanosecond, because jobs do not start like that.
                let wait = world.rng.below(50_000_000);
                world.schedule_after(wait, Event::Meet { node, there });
            }
        }
        while world.now() < Time(400_000_000) && world.advance()?.is_some() {}
        world.polled.clear();
        Ok(())
    }

    fn send(world: &mut World, from: usize, to: usize, tag: u64, len: u64) -> Check {
        world.oracle.send(from, to, SendSpec::tagged(tag, len))?;
        world.service(from)
    }

    /// Posts a receive from one peer; returns its number.
    fn recv(world: &mut World, node: usize, from: usize, tag: u64, len: u64) -> Check<usize> {
        let spec = RecvSpec { capacity: len, ..RecvSpec::tagged(Some(from), tag, 0) };
        world.oracle.recv(node, spec)
    }

    /// Runs a dissemination barrier; returns its time, us.
    fn barrier(&self, world: &mut World) -> Check<f64> {
        let (n, steps) = (self.endpoints, self.endpoints.trailing_zeros() as usize);
        let mut waits = vec![Vec::new(); n];
        for (node, waits) in waits.iter_mut().enumerate() {
            for (step, distance) in self.distances().enumerate() {
                waits.push(Self::recv(world, node, (node + n - distance) % n, step as u64, 8)?);
            }
        }
        let begin = world.now();
        let mut step_of = vec![0; n];
        for node in 0..n {
            Self::send(world, node, (node + 1) % n, 0, 8)?;
        }
        let mut done = 0;
        while done < n {
            self.go_on(world)?;
            while let Some(node) = world.polled.pop() {
                while step_of[node] < steps && world.oracle.nodes[node].recvs[waits[node][step_of[node]]].over
                {
                    step_of[node] += 1;
                    let step = step_of[node];
                    match step < steps {
                        true => Self::send(world, node, (node + (1 << step)) % n, step as u64, 8)?,
                        false => done += 1,
                    }
                }
            }
        }
        Ok(world.now().since(begin) as f64 / 1e3)
    }

    /// Every endpoint exchanges messages with the one at half the machine's distance; returns the time, ns.
    fn exchange(&self, world: &mut World) -> Check<u64> {
        const TAG: u64 = 1000;
        let n = self.endpoints;
        let mut waits = vec![Vec::new(); n];
        for (node, waits) in waits.iter_mut().enumerate() {
            for _ in 0..self.messages {
                waits.push(Self::recv(world, node, (node + n / 2) % n, TAG, self.len)?);
            }
        }
        let begin = world.now();
        for _ in 0..self.messages {
            for node in 0..n {
                Self::send(world, node, (node + n / 2) % n, TAG, self.len)?;
            }
        }
        let (mut got, mut done) = (vec![0; n], 0);
        while done < n {
            self.go_on(world)?;
            while let Some(node) = world.polled.pop() {
                while got[node] < self.messages && world.oracle.nodes[node].recvs[waits[node][got[node]]].over
                {
                    got[node] += 1;
                    done += usize::from(got[node] == self.messages);
                }
            }
        }
        Ok(world.now().since(begin))
    }

    /// Handles the next event; fails if there is none or the run takes too long.
    fn go_on(&self, world: &mut World) -> Check {
        demand(world.now() < Time(120_000_000_000), || "it takes for ever".into())?;
        let under_way = |world: &World| world.network.switched.as_ref().map_or(0, Switched::under_way);
        demand(world.advance()?.is_some(), || {
            format!("a stall at {}, {} packets under way", world.now(), under_way(world))
        })
    }
}
