//! What the programs do, step by step: random calls on random nodes.

use super::event::Event;
use super::scenario::Scenario;
use tasuki_msg::Queue;
use tasuki_testkit::Check;
use tasuki_testkit::oracle::{RecvSpec, SendSpec};

/// Longest message that is not called long, bytes.
const SHORT: u64 = 3000;
/// Most nodes of a run, the dead ones included.
const NODES_MOST: usize = 8;

impl Scenario {
    /// One step of the program of a random node that is not stopped.
    pub(super) fn step(&mut self) -> Check {
        let now = self.world.now();
        let mut awake = self.world.oracle.living();
        awake.retain(|&node| self.world.hosts[node].stopped_until <= now);
        if awake.is_empty() {
            return Ok(());
        }
        let node = self.world.rng.pick(&awake);
        let kinds = self.profile.kinds;
        let asked = self.world.oracle.nodes[node].asked.is_some();
        match self.world.rng.below(100) {
            0..60 => self.exchange(node)?,
            60..72 if kinds.probes => self.probe(node)?,
            72..80 if kinds.cancels => self.cancel(node)?,
            80..83 => self.change_membership(node)?,
            83..86 if kinds.silence && !asked => self.world.oracle.quiesce(node)?,
            86..92 if asked => self.world.oracle.resume(node)?,
            _ => self.exchange(node)?,
        }
        if self.world.oracle.nodes[node].alive { self.world.service(node) } else { Ok(()) }
    }

    /// Posts some sends or receives.
    fn exchange(&mut self, node: usize) -> Check {
        for _ in 0..1 + self.world.rng.magnitude(6) {
            if self.world.rng.chance(self.profile.receive_percent) {
                self.post_recv(node)?;
            } else {
                self.post_send(node)?;
            }
        }
        Ok(())
    }

    /// A node that this one knows, perhaps itself.
    fn partner(&mut self, node: usize) -> usize {
        let known = &self.world.oracle.nodes[node].peers;
        // A node's first acquaintance is itself, which is drawn less often than others.
        let at = self.world.rng.index(known.len());
        if at == 0 { known[self.world.rng.index(known.len())].there } else { known[at].there }
    }

    fn queue(&mut self) -> Queue {
        if self.world.rng.chance(75) { Queue::Tagged } else { Queue::Msg }
    }

    fn tag(&mut self) -> u64 {
        // Two communicators, three tags, and protocol bits at the top, as MPIs have them.
        let rng = &mut self.world.rng;
        rng.below(3) | rng.below(2) << 32 | rng.below(2) << 60
    }

    fn ignore(&mut self) -> u64 {
        let rng = &mut self.world.rng;
        if self.profile.kinds.odd_masks {
            return rng.pick(&[0, 1, 2, 3, 1 << 32]) | rng.pick(&[0, 1 << 60]) | rng.below(4) << 40;
        }
        let protocol = 3 << 60;
        rng.pick(&[0, protocol, protocol | 0xffff_ffff, u64::MAX])
    }

    fn len(&mut self) -> u64 {
        let percent = self.profile.long_percent;
        let longest = if self.bytes_left > 0 { self.profile.longest } else { SHORT };
        let rng = &mut self.world.rng;
        match rng.below(100) {
            0..15 => 0,
            _ if rng.chance(percent) => rng.below(longest + 1),
            _ => rng.magnitude(longest.min(SHORT)),
        }
    }

    fn post_send(&mut self, node: usize) -> Check {
        let to = self.partner(node);
        let (queue, tag, len) = (self.queue(), self.tag(), self.len());
        self.bytes_left = self.bytes_left.saturating_sub(len);
        let rng = &mut self.world.rng;
        let data = rng.chance(50).then(|| rng.next_u64());
        let (delivery, remote_key) = (rng.chance(20), rng.chance(20).then(|| rng.next_u64()));
        self.world
            .send(node, to, SendSpec { queue, tag, data, len, delivery, remote_key, pace: None })
            .map(drop)
    }

    fn random_receive(&mut self, node: usize) -> RecvSpec {
        let source = self.partner(node);
        let (queue, tag, ignore, capacity) = (self.queue(), self.tag(), self.ignore(), self.len());
        let rng = &mut self.world.rng;
        let multi = (self.profile.kinds.multi && rng.chance(30)).then(|| rng.below(60));
        let roomy = if self.buffers_left > 0 { self.profile.longest } else { SHORT };
        let capacity = if rng.chance(80) { capacity + roomy } else { capacity };
        self.buffers_left = self.buffers_left.saturating_sub(capacity);
        let source = rng.chance(50).then_some(source);
        RecvSpec { queue, source, tag, ignore, capacity, multi }
    }

    fn post_recv(&mut self, node: usize) -> Check {
        let spec = self.random_receive(node);
        self.world.oracle.recv(node, spec).map(drop)
    }

    fn probe(&mut self, node: usize) -> Check {
        let spec = self.random_receive(node);
        match self.world.rng.below(4) {
            0 => self.world.oracle.peek(node, &spec).map(drop),
            1 => self.world.oracle.claim(node, &spec).map(drop),
            2 => self.world.oracle.discard(node, &spec).map(drop),
            _ => self.use_claim(node),
        }
    }

    pub(super) fn use_claim(&mut self, node: usize) -> Check {
        let claims = self.world.oracle.nodes[node].claims.len();
        if claims == 0 {
            return Ok(());
        }
        let at = self.world.rng.index(claims);
        let capacity = self.len() + if self.world.rng.chance(70) { self.profile.longest } else { 0 };
        let capacity = self.world.rng.chance(70).then_some(capacity);
        self.world.oracle.use_claim(node, at, capacity).map(drop)
    }

    fn cancel(&mut self, node: usize) -> Check {
        let oracle = &self.world.oracle;
        if self.world.rng.chance(50) {
            let recvs = &oracle.nodes[node].recvs;
            let open: Vec<usize> = (0..recvs.len()).filter(|&at| !recvs[at].over).collect();
            if !open.is_empty() {
                let name = self.world.rng.pick(&open);
                return self.world.oracle.cancel_recv(node, name);
            }
        } else {
            let mine = |name: &usize| oracle.sent[*name].from == node && oracle.sent[*name].result.is_none();
            let open: Vec<usize> = (0..oracle.sent.len()).filter(mine).collect();
            if !open.is_empty() {
                let name = self.world.rng.pick(&open);
                return self.world.oracle.cancel_send(name);
            }
        }
        Ok(())
    }

    /// A node dies, parts, joins, or refuses unknown peers from now on.
    fn change_membership(&mut self, node: usize) -> Check {
        let kinds = self.profile.kinds;
        let many = self.world.oracle.nodes.len() >= NODES_MOST;
        match self.world.rng.below(4) {
            0 if kinds.partings => {
                let there = self.partner(node);
                if there == node { Ok(()) } else { self.world.oracle.close(node, there) }
            }
            1 if kinds.deaths && self.world.oracle.living().len() > 1 => self.kill(node),
            2 if kinds.newcomers && !many => {
                let all = 0..self.world.oracle.nodes.len();
                let dead: Vec<usize> = all.filter(|&node| self.world.tenant_is_dead(node)).collect();
                let instead = if dead.is_empty() { None } else { Some(self.world.rng.pick(&dead)) };
                let instead = if self.world.rng.chance(70) { instead } else { None };
                self.newcomer(instead);
                Ok(())
            }
            3 if kinds.refusals => {
                self.world.hosts[node].leaving = true;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The node's process dies; the others are told after some time.
    fn kill(&mut self, node: usize) -> Check {
        self.world.kill(node);
        for other in self.world.oracle.living() {
            let wait = self.world.rng.magnitude(20_000_000);
            self.world.schedule_after(wait, Event::Tell { node: other, dead: node });
        }
        Ok(())
    }
}
