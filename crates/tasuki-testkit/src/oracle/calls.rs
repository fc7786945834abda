//! What the program on a node may call. Each call goes to the endpoint and to the model; where the answer is
//! immediate, the two must agree.

use tasuki_msg::{
    ClaimError, Failure, Frame, Matching, Queue, RecvId, RecvRequest, SendRequest, Source, Start,
};

use super::{Claim, MessageState, Oracle, RecvBuf, RecvSpec, SendSpec, Sent};
use crate::content::GUARD;
use crate::model::{Match, Message, Posted};
use crate::{Check, demand, same};

impl Oracle {
    fn matching(&self, node: usize, spec: &RecvSpec) -> Check<Matching> {
        let source = match spec.source {
            None => Source::Any,
            Some(there) => Source::Peer(self.nodes[node].peer_for(there).ok_or("not acquainted")?),
        };
        Ok(Matching { queue: spec.queue, source, tag: spec.tag, ignore: spec.ignore })
    }

    /// The name that the next message gets.
    pub fn next_name(&self) -> usize {
        self.sent.len()
    }

    /// Posts a send; returns the message's name.
    pub fn send(&mut self, from: usize, to: usize, spec: SendSpec) -> Check<usize> {
        let name = self.next_name();
        let peer = self.nodes[from].peer_for(to).ok_or("not acquainted")?;
        let SendSpec { queue, tag, data, len, delivery, remote_key, pace } = spec;
        let request = SendRequest { peer, queue, tag, data, len, delivery, remote_key, user: name as u64 };
        let send = self.nodes[from].ep.post_send(request).map_err(|error| error.to_string())?;
        self.note(|| format!("node {from} sends message {name} to {to}: {spec:?} as {send:?}"));
        if let Some(pace) = pace {
            self.nodes[from].ep.handle_time(self.now_ns);
            self.nodes[from].ep.pace_send(send, pace);
        }
        self.sent.push(Sent { send: Some(send), ..Sent::new((from, to, peer), spec, name) });
        let closing = self.nodes[from].closing.contains(&peer);
        if closing && queue == Queue::Internal {
            self.cover("message of the engine to a closed peer");
        }
        // A program's message to a peer that it has closed never leaves; those of the engine itself still do.
        if !closing || queue == Queue::Internal {
            self.link(from, to)?.order.push(name);
        }
        self.settle(from)?;
        Ok(name)
    }

    /// Sends a message by the fast path, if it can be: returns its name, its frame and its bytes. With that
    /// the send is over, and the frame has left.
    pub fn send_inline(
        &mut self,
        from: usize,
        to: usize,
        spec: SendSpec,
    ) -> Check<Option<(usize, Start, Vec<u8>)>> {
        let name = self.next_name();
        let peer = self.nodes[from].peer_for(to).ok_or("not acquainted")?;
        let SendSpec { queue, tag, data, len, delivery, pace, .. } = spec;
        if pace.is_some() {
            return Ok(None);
        }
        let request =
            SendRequest { peer, queue, tag, data, len, delivery, remote_key: None, user: name as u64 };
        let Some(start) = self.nodes[from].ep.send_inline(&request, len) else { return Ok(None) };
        let frame = Frame::Start(start);
        self.note(|| format!("node {from} sends message {name} to {to} inline: {frame:?}"));
        self.cover("sent inline");
        self.check_silence(from, to, &frame)?;
        let link = self.link(from, to)?;
        same("starts that leave before it", link.order.len(), link.started)?;
        same("sequence number", start.seq.0 as usize, link.started)?;
        link.order.push(name);
        link.started += 1;
        link.starts_out += 1;
        demand(start.len == len && start.inline == len, || format!("{start:?} is not whole"))?;
        let mut sent = Sent::new((from, to, peer), spec, name);
        let bytes = sent.bytes.clone();
        (sent.started, sent.copied, sent.result) = (true, true, Some(Ok::<(), Failure>(())));
        self.sent.push(sent);
        self.sent[name].scribble();
        Ok(Some((name, start, bytes)))
    }

    /// Cancels a send.
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

    fn new_buffer(&mut self, node: usize, id: RecvId, capacity: u64) -> usize {
        let mut bytes = vec![0; capacity as usize + GUARD.len()];
        bytes[capacity as usize..].copy_from_slice(&GUARD);
        let recvs = &mut self.nodes[node].recvs;
        let (outstanding, done, ending) = (Vec::new(), Vec::new(), None);
        recvs.push(RecvBuf { id, bytes, capacity, outstanding, open: true, ending, over: false, done });
        recvs.len() - 1
    }

    /// Takes note that, according to the model, these receives get these messages.
    pub(super) fn matched(&mut self, node: usize, matches: &[Match]) {
        for &matched in matches {
            let buffer = &mut self.nodes[node].recvs[matched.recv];
            buffer.outstanding.push((matched, false));
            buffer.open &= !matched.closes;
            self.sent[matched.message.name].state = MessageState::Matched { take: matched.take };
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
        self.nodes[node].ep.controller_mut().set_now(self.now_ns);
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

    /// Takes note that a receive takes no further message and must end with this failure.
    pub(super) fn end_recv(&mut self, node: usize, name: usize, failure: Failure) {
        let buffer = &mut self.nodes[node].recvs[name];
        buffer.open = false;
        buffer.ending = Some(failure);
    }

    /// Cancels a receive.
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

    /// Probes; returns the name of the message that was found.
    pub fn peek(&mut self, node: usize, spec: &RecvSpec) -> Check<Option<usize>> {
        let matching = self.matching(node, spec)?;
        let (got, expected) = (self.nodes[node].ep.peek(&matching), self.nodes[node].model.peek(&matching));
        self.note(|| format!("node {node} peeks {spec:?}: {got:?}"));
        same("peek", got, expected.map(|message| message.found()))?;
        self.cover(if got.is_some() { "peek found" } else { "peek found nothing" });
        Ok(expected.map(|message| message.name))
    }

    /// Claims a message; returns the index of the claim in [`super::Node::claims`].
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

    /// Discards a message; returns its name.
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
        self.sent[message.name].state = MessageState::Discarded;
        self.nodes[node].tally.entry(message.source).or_default().discarded += 1;
    }

    /// Receives a claimed message, or discards it if `capacity` is `None`. Returns the name of the receive.
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

    /// Parts from a peer.
    pub fn close(&mut self, node: usize, there: usize) -> Check {
        let peer = self.nodes[node].peer_for(there).ok_or("not acquainted")?;
        self.note(|| format!("node {node} parts from {there}"));
        self.cover("parting");
        self.nodes[node].closing.insert(peer);
        self.nodes[node].ep.close_peer(peer).map_err(|error| error.to_string())?;
        self.settle(node)
    }

    /// Asks all peers for silence.
    pub fn quiesce(&mut self, node: usize) -> Check {
        self.note(|| format!("node {node} asks for silence"));
        self.cover("silence asked");
        self.nodes[node].asked = Some(self.nodes[node].ep.quiesce());
        self.settle(node)
    }

    /// Ends the silence that a node has asked for, if it has.
    pub fn resume(&mut self, node: usize) -> Check {
        // An agreement that is still in the queue of actions must be handled before it is out of date.
        self.settle(node)?;
        self.note(|| format!("node {node} resumes"));
        self.nodes[node].ep.resume();
        self.nodes[node].asked = None;
        self.nodes[node].silent = false;
        self.settle(node)
    }
}
