//! What the program on a node may call, checked against the model as far as the answer is immediate.

use tasuki_msg::{ClaimError, Failure, Matching, Pace, PeerId, Queue, RecvRequest, SendRequest, Source};

use super::content::GUARD;
use super::core::{Check, Core, demand, same};
use super::node::{Claim, Fate, RecvBuf, Sent};
use super::receivers::PAYLOAD_OF_PACKET;
use crate::model::{Match, Message, Posted};

/// A message to send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendSpec {
    pub queue: Queue,
    pub tag: u64,
    pub data: Option<u64>,
    pub len: u64,
    pub delivery: bool,
    pub remote_key: Option<u64>,
}

/// A receive to post, or a probe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecvSpec {
    pub queue: Queue,
    pub source: Option<PeerId>,
    pub tag: u64,
    pub ignore: u64,
    pub capacity: u64,
    pub multi: Option<u64>,
}

impl RecvSpec {
    /// Accepts everything on a queue.
    pub fn any(queue: Queue, capacity: u64) -> RecvSpec {
        RecvSpec { queue, source: None, tag: 0, ignore: u64::MAX, capacity, multi: None }
    }

    fn matching(&self) -> Matching {
        let source = self.source.map_or(Source::Any, Source::Peer);
        Matching { queue: self.queue, source, tag: self.tag, ignore: self.ignore }
    }
}

impl Core {
    /// Posts a send; returns the message's name.
    pub fn send(&mut self, from: usize, to: usize, spec: SendSpec) -> Check<usize> {
        let name = self.sent.len();
        let peer = self.nodes[from].peer_for(to).ok_or("not acquainted")?;
        let SendSpec { queue, tag, data, len, delivery, remote_key } = spec;
        let request = SendRequest { peer, queue, tag, data, len, delivery, remote_key, user: name as u64 };
        let send = self.nodes[from].ep.post_send(request).map_err(|error| error.to_string())?;
        self.note(|| format!("node {from} sends message {name} to {to}: {spec:?} as {send:?}"));
        if let Some(pace) = self.pace(len) {
            self.nodes[from].ep.handle_time(self.now.0);
            self.nodes[from].ep.pace_send(send, pace);
        }
        self.sent.push(Sent { send: Some(send), ..Sent::new((from, to, peer), spec, name) });
        self.link(from, to)?.order.push(name);
        self.settle(from)?;
        Ok(name)
    }

    /// In static mode, how fast a message leaves.
    pub(super) fn pace(&self, len: u64) -> Option<Pace> {
        let paced = self.static_rate?.paced(len, PAYLOAD_OF_PACKET)?;
        Some(Pace { bps: paced.payload_bps, slack: paced.slack_bytes })
    }

    pub fn cancel_send(&mut self, name: usize) -> Check {
        let Sent { from, to, send, .. } = self.sent[name];
        let before_start = !self.sent[name].started && self.sent[name].result.is_none();
        let cancelled = send.is_some_and(|send| self.nodes[from].ep.cancel_send(send));
        self.note(|| format!("node {from} cancels message {name}: {cancelled}"));
        same("cancel of a send", cancelled, before_start)?;
        self.cover(if cancelled { "send cancelled" } else { "send cancelled too late" });
        if cancelled {
            self.sent[name].cancelled = true;
            self.link(from, to)?.order.retain(|&other| other != name);
        }
        self.settle(from)
    }

    fn new_buffer(&mut self, node: usize, id: tasuki_msg::RecvId, capacity: u64) -> usize {
        let mut bytes = vec![0; capacity as usize + GUARD.len()];
        bytes[capacity as usize..].copy_from_slice(&GUARD);
        let recvs = &mut self.nodes[node].recvs;
        let (outstanding, done, ending) = (Vec::new(), Vec::new(), None);
        recvs.push(RecvBuf { id, bytes, capacity, outstanding, open: true, ending, over: false, done });
        recvs.len() - 1
    }

    /// The model says that these receives got these messages.
    pub fn matched(&mut self, node: usize, matches: &[Match]) {
        for &matched in matches {
            let buffer = &mut self.nodes[node].recvs[matched.recv];
            buffer.outstanding.push((matched, false));
            buffer.open &= !matched.closes;
            self.sent[matched.message.name].fate = Fate::Matched { take: matched.take };
            self.nodes[node].tally.entry(matched.message.source).or_default().matched += 1;
            if matched.take < matched.message.len {
                self.cover("truncated");
            }
        }
    }

    /// Posts a receive; returns its name.
    pub fn recv(&mut self, node: usize, spec: RecvSpec) -> Check<usize> {
        let matching = spec.matching();
        let name = self.nodes[node].recvs.len();
        let request = RecvRequest { matching, capacity: spec.capacity, multi: spec.multi, user: name as u64 };
        self.nodes[node].ep.controller_mut().set_now(self.now.0);
        let id = self.nodes[node].ep.post_recv(request).map_err(|error| error.to_string())?;
        self.note(|| format!("node {node} posts receive {name}: {spec:?} as {id:?}"));
        self.new_buffer(node, id, spec.capacity);
        let posted = Posted { name, matching, room: spec.capacity, used: 0, multi: spec.multi };
        let matches = self.nodes[node].model.post(posted);
        self.matched(node, &matches);
        if !matches.is_empty() {
            self.cover("receive found unexpected");
        }
        if let Source::Peer(peer) = matching.source
            && let Some(&gone) = self.nodes[node].gone.get(&peer)
            && self.nodes[node].model.cancel(name)
        {
            self.cover("receive from a peer that is gone");
            self.end_recv(node, name, Failure::PeerGone(peer, gone));
        }
        self.settle(node)?;
        Ok(name)
    }

    pub fn end_recv(&mut self, node: usize, name: usize, failure: Failure) {
        let buffer = &mut self.nodes[node].recvs[name];
        buffer.open = false;
        buffer.ending = Some(failure);
    }

    pub fn cancel_recv(&mut self, node: usize, name: usize) -> Check {
        let cancelled = {
            let node = &mut self.nodes[node];
            node.ep.cancel_recv(node.recvs[name].id)
        };
        self.note(|| format!("node {node} cancels receive {name}: {cancelled}"));
        same("cancel of a receive", cancelled, self.nodes[node].model.cancel(name))?;
        self.cover(if cancelled { "receive cancelled" } else { "receive cancelled too late" });
        if cancelled {
            self.end_recv(node, name, Failure::Cancelled);
        }
        self.settle(node)
    }

    pub fn peek(&mut self, node: usize, spec: &RecvSpec) -> Check {
        let matching = spec.matching();
        let (got, expected) = (self.nodes[node].ep.peek(&matching), self.nodes[node].model.peek(&matching));
        self.note(|| format!("node {node} peeks {spec:?}: {got:?}"));
        same("peek", got, expected.map(|message| message.found()))?;
        self.cover(if got.is_some() { "peek found" } else { "peek found nothing" });
        Ok(())
    }

    pub fn claim(&mut self, node: usize, spec: &RecvSpec) -> Check {
        let matching = spec.matching();
        let got = self.nodes[node].ep.claim(&matching);
        let expected = self.nodes[node].model.remove(&matching);
        self.note(|| format!("node {node} claims {spec:?}: {got:?}"));
        same("claim", got.map(|(_, found)| found), expected.map(|message| message.found()))?;
        if let (Some((id, _)), Some(message)) = (got, expected) {
            self.cover("claimed");
            self.nodes[node].claims.push(Claim { id, message, lost: None });
        }
        Ok(())
    }

    pub fn discard(&mut self, node: usize, spec: &RecvSpec) -> Check {
        let matching = spec.matching();
        let got = self.nodes[node].ep.discard(&matching);
        let expected = self.nodes[node].model.remove(&matching);
        self.note(|| format!("node {node} discards {spec:?}: {got:?}"));
        same("discard", got, expected.map(|message| message.found()))?;
        if let Some(message) = expected {
            self.cover("discarded");
            self.discarded(node, &message);
        }
        self.settle(node)
    }

    fn discarded(&mut self, node: usize, message: &Message) {
        self.sent[message.name].fate = Fate::Discarded;
        self.nodes[node].tally.entry(message.source).or_default().discarded += 1;
    }

    /// Receives or (`capacity` None) discards a claimed message.
    pub fn use_claim(&mut self, node: usize, at: usize, capacity: Option<u64>) -> Check {
        let Claim { id, message, lost } = self.nodes[node].claims.swap_remove(at);
        let name = self.nodes[node].recvs.len();
        let ep = &mut self.nodes[node].ep;
        let result = match capacity {
            Some(capacity) => ep.recv_claimed(id, capacity, name as u64).map(Some),
            None => ep.discard_claimed(id).map(|()| None),
        };
        self.note(|| format!("node {node} uses the claim on message {}: {result:?}", message.name));
        match lost {
            Some(gone) => {
                self.cover("claim lost");
                same("lost claim", result, Err(ClaimError::PeerGone(message.source, gone)))?;
            }
            None => demand(result.is_ok(), || format!("claim refused: {result:?}"))?,
        }
        same("second use of a claim", self.nodes[node].ep.discard_claimed(id), Err(ClaimError::Unknown))?;
        if let (Ok(Some(id)), Some(capacity)) = (result, capacity) {
            self.cover("claim received");
            self.new_buffer(node, id, capacity);
            let (take, offset) = (message.len.min(capacity), 0);
            self.matched(node, &[Match { recv: name, message, offset, take, closes: true }]);
        } else if result.is_ok() {
            self.cover("claim discarded");
            self.discarded(node, &message);
        }
        self.settle(node)
    }

    pub fn close(&mut self, node: usize, there: usize) -> Check {
        let peer = self.nodes[node].peer_for(there).ok_or("not acquainted")?;
        self.note(|| format!("node {node} parts from {there}"));
        self.cover("parting");
        self.nodes[node].closing.insert(peer);
        self.nodes[node].ep.close_peer(peer).map_err(|error| error.to_string())?;
        self.settle(node)
    }

    pub fn quiesce(&mut self, node: usize) -> Check {
        self.note(|| format!("node {node} asks for silence"));
        self.cover("silence asked");
        self.nodes[node].asked = Some(self.nodes[node].ep.quiesce());
        self.settle(node)
    }

    pub fn resume(&mut self, node: usize) -> Check {
        // An agreement that waits in the queue would be news of yesterday.
        self.settle(node)?;
        self.note(|| format!("node {node} resumes"));
        self.nodes[node].ep.resume();
        self.nodes[node].asked = None;
        self.nodes[node].silent = false;
        self.settle(node)
    }
}
