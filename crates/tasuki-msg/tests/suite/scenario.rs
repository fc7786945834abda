//! Random programs on random networks. The seed decides everything: how many nodes, which faults, how much
//! credit, what is posted when, and what arrives when.

use tasuki_msg::{Config, Defect, INITIAL_CREDIT, PeerOptions, Queue, Window};

use tasuki_random::Random;
use tasuki_testkit::oracle::{MessageState, Node, RecvSpec, SendSpec};
use tasuki_testkit::{Check, Coverage, demand};

use crate::world::{Habits, World};

/// Kinds of event that a seed has switched on.
struct Kinds {
    deaths: bool,
    partings: bool,
    silence: bool,
    pulls: bool,
    cancels: bool,
    probes: bool,
    odd_masks: bool,
    stopped: bool,
    /// Percentage of the carriers' steps that are arrivals; the others are departures.
    arrivals: u64,
    longest: u64,
}

struct Scenario {
    world: World,
    kinds: Kinds,
    /// Deaths that are still to be told: (node to be told, node that died).
    news: Vec<(usize, usize)>,
}

/// Runs one seed. Returns what was reached, or what went wrong.
pub fn run(seed: u64, defect: Option<Defect>) -> Check<Coverage> {
    let mut rng = Random::new(seed);
    let kinds = Kinds {
        deaths: rng.chance(30),
        partings: rng.chance(15),
        silence: rng.chance(35),
        pulls: rng.chance(30),
        cancels: rng.chance(40),
        probes: rng.chance(50),
        odd_masks: rng.chance(15),
        stopped: rng.chance(30),
        arrivals: rng.pick(&[20, 40, 50, 70]),
        longest: rng.pick(&[8, 100, 700, 3000]),
    };
    let config = Config {
        pool_bytes: rng.pick(&[0, 1500, 12_000, 40_000, 1 << 20, 1 << 20]),
        peer_bytes: rng.pick(&[1200, 4000, 65_536, 65_536]),
        expected_peers: rng.pick(&[1, 1, 4]),
        // Drawn from a copy of the generator, so that all other draws of a seed stay the same.
        initial_credit: rng.clone().pick(&[0, INITIAL_CREDIT]),
    };
    let window = Window {
        eager_max: rng.pick(&[0, 16, 200, 1000]),
        unscheduled: rng.pick(&[0, 0, 64, 500]),
        window: rng.pick(&[0, 256, 2000, 1 << 20]),
        quantum: rng.pick(&[40, 128, 600, 1 << 20]),
    };
    let habits = Habits {
        reorder: rng.pick(&[0, 20, 70, 100]),
        copy: rng.pick(&[0, 50, 100]),
        cut: rng.pick(&[0, 30]),
        lazy: rng.pick(&[0, 0, 40]),
        pull_fails: rng.pick(&[0, 30]),
        rooms: rng.pick(&[[16, 64, 4096], [4096; 3], [64, 200, 200], [24, 100, 1000]]),
    };
    let nodes = 1 + rng.below(4);
    let steps = 60 + rng.below(300);
    let world = World::new(rng, config, window, habits, defect);
    let mut scenario = Scenario { world, kinds, news: Vec::new() };
    for _ in 0..nodes {
        scenario.add_node();
    }
    if scenario.world.rng.chance(60) {
        // The first credit arrives before the program begins.
        scenario.world.drain()?;
    }
    for _ in 0..steps {
        scenario.step()?;
    }
    scenario.finish()?;
    scenario.count_exhaustion();
    Ok(scenario.world.oracle.coverage)
}

impl Scenario {
    /// Counts how often a message would have been sent at once if there had been credit.
    fn count_exhaustion(&mut self) {
        let counters = |node: &Node| {
            let known = node.peers.iter().filter_map(|known| node.ep.counters(known.peer));
            known.map(|counters| counters.sent_short_of_credit).sum::<u64>()
        };
        let exhausted: u64 = self.world.nodes.iter().map(counters).sum();
        self.world.coverage.add("credit exhausted", exhausted);
    }

    fn add_node(&mut self) {
        let pull = self.kinds.pulls && self.world.rng.chance(60);
        let inline_max = self.world.rng.pick(&[0, 64, u64::MAX, u64::MAX]);
        self.world.add_node(PeerOptions { inline_max, pull });
    }

    fn step(&mut self) -> Check {
        let living = self.world.living();
        let node = self.world.rng.pick(&living);
        match self.world.rng.below(100) {
            0..12 => self.post_send(node),
            12..26 => self.post_recv(node).map(drop),
            26..32 if self.kinds.probes => self.probe(node),
            32..36 if self.kinds.cancels => self.cancel(node),
            36..38 => self.change_membership(node, &living),
            38..40 if self.kinds.silence && self.world.nodes[node].asked.is_none() => {
                self.quiesce_for_a_while(node)
            }
            40..43 if self.world.nodes[node].asked.is_some() => self.world.resume(node),
            43..46 => self.report_deaths(),
            46..50 => self.world.pull(node),
            _ => self.carry(node),
        }
    }

    /// A node that this one knows, dead or alive.
    fn partner(&mut self, node: usize) -> usize {
        let known: Vec<usize> = self.world.nodes[node].peers.iter().map(|known| known.there).collect();
        self.world.rng.pick(&known)
    }

    fn queue(&mut self) -> Queue {
        match self.world.rng.below(100) {
            0..70 => Queue::Tagged,
            70..92 => Queue::Msg,
            _ => Queue::Internal,
        }
    }

    fn tag(&mut self) -> u64 {
        // Two communicators, three tags, and protocol bits at the top, as MPIs have them.
        let rng = &mut self.world.rng;
        rng.below(3) | rng.below(2) << 32 | rng.below(2) << 60
    }

    fn ignore(&mut self) -> u64 {
        let rng = &mut self.world.rng;
        if self.kinds.odd_masks {
            return rng.pick(&[0, 1, 2, 3, 1 << 32]) | rng.pick(&[0, 1 << 60]) | rng.below(4) << 40;
        }
        let protocol = 3 << 60;
        rng.pick(&[0, protocol, protocol | 0xffff_ffff, u64::MAX])
    }

    fn len(&mut self) -> u64 {
        let longest = self.kinds.longest;
        let rng = &mut self.world.rng;
        if rng.chance(20) { 0 } else { rng.below(longest + 1) }
    }

    fn post_send(&mut self, node: usize) -> Check {
        for _ in 0..1 + self.world.rng.below(3) {
            let to = self.partner(node);
            let (queue, tag, len) = (self.queue(), self.tag(), self.len());
            let rng = &mut self.world.rng;
            let data = rng.chance(50).then(|| rng.next_u64());
            let (delivery, pull) = (rng.chance(20), self.kinds.pulls && rng.chance(70));
            let remote_key = pull.then_some(0);
            let spec = SendSpec { queue, tag, data, len, delivery, remote_key, pace: None };
            self.world.send(node, to, spec)?;
        }
        Ok(())
    }

    fn random_receive(&mut self, node: usize) -> RecvSpec {
        let source = self.partner(node);
        let (queue, tag, ignore, capacity) = (self.queue(), self.tag(), self.ignore(), self.len());
        let rng = &mut self.world.rng;
        let multi = rng.chance(20).then(|| rng.below(60));
        let capacity = if rng.chance(80) { capacity + self.kinds.longest } else { capacity };
        let source = rng.chance(50).then_some(source);
        RecvSpec { queue, source, tag, ignore, capacity, multi }
    }

    fn post_recv(&mut self, node: usize) -> Check<usize> {
        let spec = self.random_receive(node);
        self.world.recv(node, spec)
    }

    fn probe(&mut self, node: usize) -> Check {
        let spec = self.random_receive(node);
        match self.world.rng.below(4) {
            0 => self.world.peek(node, &spec).map(drop),
            1 => self.world.claim(node, &spec).map(drop),
            2 => self.world.discard(node, &spec).map(drop),
            _ => self.use_claim(node),
        }
    }

    fn use_claim(&mut self, node: usize) -> Check {
        let claims = self.world.nodes[node].claims.len();
        if claims == 0 {
            return Ok(());
        }
        let at = self.world.rng.index(claims);
        let capacity = self.len() + if self.world.rng.chance(70) { self.kinds.longest } else { 0 };
        let capacity = self.world.rng.chance(70).then_some(capacity);
        self.world.use_claim(node, at, capacity).map(drop)
    }

    fn cancel(&mut self, node: usize) -> Check {
        if self.world.rng.chance(50) {
            let recvs = &self.world.nodes[node].recvs;
            let open: Vec<usize> = (0..recvs.len()).filter(|&at| !recvs[at].over).collect();
            if !open.is_empty() {
                let name = self.world.rng.pick(&open);
                return self.world.cancel_recv(node, name);
            }
        } else {
            let mine = |name: &usize| {
                let sent = &self.world.sent[*name];
                sent.from == node && sent.result.is_none()
            };
            let open: Vec<usize> = (0..self.world.sent.len()).filter(mine).collect();
            if !open.is_empty() {
                let name = self.world.rng.pick(&open);
                return self.world.cancel_send(name);
            }
        }
        Ok(())
    }

    /// A node dies, parts from another, or joins.
    fn change_membership(&mut self, node: usize, living: &[usize]) -> Check {
        if self.kinds.partings && self.world.rng.chance(40) {
            let there = self.partner(node);
            return self.world.close(node, there);
        }
        if !self.kinds.deaths || self.world.nodes.len() > 6 {
            return Ok(());
        }
        if living.len() > 1 && self.world.rng.chance(60) {
            self.world.kill(node);
            self.news.extend(living.iter().filter(|&&other| other != node).map(|&other| (other, node)));
        } else {
            self.add_node();
        }
        Ok(())
    }

    fn report_deaths(&mut self) -> Check {
        if self.news.is_empty() {
            return Ok(());
        }
        let at = self.world.rng.index(self.news.len());
        let (node, dead) = self.news.swap_remove(at);
        if self.world.nodes[node].alive { self.world.peer_failed(node, dead) } else { Ok(()) }
    }

    /// A node asks for silence, and perhaps has the time to get it before anything else is posted.
    fn quiesce_for_a_while(&mut self, node: usize) -> Check {
        self.world.quiesce(node)?;
        for _ in 0..self.world.rng.pick(&[0, 0, 60, 200]) {
            let living = self.world.living();
            let node = self.world.rng.pick(&living);
            self.carry(node)?;
        }
        Ok(())
    }

    /// The carriers do one step. The share of arrivals decides how much is under way.
    fn carry(&mut self, node: usize) -> Check {
        if self.world.rng.chance(self.kinds.arrivals) {
            return self.deliver_some();
        }
        self.world.transmit(node).map(drop)
    }

    fn deliver_some(&mut self) -> Check {
        let busy = self.world.busy_links();
        if busy.is_empty() {
            return Ok(());
        }
        let (from, to) = self.world.rng.pick(&busy);
        if !self.world.nodes[from].alive && self.world.rng.chance(40) {
            self.world.lose(from, to);
            return Ok(());
        }
        self.world.deliver(from, to)
    }

    /// Everything is delivered and received; then everything must be over.
    fn finish(&mut self) -> Check {
        while !self.news.is_empty() {
            self.report_deaths()?;
        }
        for node in self.world.living() {
            self.world.resume(node)?;
        }
        if self.kinds.stopped {
            self.stop_one()?;
        }
        self.world.drain()?;
        self.receive_all()?;
        self.world.drain()?;
        // Some messages could leave only when others had been received.
        self.receive_all()?;
        self.world.drain()?;
        for node in self.world.living() {
            let names: Vec<usize> =
                self.world.nodes[node].model.posted.iter().map(|posted| posted.name).collect();
            for name in names {
                self.world.cancel_recv(node, name)?;
            }
        }
        self.world.drain()?;
        self.world.audit_rest()?;
        self.last_silence()
    }

    /// A stopped process must not keep other processes from each other's messages.
    fn stop_one(&mut self) -> Check {
        let living = self.world.living();
        let stopped = self.world.rng.pick(&living);
        self.world.stopped = Some(stopped);
        self.world.drain()?;
        for (name, sent) in self.world.sent.iter().enumerate() {
            let concerned = sent.from == stopped || sent.to == stopped || !self.world.nodes[sent.from].alive;
            let matched = matches!(sent.state, MessageState::Matched { .. });
            demand(concerned || !matched || sent.result.is_some(), || {
                format!("message {name} waits for node {stopped}, which is stopped: {}", self.world.dump())
            })?;
        }
        self.world.stopped = None;
        self.world.cover("a process was stopped");
        Ok(())
    }

    fn receive_all(&mut self) -> Check {
        for node in self.world.living() {
            while !self.world.nodes[node].claims.is_empty() {
                self.use_claim(node)?;
            }
            while let Some(message) = self.world.nodes[node].model.unexpected.first() {
                let queue = message.queue;
                let capacity = self.kinds.longest;
                let spec = RecvSpec { queue, source: None, tag: 0, ignore: u64::MAX, capacity, multi: None };
                self.world.recv(node, spec)?;
            }
        }
        Ok(())
    }

    /// All nodes ask for silence at the same time, and get it.
    fn last_silence(&mut self) -> Check {
        for node in self.world.living() {
            self.world.quiesce(node)?;
        }
        self.world.drain()?;
        for node in self.world.living() {
            demand(self.world.nodes[node].silent, || format!("no silence: {}", self.world.dump()))?;
        }
        Ok(())
    }
}
