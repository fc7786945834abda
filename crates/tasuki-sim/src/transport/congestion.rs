//! Congestion: many senders and one receiver, or all hosts to all others, through one switch whose ports drop
//! what they cannot hold. Message and packet layers are the real ones, and every message is compared with
//! what was sent.

mod settings;
mod statistics;

use super::event::Event;
use super::host::Habit;
use super::network::End;
use super::run::Failure;
use super::switched::{Switched, TAG};
use super::throughput::PAYLOAD_SHARE;
use super::world::{Carriage, World};
use crate::Rng;
use crate::channel::ETHERNET_OVERHEAD;
use crate::fabric::{Fabric, Room, Settings};
use crate::kernel::Time;
use tasuki_msg::Config;
use tasuki_testkit::oracle::{Oracle, RecvSpec, SendSpec};
use tasuki_testkit::{Check, Text, Trace, demand};
use tasuki_topo::shapes::{self, Fit};
use tasuki_topo::{Engine, Limits, PathRule, route};
use tasuki_wire::{Lane, Lanes};

pub use settings::{
    ALL_GRANTING, ALL_SHORT_LANES, Congestion, CongestionResult, Granting, HOST_NS, ShortLane, Traffic,
};
use statistics::{jain, quantile};

/// Longest run in virtual time, ns.
const TOO_LONG: u64 = 60_000_000_000;
/// Tags of the messages.
const PING: u64 = 1;
const BULK: u64 = 2;

/// The state of a run.
struct Run<'a> {
    plan: &'a Congestion,
    world: World,
    /// The host that sends 64-byte messages to host 0.
    pinger: usize,
}

impl Congestion {
    /// Runs the simulation.
    pub fn measure(&self) -> Result<CongestionResult, Failure> {
        let failure =
            |complaint| Failure { carriage: Carriage::Packets, seed: self.seed, complaint, tail: Vec::new() };
        self.play().map_err(failure)
    }

    fn hosts(&self) -> usize {
        match self.traffic {
            Traffic::Incast => self.senders + 1,
            Traffic::AllToAll => self.senders,
        }
    }

    /// All pairs (sender, receiver), in the order in which they are posted.
    fn pairs(&self) -> Vec<(usize, usize)> {
        let n = self.senders;
        match self.traffic {
            Traffic::Incast => (1..=n).map(|from| (from, 0)).collect(),
            Traffic::AllToAll => {
                (1..n).flat_map(|step| (0..n).map(move |from| (from, (from + step) % n))).collect()
            }
        }
    }

    fn play(&self) -> Check<CongestionResult> {
        demand(self.senders > 1 && self.hosts() < 500, || format!("{} senders", self.senders))?;
        let mut run = Run { plan: self, world: self.world()?, pinger: self.hosts() };
        run.meet()?;
        let mut idle = run.pings_alone(100)?;
        let idle_ns = quantile(&mut idle, 0.5);
        run.loaded(idle_ns)
    }

    fn world(&self) -> Check<World> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let bps = self.rate_mbps * 1_000_000;
        // One host more, which sends the 64-byte messages.
        let fit = Fit::switches(self.hosts() as u32 + 1).rates(bps, bps);
        let net = shapes::full(1, &fit).map_err(|error| text(&error))?;
        let engine = Engine::Minimal(PathRule::LowPortFirst);
        let tables = route(&net, engine, Limits::lossy()).map_err(|error| text(&error))?;
        let largest = 1500 + (TAG + ETHERNET_OVERHEAD) as u32;
        let queue = self.queue_bytes;
        let tagged = self.short == ShortLane::Tagged;
        let room = if tagged { Room::Priority { queue } } else { Room::DropTail { queue } };
        let settings = Settings { room, largest, ..Settings::ethernet() };
        let fabric = Fabric::new(&net, &tables, settings).map_err(|error| text(&error))?;
        // Without initial credit, telling each other's credit opens the connections before anything is
        // measured.
        let config = Config { initial_credit: 0, ..Config::default() };
        let oracle = Oracle::new(config, Trace::new(Text::None));
        let proto = tasuki_proto::Config::default();
        let proto = if tagged { proto.raw_for_short_only() } else { proto };
        let mut world =
            World::new(oracle, self.granting.pacer(), proto, Carriage::Packets, Rng::new(self.seed));
        world.seen.off = true;
        world.watched = true;
        world.events_most = 400_000_000;
        let rate_mbps = self.rate_mbps as u32;
        let udp = Lanes::NONE.with(Lane::Udp);
        let lanes = if self.short == ShortLane::Udp { udp } else { udp.with(Lane::Raw) };
        let end = End { mtu: 1500, rate_mbps, lanes, up: true };
        let mut switched = Switched::new(vec![fabric], end);
        (switched.tagged, switched.host_ns) = (tagged, self.host_ns);
        world.network.switched = Some(switched);
        for place in 0..=self.hosts() {
            world.add_host(place, 0, Habit { poll_ns: 0, socket_bytes: 4 << 20, drain: None });
        }
        Ok(world)
    }
}

impl Run<'_> {
    fn meet(&mut self) -> Check {
        let mut pairs = self.plan.pairs();
        pairs.push((self.pinger, 0));
        for (node, there) in pairs {
            let wait = self.world.rng.below(50_000_000);
            self.world.schedule_after(wait, Event::Meet { node, there });
        }
        while self.world.now() < Time(400_000_000) && self.world.advance()?.is_some() {}
        Ok(())
    }

    fn send(&mut self, from: usize, to: usize, tag: u64, len: u64) -> Check {
        self.world.oracle.send(from, to, SendSpec::tagged(tag, len))?;
        self.world.service(from)
    }

    fn recv(&mut self, node: usize, from: usize, tag: u64, len: u64) -> Check<usize> {
        let spec = RecvSpec { capacity: len, ..RecvSpec::tagged(Some(from), tag, 0) };
        let name = self.world.oracle.recv(node, spec)?;
        self.world.service(node)?;
        Ok(name)
    }

    fn over(&self, node: usize, recv: usize) -> bool {
        self.world.oracle.nodes[node].recvs[recv].over
    }

    fn go_on(&mut self) -> Check {
        demand(self.world.now() < Time(TOO_LONG), || "it takes for ever".into())?;
        demand(self.world.advance()?.is_some(), || format!("a stall at {}", self.world.now()))
    }

    /// Sends messages of 64 bytes on the idle network, one after the other; returns the time that each took,
    /// ns.
    fn pings_alone(&mut self, count: usize) -> Check<Vec<u64>> {
        let mut times = Vec::new();
        for _ in 0..count {
            let recv = self.recv(0, self.pinger, PING, 64)?;
            let begin = self.world.now();
            self.send(self.pinger, 0, PING, 64)?;
            while !self.over(0, recv) {
                self.go_on()?;
            }
            times.push(self.world.now().since(begin));
            // Lets time pass until everything is acknowledged.
            let rest = self.world.now().after(1_000_000);
            while self.world.kernel.next_time().is_some_and(|next| next < rest) {
                self.go_on()?;
            }
        }
        Ok(times)
    }

    fn loaded(&mut self, idle_ns: u64) -> Check<CongestionResult> {
        let (plan, pairs) = (self.plan, self.plan.pairs());
        let mut waits = vec![Vec::new(); pairs.len()];
        for (&(from, to), waits) in pairs.iter().zip(&mut waits) {
            for _ in 0..plan.messages {
                waits.push(self.recv(to, from, BULK, plan.len)?);
            }
        }
        let before = self.counted();
        let begin = self.world.now();
        for _ in 0..plan.messages {
            for &(from, to) in &pairs {
                self.send(from, to, BULK, plan.len)?;
            }
        }
        let (mut got, mut left, mut shares) = (vec![0; pairs.len()], pairs.len() * plan.messages, None);
        let (mut ping, mut next_ping, mut times) = (None, begin.after(plan.ping_every_ns), Vec::new());
        while left > 0 {
            if ping.is_none() && self.world.now() >= next_ping {
                let recv = self.recv(0, self.pinger, PING, 64)?;
                ping = Some((recv, self.world.now()));
                next_ping = self.world.now().after(plan.ping_every_ns);
                self.send(self.pinger, 0, PING, 64)?;
            }
            self.go_on()?;
            if let Some((recv, at)) = ping
                && self.over(0, recv)
            {
                times.push(self.world.now().since(at));
                ping = None;
            }
            if self.world.polled.is_empty() {
                continue;
            }
            self.world.polled.clear();
            for (at, &(_, to)) in pairs.iter().enumerate() {
                while got[at] < plan.messages && self.over(to, waits[at][got[at]]) {
                    got[at] += 1;
                    left -= 1;
                    if got[at] == plan.messages && shares.is_none() {
                        shares = Some(self.delivered(&pairs));
                    }
                }
            }
        }
        let time = self.world.now().since(begin).max(1);
        let after = self.counted();
        let payload = (pairs.len() * plan.messages) as f64 * plan.len as f64;
        let receivers = if plan.traffic == Traffic::Incast { 1.0 } else { plan.senders as f64 };
        let most = receivers * plan.rate_mbps as f64 * 1e6 / 8.0 * PAYLOAD_SHARE;
        Ok(CongestionResult {
            goodput: payload * 1e9 / time as f64 / most,
            fairness: jain(&shares.unwrap_or_default()),
            resent: (after.resent - before.resent) as f64 / payload,
            dropped: (after.dropped - before.dropped) as f64 / (after.packets - before.packets).max(1) as f64,
            idle_ns,
            pings: times.len(),
            p99_ns: quantile(&mut times, 0.99),
        })
    }

    /// Bytes that each sender has had delivered so far.
    fn delivered(&self, pairs: &[(usize, usize)]) -> Vec<f64> {
        let senders = pairs.iter().map(|(from, _)| *from).collect::<std::collections::BTreeSet<_>>();
        let of = |node: usize| {
            let own = self.world.oracle.sent.iter().filter(|sent| sent.from == node && sent.tag == BULK);
            own.map(|sent| sent.arrived.total()).sum::<u64>() as f64
        };
        senders.into_iter().map(of).collect()
    }

    fn counted(&self) -> Counted {
        let hosts = &self.world.hosts;
        let conns = hosts.iter().flat_map(|host| host.conns.of_conn.keys().map(move |conn| (host, *conn)));
        let rails: Vec<_> = conns.flat_map(|(host, conn)| host.proto.rail_stats(conn)).collect();
        Counted {
            resent: rails.iter().map(|rail| rail.resent_bytes).sum(),
            packets: rails.iter().map(|rail| rail.sent_packets).sum(),
            dropped: self.world.network.switched.as_ref().map_or(0, |switched| switched.dropped),
        }
    }
}

/// Counters since the beginning of the run.
struct Counted {
    resent: u64,
    packets: u64,
    dropped: u64,
}
