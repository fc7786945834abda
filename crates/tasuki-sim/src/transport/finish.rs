//! The end of a run: everything is delivered and received, then nothing may be left over; then all agree on
//! silence; then all say goodbye, and nothing at all may be left.

use super::scenario::Scenario;
use super::world::World;
use tasuki_msg::{Gone, PeerId};
use tasuki_testkit::oracle::{Link, RecvSpec};
use tasuki_testkit::{Check, demand};

/// Virtual time in which everything comes to rest on a network that works, besides the time that the lines
/// need for the bytes.
const REST_NS: u64 = 60_000_000_000;

impl World {
    /// Whether nothing is under way that any node waits for.
    fn at_rest(&self) -> bool {
        let quiet = |node: usize| {
            let (here, host) = (&self.oracle.nodes[node], &self.hosts[node]);
            let active = here.peers.iter().any(|known| known.active && here.lives(known.peer));
            let drained = host.conns.of_node.iter().all(|(there, conn)| {
                let other = &self.oracle.nodes[*there];
                // A node that is dead, or has given this one up, does not answer any more.
                let listens = other.alive && other.peer_for(node).is_none_or(|back| other.lives(back));
                !listens || host.proto.is_drained(*conn)
            });
            let runs = host.stopped_until <= self.now();
            runs && host.socket.is_empty() && !active && drained
        };
        let heard = |(&(from, to), link): (&(usize, usize), &Link)| {
            let (here, there) = (&self.oracle.nodes[from], &self.oracle.nodes[to]);
            let listens = |peer: Option<PeerId>| peer.is_none_or(|peer| there.lives(peer));
            let failed = |peer| here.gone.get(&peer) == Some(&Gone::Failed);
            // A node that has given the other one up sends nothing more; the last frames of a node that has
            // parted are still under way.
            let speaks = here.peer_for(to).is_some_and(|peer| !failed(peer));
            let both = here.alive && there.alive && speaks && listens(there.peer_for(from));
            !both || !link.under_way()
        };
        self.direct_out == 0
            && self.oracle.living().into_iter().all(quiet)
            && self.oracle.links.iter().all(heard)
    }

    /// Lets time pass until everything is at rest.
    pub fn rest(&mut self, what: &str) -> Check {
        for node in self.oracle.living() {
            self.service(node)?;
        }
        let until = self.now().after(REST_NS + self.transfer_ns());
        while !self.at_rest() {
            let stall = self.now() > until || self.kernel.pending() == 0;
            demand(!stall, || format!("a stall: {what} never ends: {}", self.dump()))?;
            self.advance()?;
        }
        Ok(())
    }

    /// Time that the slowest line needs for all bytes, many times over because of losses, ns.
    fn transfer_ns(&mut self) -> u64 {
        let bytes: u64 = self.oracle.sent.iter().map(|sent| sent.len + 2000).sum();
        let slowest = self.network.channels_mut().map(|(_, channel)| channel.line().rate_bps).min();
        bytes.saturating_mul(80_000_000_000) / slowest.unwrap_or(1_000_000_000).max(1)
    }

    /// Lets time pass, so that all news of deaths and all introductions arrive.
    fn let_pass(&mut self, ns: u64) -> Check {
        let until = self.now().after(ns);
        while self.kernel.next_time().is_some_and(|next| next <= until) {
            self.advance()?;
        }
        Ok(())
    }

    /// Whether no node has a connection left.
    fn forgotten(&self) -> bool {
        self.oracle.living().into_iter().all(|node| self.hosts[node].conns.of_conn.is_empty())
    }
}

impl Scenario {
    /// Runs everything that follows the end of the programs.
    pub fn finish(&mut self) -> Check {
        self.world.heal()?;
        // All news of deaths and all introductions have arrived after this time.
        self.world.let_pass(50_000_000)?;
        for node in self.world.oracle.living() {
            self.world.oracle.resume(node)?;
        }
        self.world.rest("what the programs posted")?;
        for _ in 0..2 {
            // Some messages can leave only when others have been received.
            self.receive_all()?;
            self.world.rest("what was received at the end")?;
        }
        self.cancel_all()?;
        self.world.count_wrong_reports();
        self.world.rest("what was cancelled at the end")?;
        self.world.oracle.audit_rest()?;
        self.last_silence()?;
        self.last_goodbye()
    }

    fn receive_all(&mut self) -> Check {
        for node in self.world.oracle.living() {
            while !self.world.oracle.nodes[node].claims.is_empty() {
                self.use_claim(node)?;
            }
            while let Some(message) = self.world.oracle.nodes[node].model.unexpected.first() {
                let spec = RecvSpec::any(message.queue, message.len);
                self.world.oracle.recv(node, spec)?;
            }
        }
        Ok(())
    }

    fn cancel_all(&mut self) -> Check {
        for node in self.world.oracle.living() {
            let posted = &self.world.oracle.nodes[node].model.posted;
            let names: Vec<usize> = posted.iter().map(|posted| posted.name).collect();
            for name in names {
                self.world.oracle.cancel_recv(node, name)?;
            }
        }
        Ok(())
    }

    /// All nodes ask for silence at the same time, and get it.
    fn last_silence(&mut self) -> Check {
        for node in self.world.oracle.living() {
            self.world.oracle.quiesce(node)?;
        }
        self.world.rest("the last silence")?;
        for node in self.world.oracle.living() {
            demand(self.world.oracle.nodes[node].silent, || format!("no silence: {}", self.world.dump()))?;
        }
        for node in self.world.oracle.living() {
            self.world.oracle.resume(node)?;
        }
        self.world.rest("the end of the last silence")
    }

    /// All nodes part from each other, some by themselves and some only in answer; then no connection may be
    /// left.
    fn last_goodbye(&mut self) -> Check {
        self.world.sample_all();
        for (a, b, ..) in self.world.oracle.pairs() {
            let still = |world: &World| {
                let here = &world.oracle.nodes[a];
                here.peer_for(b).is_some_and(|peer| here.lives(peer) && !here.closing.contains(&peer))
            };
            if a != b && (a < b || self.world.rng.chance(50)) && still(&self.world) {
                self.world.oracle.close(a, b)?;
                self.world.service(a)?;
            }
        }
        self.world.rest("the last goodbye")?;
        for (a, b, ..) in self.world.oracle.pairs() {
            demand(a == b, || format!("{a} and {b} have said goodbye and live on: {}", self.world.dump()))?;
        }
        let until = self.world.now().after(REST_NS);
        while !self.world.forgotten() {
            let stall = self.world.now() > until || self.world.kernel.pending() == 0;
            demand(!stall, || format!("a stall: connections are never forgotten: {}", self.world.dump()))?;
            self.world.advance()?;
        }
        for node in self.world.oracle.living() {
            let frames = self.world.oracle.nodes[node].frames.len();
            demand(frames == 0, || format!("node {node}: {frames} payloads are never released"))?;
        }
        Ok(())
    }
}
