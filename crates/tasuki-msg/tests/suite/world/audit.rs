//! What must hold at every step, and when everything has come to rest.

use tasuki_msg::{ENVELOPE, PeerId};

use super::{Check, World, demand, same};
use crate::node::GUARD;

impl World {
    /// Memory is bounded at every step: the pool by its size and what peers have from the start, envelopes by what the senders have not finished.
    pub(super) fn audit(&mut self, node: usize) -> Check {
        let here = &self.nodes[node];
        let pool: usize = here.early.values().map(|entry| entry.bytes.len()).sum();
        let limit = self.config.pool_bytes + self.config.initial_credit * here.peers.len() as u64;
        demand(pool as u64 <= limit, || format!("{pool} bytes in a pool of {limit}"))?;
        let status = here.ep.status();
        demand(status.pool_held <= limit, || format!("{} bytes given of {limit}", status.pool_held))?;
        same("early buffers", status.early_buffers, here.early.len())?;
        for &(there, peer) in &here.peers {
            let Some(status) = here.ep.peer_status(peer).filter(|status| !status.gone) else { continue };
            let of_peer = here.early.values().filter(|entry| entry.peer == peer);
            let bytes: usize = of_peer.map(|entry| entry.bytes.len()).sum();
            let most = self.config.peer_bytes.max(self.config.initial_credit);
            demand(bytes as u64 <= most, || format!("{bytes} bytes from {peer}"))?;
            let other = &self.nodes[there];
            let Some(back) = other.peer_for(node).filter(|&back| other.alive && other.lives(back)) else {
                continue;
            };
            let open = other.ep.peer_status(back).map_or(0, |status| status.sends_open);
            let bound = open as u64 + status.pool_held / ENVELOPE;
            demand(status.messages as u64 <= bound, || {
                format!("{} envelopes from {peer}, which has {open} sends open", status.messages)
            })?;
        }
        Ok(())
    }

    /// Pairs of nodes that know each other as living.
    fn pairs(&self) -> Vec<(usize, usize, PeerId, PeerId)> {
        let mut pairs = Vec::new();
        for (a, here) in self.nodes.iter().enumerate().filter(|(_, node)| node.alive) {
            for &(b, there) in here.peers.iter().filter(|(_, peer)| here.lives(*peer)) {
                let other = &self.nodes[b];
                if let Some(back) = other.peer_for(a).filter(|&back| other.alive && other.lives(back)) {
                    pairs.push((a, b, there, back));
                }
            }
        }
        pairs
    }

    /// Frames under way that a promise of silence (or a goodbye) forbids.
    pub(super) fn noise(&self, from: usize, to: usize) -> usize {
        let noisy = |link: &super::Link| link.frames.iter().filter(|flight| flight.noisy()).count();
        self.links.get(&(from, to)).map_or(0, noisy)
    }

    /// The node says that all is silent: nothing may be under way from or to it.
    pub(super) fn listen_for_noise(&mut self, node: usize) -> Check {
        let mut open = 0;
        for (a, b, there, _) in self.pairs() {
            if a == node || b == node {
                let noise = self.noise(a, b);
                demand(noise == 0, || format!("node {node} says silence, {noise} frames from {a} to {b}"))?;
                open += self.nodes[a].ep.peer_status(there).map_or(0, |status| status.sends_awaiting);
            }
        }
        if open > 0 {
            self.cover("silence in mid-stream");
        }
        Ok(())
    }

    /// Everything has been delivered and received: nothing may be left over.
    pub fn audit_rest(&self) -> Check {
        for (name, sent) in self.sent.iter().enumerate() {
            if self.nodes[sent.from].alive {
                demand(sent.result.is_some(), || {
                    format!("message {name} from {} to {} never ends: {}", sent.from, sent.to, self.dump())
                })?;
            }
        }
        for (at, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.alive) {
            for (name, buffer) in node.recvs.iter().enumerate() {
                demand(buffer.over, || {
                    let waiting = (&buffer.outstanding, buffer.open, buffer.ending);
                    format!("receive {name} of node {at} never ends: {waiting:?} {}", self.dump())
                })?;
                same("bytes behind a buffer", &buffer.bytes[buffer.capacity as usize..], &GUARD[..])?;
            }
            let status = node.ep.status();
            let left = (status.sends, status.receives, status.posted, status.messages, status.early_buffers);
            demand(left == (0, 0, 0, 0, 0), || format!("node {at} keeps {status:?}"))?;
            same("grants under way", status.granted_in_flight, 0)?;
        }
        self.audit_credit()?;
        self.audit_counters()
    }

    /// Both sides agree about credit, and it is as much as it should be.
    fn audit_credit(&self) -> Check {
        for (a, b, there, back) in self.pairs() {
            let (here, other) = (self.nodes[a].ep.peer_status(there), self.nodes[b].ep.peer_status(back));
            let (Some(here), Some(other)) = (here, other) else { return Err("status missing".into()) };
            same(format!("credit of {b} at {a}, held and unspent"), here.pool_held, here.pool_unspent)?;
            let told = other.credit == here.pool_held;
            demand(told || (here.credit_untold && other.credit < here.pool_held), || {
                format!("credit of {b} at {a}: got {}, expected {}", other.credit, here.pool_held)
            })?;
            same(format!("messages from {b} to {a}"), here.next_receive, other.next_send)?;
        }
        for (at, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.alive) {
            let held = node.peers.iter().filter(|(_, peer)| node.lives(*peer));
            let held: u64 =
                held.filter_map(|(_, peer)| node.ep.peer_status(*peer)).map(|s| s.pool_held).sum();
            same(format!("pool of node {at}"), node.ep.status().pool_held, held)?;
        }
        Ok(())
    }

    fn audit_counters(&self) -> Check {
        for (a, b, there, back) in self.pairs() {
            let (Some(here), Some(other)) =
                (self.nodes[a].ep.counters(there), self.nodes[b].ep.counters(back))
            else {
                return Err("counters missing".into());
            };
            let started = |from: usize, to: usize| {
                self.sent.iter().filter(|sent| sent.from == from && sent.to == to && sent.started).count()
                    as u64
            };
            same(format!("sent from {a} to {b}"), here.sent_messages, started(a, b))?;
            same(format!("received at {b}"), other.received_messages, here.sent_messages)?;
            same(format!("bytes from {a} to {b}"), other.received_bytes, here.sent_bytes)?;
            let tally = self.nodes[a].tally.get(&there);
            let expected = tally.map_or((0, 0, 0), |tally| (tally.received, tally.matched, tally.discarded));
            let counted = (here.received_messages, here.matched_messages, here.discarded_messages);
            same(format!("received, matched, discarded at {a} from {b}"), counted, expected)?;
            same("frames refused", here.dropped_frames, 0)?;
        }
        Ok(())
    }

    /// What a watchdog would print.
    pub fn dump(&self) -> String {
        let mut text = String::new();
        for (at, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.alive) {
            text += &format!("\nnode {at}: {:?}", node.ep.status());
            for &(there, peer) in &node.peers {
                text += &format!("\n  with node {there}: {:?}", node.ep.peer_status(peer));
            }
        }
        text
    }
}
