//! What a program does: posts, probes, cancels, parts. Each call goes to the endpoint and to the model, and the
//! immediate answers must agree.

use tasuki_msg::{ClaimError, Failure, Gone, Matching, PeerId, Queue, RecvRequest, SendRequest, Source};

use super::{Check, World, demand, same};
use crate::node::{Claim, Fate, GUARD, RecvBuf, Sent, content};
use tasuki_sim::model::{Match, Message, Posted};

#[derive(Clone, Copy, Debug)]
pub struct SendSpec {
    pub queue: Queue,
    pub tag: u64,
    pub data: Option<u64>,
    pub len: u64,
    pub delivery: bool,
    pub pull: bool,
}

impl SendSpec {
    pub fn tagged(tag: u64, len: u64) -> SendSpec {
        SendSpec { queue: Queue::Tagged, tag, data: None, len, delivery: false, pull: false }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct RecvSpec {
    pub queue: Queue,
    /// Node, not peer.
    pub source: Option<usize>,
    pub tag: u64,
    pub ignore: u64,
    pub capacity: u64,
    pub multi: Option<u64>,
}

impl RecvSpec {
    pub fn tagged(source: Option<usize>, tag: u64, ignore: u64) -> RecvSpec {
        RecvSpec { queue: Queue::Tagged, source, tag, ignore, capacity: 1 << 16, multi: None }
    }
}

impl World {
    pub fn matching(&self, node: usize, spec: &RecvSpec) -> Check<Matching> {
        let source = match spec.source {
            None => Source::Any,
            Some(there) => Source::Peer(self.nodes[node].peer_for(there).ok_or("not acquainted")?),
        };
        Ok(Matching { queue: spec.queue, source, tag: spec.tag, ignore: spec.ignore })
    }

    /// Posts a send; returns the message's name.
    pub fn send(&mut self, from: usize, to: usize, spec: SendSpec) -> Check<usize> {
        let name = self.sent.len();
        let peer = self.nodes[from].peer_for(to).ok_or("not acquainted")?;
        let source = self.nodes[to].peer_for(from).ok_or("not acquainted")?;
        let request = SendRequest {
            peer,
            queue: spec.queue,
            tag: spec.tag,
            data: spec.data,
            len: spec.len,
            delivery: spec.delivery,
            remote_key: spec.pull.then_some(name as u64),
            user: name as u64,
        };
        let send = self.nodes[from].ep.post_send(request).map_err(|error| error.to_string())?;
        self.note(|| format!("node {from} sends message {name} to {to}: {spec:?} as {send:?}"));
        let tag = if spec.queue == Queue::Msg { 0 } else { spec.tag };
        let message = Message { name, source, queue: spec.queue, tag, data: spec.data, len: spec.len };
        self.sent.push(Sent {
            from,
            to,
            peer,
            send,
            message,
            bytes: (0..spec.len).map(|at| content(name, at)).collect(),
            delivery: spec.delivery,
            started: false,
            start_arrived: false,
            arrived: 0,
            copied: false,
            refused: false,
            unreleased: 0,
            cancelled: false,
            result: None,
            fate: Fate::Waiting,
        });
        self.links.get_mut(&(from, to)).ok_or("no link")?.order.push(name);
        self.settle(from)?;
        Ok(name)
    }

    pub fn cancel_send(&mut self, name: usize) -> Check {
        let Sent { from, to, send, .. } = self.sent[name];
        let before_start = !self.sent[name].started && self.sent[name].result.is_none();
        let cancelled = self.nodes[from].ep.cancel_send(send);
        self.note(|| format!("node {from} cancels message {name}: {cancelled}"));
        same("cancel of a send", cancelled, before_start)?;
        self.cover(if cancelled { "send cancelled" } else { "send cancelled too late" });
        if cancelled {
            self.sent[name].cancelled = true;
            self.links.get_mut(&(from, to)).ok_or("no link")?.order.retain(|&other| other != name);
        }
        self.settle(from)
    }

    fn new_buffer(&mut self, node: usize, id: tasuki_msg::RecvId, capacity: u64) -> usize {
        let mut bytes = vec![0x5A; capacity as usize];
        bytes.extend(GUARD);
        let recvs = &mut self.nodes[node].recvs;
        let (outstanding, ending) = (Vec::new(), None);
        let done = Vec::new();
        recvs.push(RecvBuf { id, bytes, capacity, outstanding, open: true, ending, over: false, done });
        recvs.len() - 1
    }

    /// The model says that these receives got these messages.
    pub(super) fn matched(&mut self, node: usize, matches: &[Match]) {
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
        let matching = self.matching(node, &spec)?;
        let name = self.nodes[node].recvs.len();
        let request = RecvRequest { matching, capacity: spec.capacity, multi: spec.multi, user: name as u64 };
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

    pub(super) fn end_recv(&mut self, node: usize, name: usize, failure: Failure) {
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

    pub fn peek(&mut self, node: usize, spec: &RecvSpec) -> Check<Option<usize>> {
        let matching = self.matching(node, spec)?;
        let (got, expected) = (self.nodes[node].ep.peek(&matching), self.nodes[node].model.peek(&matching));
        self.note(|| format!("node {node} peeks {spec:?}: {got:?}"));
        same("peek", got, expected.map(|message| message.found()))?;
        self.cover(if got.is_some() { "peek found" } else { "peek found nothing" });
        Ok(expected.map(|message| message.name))
    }

    /// Claims; returns the place in `claims`.
    pub fn claim(&mut self, node: usize, spec: &RecvSpec) -> Check<Option<usize>> {
        let matching = self.matching(node, spec)?;
        let got = self.nodes[node].ep.claim(&matching);
        let expected = self.nodes[node].model.remove(&matching);
        self.note(|| format!("node {node} claims {spec:?}: {got:?}"));
        same("claim", got.map(|(_, found)| found), expected.map(|message| message.found()))?;
        let (Some((id, _)), Some(message)) = (got, expected) else { return Ok(None) };
        self.cover("claimed");
        self.nodes[node].claims.push(Claim { id, message, lost: None });
        Ok(Some(self.nodes[node].claims.len() - 1))
    }

    pub fn discard(&mut self, node: usize, spec: &RecvSpec) -> Check<Option<usize>> {
        let matching = self.matching(node, spec)?;
        let got = self.nodes[node].ep.discard(&matching);
        let expected = self.nodes[node].model.remove(&matching);
        self.note(|| format!("node {node} discards {spec:?}: {got:?}"));
        same("discard", got, expected.map(|message| message.found()))?;
        if let Some(message) = expected {
            self.cover("discarded");
            self.discarded(node, &message);
        }
        self.settle(node)?;
        Ok(expected.map(|message| message.name))
    }

    fn discarded(&mut self, node: usize, message: &Message) {
        self.sent[message.name].fate = Fate::Discarded;
        self.nodes[node].tally.entry(message.source).or_default().discarded += 1;
    }

    /// Receives or (`capacity` None) discards a claimed message. Returns the receive.
    pub fn use_claim(&mut self, node: usize, at: usize, capacity: Option<u64>) -> Check<Option<usize>> {
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
        let mut receive = None;
        if let (Ok(Some(id)), Some(capacity)) = (result, capacity) {
            self.cover("claim received");
            receive = Some(self.new_buffer(node, id, capacity));
            let (take, offset) = (message.len.min(capacity), 0);
            self.matched(node, &[Match { recv: name, message, offset, take, closes: true }]);
        } else if result.is_ok() {
            self.cover("claim discarded");
            self.discarded(node, &message);
        }
        self.settle(node)?;
        Ok(receive)
    }

    /// The node's process dies. Nobody is told yet.
    pub fn kill(&mut self, node: usize) {
        self.note(|| format!("node {node} dies"));
        self.cover("node died");
        self.nodes[node].alive = false;
    }

    /// `node` learns that `dead` is dead (or gives it up).
    pub fn peer_failed(&mut self, node: usize, dead: usize) -> Check {
        let Some(peer) = self.nodes[node].peer_for(dead) else { return Ok(()) };
        self.note(|| format!("node {node} is told that {dead} failed"));
        if let Some(link) = self.links.get_mut(&(node, dead)) {
            link.frames.clear();
        }
        if !self.nodes[node].gone.contains_key(&peer) && !self.nodes[node].recvs.is_empty() {
            self.cover("death reported");
        }
        self.nodes[node].ep.handle_peer_failed(peer);
        self.settle(node)?;
        demand(!self.nodes[node].lives(peer), || "a failed peer is not reported as gone".into())
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

    /// What the model knows about a peer that is gone.
    pub(super) fn model_gone(&mut self, node: usize, peer: PeerId, gone: Gone) -> Check {
        let failure = Failure::PeerGone(peer, gone);
        let there = self.nodes[node].node_for(peer).ok_or("a stranger is gone")?;
        if gone == Gone::Closed && !self.nodes[node].closing.contains(&peer) {
            // A goodbye is the last word: all that was said before must have been heard.
            same(format!("frames behind the goodbye of {there}"), self.noise(there, node), 0)?;
        }
        let sent = &self.sent;
        let whole = |message: &Message| sent[message.name].arrived == message.len;
        let here = &mut self.nodes[node];
        demand(here.gone.insert(peer, gone).is_none(), || format!("{peer} is gone twice"))?;
        let kept_before = here.model.unexpected.len();
        let ended = here.model.gone(peer, whole);
        let dropped = here.model.unexpected.len() < kept_before;
        let kept = here.model.unexpected.iter().any(|message| message.source == peer);
        for claim in here.claims.iter_mut().filter(|claim| claim.message.source == peer) {
            if !whole(&claim.message) && claim.lost.is_none() {
                claim.lost = Some(gone);
            }
        }
        let mut halves = false;
        for (matched, doomed) in here.recvs.iter_mut().flat_map(|recv| &mut recv.outstanding) {
            *doomed |= matched.message.source == peer;
            halves |= *doomed;
        }
        for name in ended {
            self.end_recv(node, name, failure);
            self.cover("directed receive ended");
        }
        for (happened, what) in [
            (dropped, "incomplete message lost"),
            (kept, "complete message outlives its sender"),
            (halves, "receive lost half way"),
            (gone == Gone::Closed, "goodbye"),
        ] {
            if happened {
                self.cover(what);
            }
        }
        Ok(())
    }
}
