//! What an engine does: carries out the actions, in order, and checks every event against the model.

use tasuki_msg::{Action, EarlyId, Epoch, Event, Failure, Gone, PeerId, Queue, RecvDone, RecvId};

use super::{Oracle, Pull};
use crate::content::first_wrong;
use crate::model::{Match, Message};
use crate::{Check, demand, same};

impl Oracle {
    /// Carries out all actions that the endpoint asks for, save pulls: these wait for [`Oracle::pull`].
    pub fn settle(&mut self, node: usize) -> Check {
        let mut acted = false;
        while let Some(action) = self.nodes[node].ep.poll_action() {
            acted = true;
            self.note(|| format!("node {node}: {action:?}"));
            match action {
                Action::Copy { from, recv, user, offset, len } => {
                    self.copy(node, from, recv, user as usize, offset as usize, len as usize)?;
                }
                Action::FreeEarly(buffer) => self.free_early(node, buffer)?,
                Action::Pull { pull, remote_key, offset, len, user, at, .. } => {
                    demand(self.shares_memory, || "a pull, but no memory is shared here".into())?;
                    let (name, recv) = (remote_key as usize, user as usize);
                    self.nodes[node].pulls.push(Pull { pull, name, offset, len, recv, at });
                }
                Action::Event(event) => self.event(node, event)?,
            }
        }
        if acted { self.audit(node) } else { Ok(()) }
    }

    fn copy(
        &mut self,
        node: usize,
        from: EarlyId,
        recv: RecvId,
        user: usize,
        offset: usize,
        len: usize,
    ) -> Check {
        let here = &mut self.nodes[node];
        let Some(entry) = here.early.get(&from.index()).filter(|entry| entry.id == from) else {
            return Err(format!("copy out of {from:?}, which is not there"));
        };
        let buffer = &mut here.recvs[user];
        same("copy's receive", recv, buffer.id)?;
        demand(len <= entry.bytes.len() && offset + len <= buffer.capacity as usize, || {
            "copy overruns".into()
        })?;
        buffer.bytes[offset..offset + len].copy_from_slice(&entry.bytes[..len]);
        self.cover("copied out of the pool");
        Ok(())
    }

    fn free_early(&mut self, node: usize, buffer: EarlyId) -> Check {
        let here = &mut self.nodes[node];
        let Some(entry) = here.early.remove(&buffer.index()).filter(|entry| entry.id == buffer) else {
            return Err(format!("{buffer:?} freed, but it is not there"));
        };
        here.pool -= entry.bytes.len() as u64;
        if let Some(of_peer) = here.pool_of.get_mut(&entry.peer) {
            *of_peer -= entry.bytes.len() as u64;
        }
        Ok(())
    }

    /// Whether a pull can be carried out: its sender is alive and its receive is not over.
    pub fn can_pull(&self, node: usize, at: usize) -> bool {
        let Pull { name, recv, .. } = self.nodes[node].pulls[at];
        self.nodes[self.sent[name].from].alive && !self.nodes[node].recvs[recv].over
    }

    /// Carries out the pull with this index, or tells the endpoint that it has failed.
    pub fn pull(&mut self, node: usize, at: usize, works: bool) -> Check {
        let Pull { pull, name, offset, len, recv, at } = self.nodes[node].pulls.swap_remove(at);
        if works {
            let bytes = &self.sent[name].bytes[offset as usize..(offset + len) as usize];
            self.nodes[node].recvs[recv].bytes[at as usize..(at + len) as usize].copy_from_slice(bytes);
            let sender = self.nodes[node].peer_for(self.sent[name].from).ok_or("a pull from a stranger")?;
            if self.nodes[node].lives(sender) {
                demand(self.sent[name].arrived.add(offset, len), || {
                    format!("message {name}: bytes {offset}..+{len} are pulled, but have come before")
                })?;
            }
        }
        self.cover(if works { "pulled" } else { "pull failed" });
        self.note(|| format!("node {node} pulls message {name}: {works}"));
        self.nodes[node].ep.handle_pulled(pull, works);
        self.settle(node)
    }

    fn event(&mut self, node: usize, event: Event) -> Check {
        match event {
            Event::SendDone { send, user, peer, result } => {
                let sent = &self.sent[user as usize];
                same("send's names", (node, Some(send), peer), (sent.from, sent.send, sent.peer))?;
                self.send_done(user as usize, result)
            }
            Event::RecvDone(done) => self.recv_done(node, done),
            Event::RecvFailed { recv, user, failure, last } => {
                same("receive's names", recv, self.nodes[node].recvs[user as usize].id)?;
                self.recv_failed(node, user as usize, failure, last)
            }
            Event::PeerGone { peer, gone } => self.peer_gone(node, peer, gone),
            Event::Quiesced { epoch } => self.quiesced(node, epoch),
        }
    }

    fn quiesced(&mut self, node: usize, epoch: Epoch) -> Check {
        same("silence", Some(epoch), self.nodes[node].asked)?;
        if !self.nodes[node].ep.is_quiesced() {
            // A node that was added later has been asked since.
            return Ok(());
        }
        self.cover("silence agreed");
        self.nodes[node].silent = true;
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

    /// Checks that a send ends when nothing will read its buffer any more, and with the right result.
    fn send_done(&mut self, name: usize, result: Result<(), Failure>) -> Check {
        let sent = &self.sent[name];
        let from = &self.nodes[sent.from];
        demand(sent.result.is_none(), || format!("message {name} is over twice"))?;
        match result {
            Ok(()) => {
                demand(sent.started, || format!("message {name} is over before it began"))?;
                // After a goodbye the receiver does not miss what the carrier still holds.
                let parted = from.gone.get(&sent.peer) == Some(&Gone::Closed);
                demand(sent.unreleased == 0 || parted, || {
                    format!("message {name} is over, its carrier is not")
                })?;
                let dropped = (parted || sent.copied || sent.refused) && !sent.delivery;
                demand(sent.satisfied() || dropped, || {
                    format!(
                        "message {name} is over with {} bytes arrived, {:?}",
                        sent.arrived.total(),
                        sent.state
                    )
                })?;
            }
            Err(Failure::Cancelled) => demand(sent.cancelled || !sent.started, || "not cancelled".into())?,
            Err(Failure::PeerGone(peer, gone)) => {
                same("failed send's peer", peer, sent.peer)?;
                let known = from.gone.get(&peer) == Some(&gone)
                    || (from.closing.contains(&peer)
                        && gone == Gone::Closed
                        && !sent.started
                        && sent.queue != Queue::Internal);
                demand(known, || format!("message {name}: {peer} is not gone ({gone})"))?;
            }
        }
        let what = match result {
            Ok(()) => "send done",
            Err(Failure::Cancelled) => "send ended by cancel",
            Err(Failure::PeerGone(..)) => "send ended with its peer",
        };
        self.cover(what);
        self.trace.mark(&[3, name as u64, u64::from(result.is_ok())]);
        self.sent[name].result = Some(result);
        self.sent[name].scribble();
        Ok(())
    }

    /// Checks the completion of a receive.
    pub(super) fn recv_done(&mut self, node: usize, done: RecvDone) -> Check {
        let name = done.user as usize;
        let buffer = &mut self.nodes[node].recvs[name];
        same("receive's id", done.recv, buffer.id)?;
        demand(!buffer.over, || format!("receive {name} goes on after its last event"))?;
        let at = buffer.outstanding.iter().position(|(matched, doomed)| {
            let message = matched.message;
            let header = (message.queue, message.source, message.tag, message.data, message.len);
            let place = (matched.offset, matched.take);
            !doomed
                && header == (done.queue, done.source, done.tag, done.data, done.total)
                && place == (done.offset, done.len)
        });
        let Some(at) = at else {
            return Err(format!("{done:?}, but expected one of {:?}", buffer.outstanding));
        };
        let (matched, _) = buffer.outstanding.swap_remove(at);
        let last = !buffer.open && buffer.outstanding.is_empty() && buffer.ending.is_none();
        same("last event of a receive", done.last, last)?;
        buffer.over = last;
        let place = done.offset as usize..(done.offset + done.len) as usize;
        let wrong = first_wrong(matched.message.name, 0, &buffer.bytes[place]);
        demand(wrong.is_none(), || {
            format!("receive {name}: byte {wrong:?} of message {} is wrong", matched.message.name)
        })?;
        buffer.done.push(done);
        self.trace.mark(&[4, node as u64, name as u64, matched.message.name as u64]);
        self.cover("received");
        if done.last && done.offset > 0 {
            self.cover("multi-receive retired");
        }
        Ok(())
    }

    /// Checks the failure of a receive, or of one message of a multi-receive.
    fn recv_failed(&mut self, node: usize, name: usize, failure: Failure, last: bool) -> Check {
        let buffer = &mut self.nodes[node].recvs[name];
        demand(!buffer.over, || format!("receive {name} fails after its last event"))?;
        if let Failure::PeerGone(peer, _) = failure {
            let of = |peer: PeerId| move |entry: &(Match, bool)| entry.1 && entry.0.message.source == peer;
            if let Some(at) = buffer.outstanding.iter().position(of(peer)) {
                buffer.outstanding.swap_remove(at);
                let closed = !buffer.open && buffer.outstanding.is_empty() && buffer.ending.is_none();
                same("last event after a lost message", last, closed)?;
                buffer.over = closed;
                return Ok(());
            }
        }
        same("end of a receive", Some(failure), buffer.ending)?;
        demand(last && buffer.outstanding.is_empty(), || {
            format!("receive {name} ends with {:?} outstanding, last {last}", buffer.outstanding)
        })?;
        buffer.over = true;
        Ok(())
    }

    /// Takes a peer that is gone out of the model.
    fn peer_gone(&mut self, node: usize, peer: PeerId, gone: Gone) -> Check {
        let there = self.nodes[node].node_for(peer).ok_or("a stranger is gone")?;
        if gone == Gone::Closed && !self.nodes[node].closing.contains(&peer) {
            // A goodbye is the last frame of its sender: all frames before it must have arrived.
            same(format!("frames behind the goodbye of {there}"), self.noise(there, node), 0)?;
        }
        self.nodes[node].detach(peer);
        let sent = &self.sent;
        let whole = |message: &Message| sent[message.name].whole();
        let here = &mut self.nodes[node];
        demand(here.gone.insert(peer, gone).is_none(), || format!("{peer} is gone twice"))?;
        here.parted.push_back(peer);
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
            self.end_recv(node, name, Failure::PeerGone(peer, gone));
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
