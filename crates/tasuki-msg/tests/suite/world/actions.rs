//! What an engine does: carries out the actions, in order, and checks every event against the model.

use tasuki_msg::{Action, EarlyId, Event, Failure, PeerId, RecvDone, RecvId};

use super::{Check, World, demand, same};
use crate::node::{Fate, Pull, content};

impl World {
    /// Carries out all that the endpoint asks for; to be called after every call into it.
    pub fn settle(&mut self, node: usize) -> Check {
        while let Some(action) = self.nodes[node].ep.poll_action() {
            self.note(|| format!("node {node}: {action:?}"));
            match action {
                Action::Copy { from, recv, user, offset, len } => {
                    self.copy(node, from, recv, user as usize, offset as usize, len as usize)?;
                }
                Action::FreeEarly(buffer) => {
                    let freed = self.nodes[node].early.remove(&buffer.index());
                    demand(freed.is_some_and(|entry| entry.id == buffer), || {
                        format!("{buffer:?} freed, but it is not there")
                    })?;
                }
                Action::Pull { pull, remote_key, offset, len, user, at, .. } => {
                    let (name, recv) = (remote_key as usize, user as usize);
                    self.nodes[node].pulls.push(Pull { pull, name, offset, len, recv, at });
                }
                Action::Event(event) => self.event(node, event)?,
            }
        }
        self.audit(node)
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

    /// The engine gets round to a pull that it was asked for.
    pub fn pull(&mut self, node: usize) -> Check {
        let pulls = self.nodes[node].pulls.len();
        if pulls == 0 {
            return Ok(());
        }
        let at = self.rng.index(pulls);
        let Pull { pull, name, offset, len, recv, at } = self.nodes[node].pulls.swap_remove(at);
        let sent = &self.sent[name];
        let over = self.nodes[node].recvs[recv].over;
        let works = self.nodes[sent.from].alive && !over && !self.rng.chance(self.habits.pull_fails);
        if works {
            let bytes = &sent.bytes[offset as usize..(offset + len) as usize];
            self.nodes[node].recvs[recv].bytes[at as usize..(at + len) as usize].copy_from_slice(bytes);
            if self.nodes[node].lives(sent.message.source) {
                self.sent[name].arrived += len;
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
                same("send's names", (node, send, peer), (sent.from, sent.send, sent.peer))?;
                self.send_done(user as usize, result)
            }
            Event::RecvDone(done) => self.recv_done(node, done),
            Event::RecvFailed { recv, user, failure, last } => {
                same("receive's names", recv, self.nodes[node].recvs[user as usize].id)?;
                self.recv_failed(node, user as usize, failure, last)
            }
            Event::PeerGone { peer, gone } => self.model_gone(node, peer, gone),
            Event::Quiesced { epoch } => {
                same("silence", Some(epoch), self.nodes[node].asked)?;
                if !self.nodes[node].ep.is_quiesced() {
                    // A newcomer has been asked since.
                    return Ok(());
                }
                self.cover("silence agreed");
                self.nodes[node].silent = true;
                self.listen_for_noise(node)
            }
        }
    }

    /// A send may only be over when nobody will look at its buffer again.
    fn send_done(&mut self, name: usize, result: Result<(), Failure>) -> Check {
        let sent = &self.sent[name];
        let from = &self.nodes[sent.from];
        demand(sent.result.is_none(), || format!("message {name} is over twice"))?;
        match result {
            Ok(()) => {
                demand(sent.started, || format!("message {name} is over before it began"))?;
                // After a goodbye nobody will miss what the carrier still holds.
                let parted = from.gone.get(&sent.peer) == Some(&tasuki_msg::Gone::Closed);
                demand(sent.unreleased == 0 || parted, || {
                    format!("message {name} is over, its carrier is not")
                })?;
                let arrived = match sent.fate {
                    Fate::Matched { take } => sent.arrived >= take,
                    Fate::Discarded => true,
                    Fate::Waiting => sent.arrived == sent.message.len && !sent.delivery,
                };
                demand(arrived || ((parted || sent.copied || sent.refused) && !sent.delivery), || {
                    format!("message {name} is over with {} bytes arrived, {:?}", sent.arrived, sent.fate)
                })?;
            }
            Err(Failure::Cancelled) => demand(sent.cancelled || !sent.started, || "not cancelled".into())?,
            Err(Failure::PeerGone(peer, gone)) => {
                same("failed send's peer", peer, sent.peer)?;
                let known = from.gone.get(&peer) == Some(&gone)
                    || (from.closing.contains(&peer) && gone == tasuki_msg::Gone::Closed && !sent.started);
                demand(known, || format!("message {name}: {peer} is not gone ({gone})"))?;
            }
        }
        let what = match result {
            Ok(()) => "send done",
            Err(Failure::Cancelled) => "send ended by cancel",
            Err(Failure::PeerGone(..)) => "send ended by death",
        };
        self.cover(what);
        let sent = &mut self.sent[name];
        sent.result = Some(result);
        // The program may now write something else into its buffer.
        sent.bytes.fill(0xEE);
        Ok(())
    }

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
        let expected = (0..done.len).map(|at| content(matched.message.name, at));
        let wrong = buffer.bytes[place].iter().copied().zip(expected).position(|(got, right)| got != right);
        demand(wrong.is_none(), || {
            format!("receive {name}: byte {wrong:?} of message {} is wrong", matched.message.name)
        })?;
        buffer.done.push(done);
        self.cover("received");
        if done.last && done.offset > 0 {
            self.cover("multi-receive retired");
        }
        Ok(())
    }

    fn recv_failed(&mut self, node: usize, name: usize, failure: Failure, last: bool) -> Check {
        let buffer = &mut self.nodes[node].recvs[name];
        demand(!buffer.over, || format!("receive {name} fails after its last event"))?;
        if let Failure::PeerGone(peer, _) = failure {
            let of = |peer: PeerId| {
                move |entry: &(tasuki_sim::model::Match, bool)| entry.1 && entry.0.message.source == peer
            };
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
}
