//! The endpoint: its state, its peers, and the queue of actions. Its methods are in one file per kind of
//! input: `send`, `transmit`, `receive`, `probe`, `handle`, `fast_path`, `grants`, `pace`, `pool`, `quiesce`,
//! `disconnect`.

use std::collections::VecDeque;

use crate::action::{Action, Event};
use crate::config::{Config, PeerOptions};
use crate::control::{Controller, Window};
use crate::counters::{EndpointStatus, PeerCounters, PeerStatus};
use crate::credit::Pool;
use crate::defect::Plant;
use crate::error::UnknownPeer;
use crate::frame::Queue;
use crate::ids::{EarlyId, Epoch, PeerId};
use crate::ops::{Incoming, RecvOp, SendOp};
use crate::peer::{Peer, Peers};
use crate::posted::Posted;
use crate::slab::Slab;
use crate::unexpected::Unexpected;

/// An early buffer, and the room that it occupies in the pool.
pub(crate) struct Early {
    pub peer: PeerId,
    pub charge: u64,
}

/// One receive queue: posted receives and unexpected messages.
pub(crate) struct Matcher {
    pub posted: Posted,
    pub unexpected: Unexpected,
}

impl Matcher {
    fn new() -> Matcher {
        Matcher { posted: Posted::new(), unexpected: Unexpected::new() }
    }
}

/// The receive queues, in the order of [`Queue`].
pub(crate) struct Matchers([Matcher; 3]);

impl Matchers {
    fn new() -> Matchers {
        Matchers(std::array::from_fn(|_| Matcher::new()))
    }

    pub fn of(&mut self, queue: Queue) -> &mut Matcher {
        &mut self.0[queue as usize]
    }

    /// Number of posted receives, on all queues.
    fn posted(&self) -> usize {
        self.0.iter().map(|matcher| matcher.posted.len()).sum()
    }

    /// Number of unexpected messages, on all queues.
    fn unexpected(&self) -> usize {
        self.0.iter().map(|matcher| matcher.unexpected.len()).sum()
    }
}

/// The message layer of one endpoint: a state machine without IO, clock or payload.
///
/// Input goes in through `post_*`, `peek`/`claim`/`discard`, `cancel_*` and `handle_*`. Each such call may
/// leave actions (`poll_action`) and frames (`poll_active`, `poll_transmit`) behind. Actions must be carried
/// out in order; they may wait while more input is handled. Frames leave when the carrier of their peer has
/// room.
pub struct Endpoint<C = Window> {
    pub(crate) config: Config,
    pub(crate) controller: C,
    pub(crate) peers: Peers,
    pub(crate) living: u32,
    /// Credit that each living peer may hold, bytes.
    pub(crate) share: u64,
    pub(crate) sends: Slab<SendOp>,
    pub(crate) recvs: Slab<RecvOp>,
    pub(crate) incoming: Slab<Incoming>,
    pub(crate) early: Slab<Early>,
    pub(crate) matchers: Matchers,
    pub(crate) match_steps: u64,
    pub(crate) pool: Pool,
    pub(crate) starved: VecDeque<PeerId>,
    /// Peers with messages that want grants, in the order of their turns.
    pub(crate) ring: VecDeque<PeerId>,
    pub(crate) in_flight: u64,
    /// Bytes of early parts of messages that are known and have not arrived, of all peers.
    pub(crate) early_missing: u64,
    pub(crate) ready: VecDeque<PeerId>,
    pub(crate) actions: VecDeque<Action>,
    pub(crate) epoch: Epoch,
    /// This endpoint has asked for silence.
    pub(crate) quiescing: bool,
    /// All peers have agreed to silence.
    pub(crate) quiesced: bool,
    /// The time as the owner last told it, ns.
    pub(crate) now: u64,
    /// Peers whose paced bulk waits, with the time until which it waits, ns.
    pub(crate) paced: Vec<(u64, PeerId)>,
    pub(crate) plant: Plant,
}

impl<C: Controller> Endpoint<C> {
    /// An endpoint without peers.
    pub fn new(config: Config, controller: C) -> Endpoint<C> {
        Endpoint {
            pool: Pool::new(config.pool_bytes),
            config,
            controller,
            peers: Peers::default(),
            living: 0,
            share: config.share(0),
            sends: Slab::new(),
            recvs: Slab::new(),
            incoming: Slab::new(),
            early: Slab::new(),
            matchers: Matchers::new(),
            match_steps: 0,
            starved: VecDeque::new(),
            ring: VecDeque::new(),
            in_flight: 0,
            early_missing: 0,
            ready: VecDeque::new(),
            actions: VecDeque::new(),
            epoch: Epoch(0),
            quiescing: false,
            quiesced: false,
            now: 0,
            paced: Vec::new(),
            plant: Plant::NONE,
        }
    }

    /// Makes a peer known. Both sides must do so before the first frame between them is handled. For messages
    /// to itself an endpoint adds itself as a peer, and its engine hands the frames for that peer straight
    /// back.
    pub fn add_peer(&mut self, options: PeerOptions) -> PeerId {
        let credit = self.config.initial_credit;
        let peer = self.peers.add(Peer::new(options, credit));
        self.pool.take(credit);
        self.living += 1;
        if self.quiescing {
            self.ask_silence(peer);
        }
        self.share_pool(Some(peer));
        peer
    }

    /// To be called when the peer has been heard for the first time: from now on it may be told of the credit
    /// that it has been given meanwhile.
    pub fn introduce(&mut self, peer: PeerId) {
        if self.peers.get(peer).is_some_and(|record| record.tx.credit_due) {
            self.activate(peer);
        }
    }

    /// Changes the options of a peer, because its carriers have changed.
    pub fn set_peer_options(&mut self, peer: PeerId, options: PeerOptions) -> Result<(), UnknownPeer> {
        self.peers.get_mut(peer).ok_or(UnknownPeer(peer))?.options = options;
        Ok(())
    }

    /// Drops the record of a peer that is gone, its counters, and its messages that have not been received.
    /// Returns false if the peer still lives or was forgotten before.
    pub fn forget_peer(&mut self, peer: PeerId) -> bool {
        if self.peers.get(peer).is_none_or(|record| record.gone().is_none()) {
            return false;
        }
        self.drop_messages_of(peer);
        self.peers.forget(peer);
        true
    }

    /// The next action. `FreeEarly` gives its bytes back to the pool only when it is polled, so that the
    /// bound on the pool also holds for the caller's memory.
    pub fn poll_action(&mut self) -> Option<Action> {
        let action = self.actions.pop_front()?;
        if let Action::FreeEarly(EarlyId(key)) = action
            && let Some(Early { peer, charge }) = self.early.remove(key)
        {
            self.release(peer, charge);
        }
        Some(action)
    }

    /// Whether `poll_action` has something.
    pub fn has_actions(&self) -> bool {
        !self.actions.is_empty()
    }

    /// The next peer that has something to send. Each is named once: the caller must then call
    /// `poll_transmit` for it, as its carrier has room, until that returns `None`; after that it is named
    /// again when there is more.
    pub fn poll_active(&mut self) -> Option<PeerId> {
        loop {
            let peer = self.ready.pop_front()?;
            let Some(record) = self.peers.get_mut(peer) else { continue };
            record.listed = false;
            if record.active {
                return Some(peer);
            }
        }
    }

    /// Whether `poll_action` or `poll_active` may have something. Cheap enough to be called all the time.
    pub fn has_work(&self) -> bool {
        !self.actions.is_empty() || !self.ready.is_empty()
    }

    /// The counters of a peer; `None` if it is unknown or forgotten.
    pub fn counters(&self, peer: PeerId) -> Option<&PeerCounters> {
        self.peers.get(peer).map(|record| &record.counters)
    }

    /// What is under way with a peer now; `None` if it is unknown or forgotten.
    pub fn peer_status(&self, peer: PeerId) -> Option<PeerStatus> {
        let record = self.peers.get(peer)?;
        let (tx, rx, quiet) = (&record.tx, &record.rx, &record.quiet);
        Some(PeerStatus {
            sends_queued: tx.starts.len() - tx.cancelled,
            sends_open: tx.open,
            sends_awaiting: tx.awaiting.len(),
            sends_with_bulk: tx.bulk.len(),
            control_queued: tx.control.len(),
            credit: tx.credit.available(),
            pool_held: rx.credit.held(),
            pool_unspent: rx.credit.unspent(),
            credit_untold: tx.credit_due,
            messages: rx.messages,
            messages_busy: rx.busy,
            messages_waiting: rx.waiting.len(),
            granted_in_flight: rx.in_flight,
            next_send: tx.next_seq.0,
            next_receive: rx.next_seq.0,
            quiesce_pending: quiet.ask.is_some() && quiet.answer != Some(rx.mark),
            paused: quiet.paused,
            gone: record.gone().is_some(),
        })
    }

    /// What the endpoint holds now.
    pub fn status(&self) -> EndpointStatus {
        EndpointStatus {
            posted: self.matchers.posted(),
            unexpected: self.matchers.unexpected(),
            sends: self.sends.len(),
            receives: self.recvs.len(),
            messages: self.incoming.len(),
            early_buffers: self.early.len(),
            pool_size: self.pool.size,
            pool_held: self.pool.held,
            pool_held_max: self.pool.held_max,
            granted_in_flight: self.in_flight,
            match_steps: self.match_steps,
        }
    }

    /// Number of unexpected messages on a queue. Cheap enough to be called all the time.
    pub fn unexpected(&self, queue: Queue) -> usize {
        self.matchers.0[queue as usize].unexpected.len()
    }

    /// The controller.
    pub fn controller(&self) -> &C {
        &self.controller
    }

    /// The controller, to change its settings; to be followed by `handle_budget`.
    pub fn controller_mut(&mut self) -> &mut C {
        &mut self.controller
    }

    /// Plants a defect (feature `defects`, for tests).
    #[cfg(feature = "defects")]
    pub fn plant(&mut self, defect: Option<crate::defect::Defect>) {
        self.plant = Plant(defect);
    }

    pub(crate) fn emit(&mut self, event: Event) {
        self.actions.push_back(Action::Event(event));
    }

    /// Notes that the peer has something to send.
    pub(crate) fn activate(&mut self, peer: PeerId) {
        let Some(record) = self.peers.get_mut(peer) else { return };
        if record.active || record.gone().is_some() {
            return;
        }
        record.active = true;
        // A caller may poll a peer without waiting for `poll_active` to name it; the peer is then still in
        // the list.
        if !std::mem::replace(&mut record.listed, true) {
            self.ready.push_back(peer);
        }
    }
}
