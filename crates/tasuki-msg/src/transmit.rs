//! The order in which frames leave, for one peer.
//!
//! First frames of the quiesce family; then credit; then `Done` and `Grant`; then starts, with one piece of
//! bulk after every few of them, so that neither a stream of small messages nor a large one shuts the other
//! out; goodbye at last.

use std::num::NonZeroU64;

use tasuki_tuning::matching;

use crate::action::Transmit;
use crate::control::Controller;
use crate::defect::Defect;
use crate::endpoint::Endpoint;
use crate::error::Gone;
use crate::frame::Frame;
use crate::ids::PeerId;
use crate::peer::{Control, Peer};

impl<C: Controller> Endpoint<C> {
    /// The next frame for a peer, with at most `room` bytes of payload; `None` if there is nothing now. Every
    /// other call can change that, and `poll_active` then names the peer again.
    pub fn poll_transmit(&mut self, peer: PeerId, room: NonZeroU64) -> Option<Transmit> {
        let next = self.next_transmit(peer, room.get());
        let record = self.peers.get_mut(peer)?;
        match &next {
            Some(transmit) => {
                record.counters.sent_frames += 1;
                record.counters.sent_bytes += transmit.frame.payload_len();
                if transmit.frame.counted() {
                    record.tx.mark.frames += 1;
                }
                if let Frame::Data(data) = transmit.frame {
                    record.tx.mark.bytes += data.len;
                }
            }
            None => record.active = false,
        }
        next
    }

    fn next_transmit(&mut self, id: PeerId, room: u64) -> Option<Transmit> {
        let peer = self.peers.get_mut(id)?;
        if peer.gone().is_some() {
            return None;
        }
        let leak = self.plant.is(Defect::PauseLeaks);
        if let Some(frame) = quiet_frame(peer) {
            return Some(Transmit { frame, payload: None });
        }
        if peer.quiet.holds() && !leak {
            return None;
        }
        if let Some(frame) = credit_frame(peer, self.share) {
            return Some(Transmit { frame, payload: None });
        }
        if let Some(frame) = self.control_frame(id) {
            return Some(Transmit { frame, payload: None });
        }
        if self.peers.get(id)?.quiet.holds() {
            return None;
        }
        self.payload_frame(id, room).or_else(|| self.bye_frame(id))
    }

    fn control_frame(&mut self, id: PeerId) -> Option<Frame> {
        let peer = self.peers.get_mut(id)?;
        while let Some(control) = peer.tx.control.pop_front() {
            match control {
                Control::Done(seq) => return Some(Frame::Done { seq }),
                Control::Grant(key) => {
                    // The message may have been dropped meanwhile, with its peer.
                    let Some(message) = self.incoming.get_mut(key) else { continue };
                    message.grant_queued = false;
                    return Some(Frame::Grant { seq: message.seq, upto: message.granted });
                }
            }
        }
        None
    }

    fn payload_frame(&mut self, id: PeerId, room: u64) -> Option<Transmit> {
        let mut start = self.next_start(id);
        let peer = self.peers.get_mut(id)?;
        if self.plant.is(Defect::WaitForCredit) && peer.tx.credit.available() < crate::ENVELOPE {
            start = None;
        }
        match start {
            Some(key) if peer.tx.bulk.is_empty() || peer.tx.starts_in_row < matching::STARTS_PER_BULK => {
                peer.tx.starts_in_row = (peer.tx.starts_in_row + 1).min(matching::STARTS_PER_BULK);
                self.start(id, key, room)
            }
            _ => {
                peer.tx.starts_in_row = 0;
                let bulk = self.next_bulk(id, room);
                // If bulk has to wait for its pace, starts need not wait for it.
                bulk.or_else(|| start.and_then(|key| self.start(id, key, room)))
            }
        }
    }

    fn bye_frame(&mut self, id: PeerId) -> Option<Transmit> {
        let peer = self.peers.get(id)?;
        if !peer.can_say_bye() {
            return None;
        }
        let frame = Frame::Bye { mark: peer.tx.mark };
        self.mark_gone(id, Gone::Closed);
        Some(Transmit { frame, payload: None })
    }
}

fn quiet_frame(peer: &mut Peer) -> Option<Frame> {
    let (quiet, mark) = (&mut peer.quiet, peer.tx.mark);
    if std::mem::take(&mut quiet.ask_due) {
        // The new request replaces the end of an earlier one.
        quiet.resume_due = None;
        return quiet.ask.map(|epoch| Frame::Quiesce { epoch, mark });
    }
    if let Some(epoch) = quiet.resume_due.take() {
        return Some(Frame::Resume { epoch });
    }
    if std::mem::take(&mut quiet.answer_due) {
        return Some(Frame::Quiesced { epoch: quiet.seen, mark });
    }
    None
}

fn credit_frame(peer: &mut Peer, share: u64) -> Option<Frame> {
    let tx = &mut peer.tx;
    if std::mem::take(&mut tx.credit_due) {
        return Some(Frame::Credit { total: peer.rx.credit.granted });
    }
    if std::mem::take(&mut tx.return_due) {
        return Some(Frame::Return { total: tx.credit.returned });
    }
    if std::mem::take(&mut tx.recall_due) {
        return Some(Frame::Recall { keep: share });
    }
    None
}
