//! How much two endpoints carry over some rails, in virtual time: without processors and kernels, only lines
//! and the two layers. What is lost here, no machine can make up for.

use super::event::Event;
use super::host::Habit;
use super::network::End;
use super::run::Failure;
use super::world::{Carriage, World};
use crate::Rng;
use crate::channel::{Channel, ETHERNET_OVERHEAD, Line};
use crate::faults::Faults;
use crate::kernel::Time;
use tasuki_msg::{Config, Queue, Window};
use tasuki_testkit::oracle::Oracle;
use tasuki_testkit::oracle::{RecvSpec, SendSpec};
use tasuki_testkit::{Check, demand};
use tasuki_testkit::{Text, Trace};
use tasuki_wire::{Lane, Lanes};

/// Share of a line's rate that is left for payload at MTU 1500 over UDP on IPv4: 1425 bytes ("usual" in the
/// table of sizes in `docs/reference/wire.md`) of the 1538 that a full frame takes on the cable.
pub const PAYLOAD_SHARE: f64 = 1425.0 / 1538.0;

/// A stream of messages from one host to another.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Rates of the rails, Mbit/s, in the order of their numbers.
    pub rates_mbps: Vec<u64>,
    /// Rate of the routed rail, number 31, Mbit/s; `None` if there is none.
    pub routed_mbps: Option<u64>,
    /// The endpoints know the rates from their configuration; otherwise they have to measure them.
    pub rates_known: bool,
    /// Propagation delay of each, ns.
    pub delay_ns: u64,
    /// Queue of each port, bytes.
    pub queue_bytes: u64,
    /// Packets lost on each rail, parts per million.
    pub loss_ppm: u32,
    /// Size of the messages, bytes.
    pub len: u64,
    /// Most messages that are posted and not complete.
    pub outstanding: usize,
    /// Number of messages.
    pub messages: usize,
    /// Longest time until a host looks at its packets because it has other things to do, ns.
    pub poll_ns: u64,
    /// Seed of losses.
    pub seed: u64,
}

impl Default for Stream {
    fn default() -> Stream {
        Stream {
            rates_mbps: vec![100; 4],
            routed_mbps: None,
            rates_known: true,
            delay_ns: 10_000,
            queue_bytes: 128 << 10,
            loss_ppm: 0,
            len: 64 << 10,
            outstanding: 64,
            messages: 256,
            poll_ns: 0,
            seed: 1,
        }
    }
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Payload received, bytes per second, from the post of the first message to the receipt of the last.
    pub bytes_per_s: f64,
    /// The rate as a share of what lines of these rates can carry ([`PAYLOAD_SHARE`]).
    pub share: f64,
    /// Mean time from the post of a message to its receipt, ns.
    pub latency_ns: f64,
    /// Bytes sent on each rail, whole packets, both ways; in the order of the rails.
    pub rail_bytes: Vec<u64>,
    /// Bytes of payload sent again.
    pub resent_bytes: u64,
}

impl Stream {
    fn world(&self) -> Check<World> {
        let oracle = Oracle::new(Config::default(), Trace::new(Text::None));
        let proto = tasuki_proto::Config::default();
        let mut world = World::new(oracle, Window::default(), proto, Carriage::Packets, Rng::new(self.seed));
        world.seen.off = true;
        let habit = Habit { poll_ns: self.poll_ns, socket_bytes: 4 << 20, drain: None };
        world.add_host(0, 0, habit);
        world.add_host(1, 0, habit);
        let routed = self.routed_mbps.map(|rate| (31, rate));
        for (number, rate) in (0..).zip(self.rates_mbps.iter().copied()).chain(routed) {
            let line = Line {
                rate_bps: rate * 1_000_000,
                delay_ns: self.delay_ns,
                queue_bytes: self.queue_bytes,
                overhead_bytes: ETHERNET_OVERHEAD,
                mtu: 1500,
            };
            let faults = Faults { loss_ppm: self.loss_ppm, ..Faults::NONE };
            let rate_mbps = if self.rates_known { rate as u32 } else { 0 };
            let end = End { mtu: 1500, rate_mbps, lanes: Lanes::NONE.with(Lane::Udp), up: true };
            for (from, to) in [(0, 1), (1, 0)] {
                let channel = Channel::new(line, faults, world.rng.fork());
                world.network.add(from, to, number, end, channel);
            }
        }
        world.schedule_after(0, Event::Meet { node: 0, there: 1 });
        // The handshake, the first credit and the probes of the rails are over when the stream begins.
        while world.kernel.next_time().is_some_and(|next| next < Time(100_000_000)) {
            world.advance()?;
        }
        Ok(world)
    }

    /// Runs the stream.
    pub fn measure(&self) -> Result<Measured, Failure> {
        let failure = |complaint| Failure {
            carriage: super::world::Carriage::Packets,
            seed: self.seed,
            complaint,
            tail: Vec::new(),
        };
        self.run().map_err(failure)
    }

    fn run(&self) -> Check<Measured> {
        let mut world = self.world()?;
        let before = rail_bytes(&world);
        let (mut posted, mut received, mut sent) = (Vec::new(), Vec::new(), 0);
        let spec = SendSpec::tagged(1, self.len);
        for _ in 0..(2 * self.outstanding).min(self.messages) {
            world.oracle.recv(1, RecvSpec::any(Queue::Tagged, self.len))?;
        }
        while received.len() < self.messages {
            // Receives are posted in order, so they complete in order, as sends (nearly) do.
            while received.len() < posted.len() && world.oracle.nodes[1].recvs[received.len()].over {
                received.push(world.now());
                if world.oracle.nodes[1].recvs.len() < self.messages {
                    world.oracle.recv(1, RecvSpec::any(Queue::Tagged, self.len))?;
                }
            }
            while sent < posted.len() && world.oracle.sent[sent].result.is_some() {
                sent += 1;
            }
            let done = if self.outstanding == 1 { received.len() } else { sent };
            while posted.len() < self.messages && posted.len() - done < self.outstanding {
                world.oracle.send(0, 1, spec)?;
                posted.push(world.now());
                world.service(0)?;
            }
            let late = world.now() > Time(1_000_000_000_000);
            demand(!late, || format!("a stream that takes for ever: {}", world.dump()))?;
            demand(world.kernel.pending() > 0, || format!("a stall: {}", world.dump()))?;
            world.advance()?;
        }
        Ok(self.judge(&world, &before, &posted, &received))
    }

    fn judge(&self, world: &World, before: &[u64], posted: &[Time], received: &[Time]) -> Measured {
        let (from, to) = (posted.first(), received.last());
        let time = to.zip(from).map_or(1, |(to, from)| to.since(*from)).max(1);
        let bytes_per_s = received.len() as f64 * self.len as f64 * 1e9 / time as f64;
        let sum: u64 = self.rates_mbps.iter().sum();
        let waits = posted.iter().zip(received).map(|(from, to)| to.since(*from) as f64);
        let after = rail_bytes(world);
        Measured {
            bytes_per_s,
            share: bytes_per_s * 8.0 / (sum as f64 * 1e6 * PAYLOAD_SHARE),
            latency_ns: waits.sum::<f64>() / received.len().max(1) as f64,
            rail_bytes: after.iter().zip(before).map(|(after, before)| after - before).collect(),
            resent_bytes: stats(world).map(|rail| rail.resent_bytes).sum(),
        }
    }
}

fn stats(world: &World) -> impl Iterator<Item = tasuki_proto::RailStats> {
    let conns = world.hosts[0].conns.of_conn.keys();
    conns.flat_map(|conn| world.hosts[0].proto.rail_stats(*conn))
}

fn rail_bytes(world: &World) -> Vec<u64> {
    stats(world).map(|rail| rail.sent_bytes).collect()
}
