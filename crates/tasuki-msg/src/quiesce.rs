//! Silence, for a checkpoint or so that another job may have the machine: once every peer has agreed, no
//! frame leaves or is under way but those of this file. Operations may still be posted; they wait. After
//! `resume` everything goes on where it stopped.
//!
//! One side asks (`Quiesce`, with the totals of all it ever sent, which do not change from then on). The
//! other side holds its own frames back at once, and answers (`Quiesced`, with its own totals) when what it
//! has received equals what was sent. The asking side has silence when it has received what the answer says.
//! Epochs only grow, so frames of an earlier request that arrive late change nothing. Both sides may ask at
//! the same time.

use crate::action::Event;
use crate::control::Controller;
use crate::defect::Defect;
use crate::endpoint::Endpoint;
use crate::error::Gone;
use crate::frame::Mark;
use crate::ids::{Epoch, PeerId};

impl<C: Controller> Endpoint<C> {
    /// Stops sending at once and asks every living peer for silence; `Event::Quiesced` says when all have
    /// agreed. Returns the number of the request; a second call before `resume` returns the same.
    pub fn quiesce(&mut self) -> Epoch {
        if self.quiescing {
            return self.epoch;
        }
        self.epoch = Epoch(self.epoch.0 + 1);
        self.quiescing = true;
        for peer in self.peers.ids() {
            self.ask_silence(peer);
        }
        self.check_silence();
        self.epoch
    }

    /// Ends the silence, or the request for it.
    pub fn resume(&mut self) {
        if !self.quiescing {
            return;
        }
        self.quiescing = false;
        self.quiesced = false;
        for id in self.peers.ids() {
            let Some(peer) = self.peers.get_mut(id) else { continue };
            let Some(epoch) = peer.quiet.ask.take() else { continue };
            peer.quiet.answer = None;
            // A request whose frame never left needs no `Resume`; an earlier request may still need one.
            if !std::mem::take(&mut peer.quiet.ask_due) {
                peer.quiet.resume_due = Some(epoch);
            }
            self.activate(id);
        }
    }

    /// Whether all living peers have agreed to the present request.
    pub fn is_quiesced(&self) -> bool {
        self.quiesced
    }

    pub(crate) fn ask_silence(&mut self, id: PeerId) {
        let epoch = self.epoch;
        self.quiesced = false;
        let Some(peer) = self.peers.get_mut(id) else { return };
        if peer.gone().is_some() {
            return;
        }
        peer.quiet.ask = Some(epoch);
        peer.quiet.ask_due = true;
        peer.quiet.answer = None;
        self.activate(id);
    }

    pub(crate) fn handle_quiesce(&mut self, from: PeerId, epoch: Epoch, mark: Mark) {
        let Some(peer) = self.peers.get_mut(from) else { return };
        let quiet = &mut peer.quiet;
        if epoch > quiet.seen {
            quiet.seen = epoch;
            quiet.paused = true;
            quiet.mark = mark;
            quiet.answered = false;
            quiet.answer_due = false;
        }
    }

    pub(crate) fn handle_quiesced(&mut self, from: PeerId, epoch: Epoch, mark: Mark) {
        let Some(peer) = self.peers.get_mut(from) else { return };
        if peer.quiet.ask == Some(epoch) {
            peer.quiet.answer = Some(mark);
        }
    }

    pub(crate) fn handle_resume(&mut self, from: PeerId, epoch: Epoch) {
        let Some(peer) = self.peers.get_mut(from) else { return };
        if epoch >= peer.quiet.seen {
            peer.quiet.seen = epoch;
            peer.quiet.paused = false;
            peer.quiet.answer_due = false;
            self.activate(from);
        }
    }

    /// To be called after every frame, which may complete the answer to a request, the agreement of all
    /// peers, or a goodbye.
    pub(crate) fn after_frame(&mut self, from: PeerId) {
        let plant = self.plant;
        let Some(peer) = self.peers.get_mut(from) else { return };
        let (arrived, quiet) = (peer.rx.mark, &mut peer.quiet);
        let asked = quiet.paused && !quiet.answered;
        if asked && (arrived == quiet.mark || plant.is(Defect::AnswerTooSoon)) {
            quiet.answered = true;
            quiet.answer_due = true;
            self.activate(from);
        }
        let Some(peer) = self.peers.get_mut(from) else { return };
        if peer.rx.bye.is_some_and(|mark| mark == arrived || plant.is(Defect::ByeTooSoon)) {
            self.mark_gone(from, Gone::Closed);
        }
        self.check_silence();
    }

    pub(crate) fn check_silence(&mut self) {
        if !self.quiescing || self.quiesced {
            return;
        }
        let agreed = |peer: &crate::peer::Peer| {
            peer.gone().is_some() || (peer.quiet.ask.is_some() && peer.quiet.answer == Some(peer.rx.mark))
        };
        if self.peers.iter().all(agreed) {
            self.quiesced = true;
            self.emit(Event::Quiesced { epoch: self.epoch });
        }
    }
}
