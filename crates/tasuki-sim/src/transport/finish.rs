//! The end of a run: everything is delivered and received, then nothing may be left over; then all agree on
//! silence; then all say goodbye, and nothing at all may be left.

use super::rest::REST_NS;
use super::sample::sample_all;
use super::scenario::Scenario;
use super::verdicts::Verdicts;
use super::world::World;
use tasuki_testkit::oracle::RecvSpec;
use tasuki_testkit::{Check, demand};

impl Scenario {
    /// Runs everything that follows the end of the programs.
    pub fn finish(&mut self) -> Check {
        self.world.heal()?;
        // All news of deaths and all introductions have arrived after this time.
        self.world.let_pass(50_000_000)?;
        for node in self.world.oracle.living() {
            self.world.oracle.resume(node)?;
        }
        self.rest("what the programs posted")?;
        for _ in 0..2 {
            // Some messages can leave only when others have been received.
            self.receive_all()?;
            self.rest("what was received at the end")?;
        }
        self.cancel_all()?;
        self.world.count_wrong_reports();
        self.rest("what was cancelled at the end")?;
        self.world.oracle.audit_rest()?;
        self.last_silence()?;
        self.last_goodbye()
    }

    /// Lets time pass until everything is at rest, and those that live know who has given them up.
    fn rest(&mut self, what: &str) -> Check {
        if self.verdicts.is_some() {
            Verdicts::all_are_known(&mut self.world)?;
        }
        self.world.rest(what)
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
        self.rest("the last silence")?;
        for node in self.world.oracle.living() {
            demand(self.world.oracle.nodes[node].silent, || format!("no silence: {}", self.world.dump()))?;
        }
        for node in self.world.oracle.living() {
            self.world.oracle.resume(node)?;
        }
        self.rest("the end of the last silence")
    }

    /// All nodes part from each other, some by themselves and some only in answer; then no connection may be
    /// left.
    fn last_goodbye(&mut self) -> Check {
        for node in self.world.oracle.living() {
            sample_all(&self.world.hosts[node], &mut self.world.oracle.coverage);
        }
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
        self.rest("the last goodbye")?;
        for (a, b, ..) in self.world.oracle.pairs() {
            demand(a == b, || format!("{a} and {b} have said goodbye and live on: {}", self.world.dump()))?;
        }
        let until = self.world.now().after(REST_NS);
        while !is_forgotten(&self.world) {
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

/// Whether no node has a connection left.
fn is_forgotten(world: &World) -> bool {
    world.oracle.living().into_iter().all(|node| world.hosts[node].conns.of_conn.is_empty())
}
