//! All that an endpoint knows of one peer.

use std::collections::VecDeque;

use crate::config::PeerOptions;
use crate::counters::PeerCounters;
use crate::credit::{Ledger, Purse};
use crate::error::Gone;
use crate::frame::Mark;
use crate::hash::MixMap;
use crate::ids::{Epoch, Key, MsgSeq, PeerId};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Living,
    /// The program wants to part; goodbye is said when nothing is under way.
    Closing,
    Gone(Gone),
}

/// A control frame that waits for its turn.
#[derive(Clone, Copy)]
pub(crate) enum Control {
    Done(MsgSeq),
    /// Grant for this incoming message, up to what it says when the frame leaves.
    Grant(Key),
}

/// Towards the peer.
#[derive(Default)]
pub(crate) struct Outgoing {
    pub next_seq: MsgSeq,
    /// Sends that have not started, in order. May contain keys of cancelled ones.
    pub starts: VecDeque<Key>,
    pub cancelled: usize,
    /// Started sends with bytes that may be sent.
    pub bulk: VecDeque<Key>,
    /// Started sends for which the peer will say `Grant` or `Done`.
    pub awaiting: MixMap<u64, Key>,
    /// Those of them with an early part, to which the peer has said nothing yet.
    pub unanswered: u32,
    /// Sends posted and not over.
    pub open: usize,
    pub control: VecDeque<Control>,
    pub purse: Purse,
    pub credit_due: bool,
    pub recall_due: bool,
    pub return_due: bool,
    /// What has been put into the channel.
    pub mark: Mark,
    /// Starts sent since the last bulk frame.
    pub starts_in_row: u32,
    /// When paced bulk may leave again, ns.
    pub pace_at: u64,
}

/// From the peer.
#[derive(Default)]
pub(crate) struct Arriving {
    pub next_seq: MsgSeq,
    /// Messages for which frames may still come, or whose turn has not come, by sequence number.
    pub inbox: MixMap<u64, Key>,
    pub ledger: Ledger,
    /// The peer has less credit than its share because the pool was empty.
    pub starved: bool,
    /// Matched messages that want grants.
    pub waiting: VecDeque<Key>,
    /// In the endpoint's ring of peers with `waiting` messages.
    pub in_ring: bool,
    /// Bytes granted that have not arrived.
    pub in_flight: u64,
    /// Matched or discarded messages that are not complete.
    pub busy: usize,
    /// Messages in any state.
    pub messages: usize,
    /// What has come out of the channel.
    pub mark: Mark,
    /// The peer said goodbye; it counts when this much has arrived.
    pub bye: Option<Mark>,
}

/// Who has asked whom to be silent.
#[derive(Default)]
pub(crate) struct Quiet {
    /// This side asked, under this number.
    pub ask: Option<Epoch>,
    pub ask_due: bool,
    /// The peer's answer: all that it had sent.
    pub answer: Option<Mark>,
    /// `Resume` must be sent for this number.
    pub resume_due: Option<Epoch>,
    /// Highest number that the peer has used.
    pub seen: Epoch,
    /// The peer asked for silence,
    pub paused: bool,
    /// having sent this much,
    pub mark: Mark,
    /// and we have answered, or
    pub answered: bool,
    /// will with the next frame.
    pub answer_due: bool,
}

impl Quiet {
    /// No counted frame and no payload may leave.
    pub fn holds(&self) -> bool {
        self.ask.is_some() || self.paused
    }
}

pub(crate) struct Peer {
    pub life: Life,
    pub options: PeerOptions,
    pub tx: Outgoing,
    pub rx: Arriving,
    pub quiet: Quiet,
    pub counters: PeerCounters,
    /// May have something to send.
    pub active: bool,
    /// In the list from which `poll_active` names peers.
    pub listed: bool,
}

impl Peer {
    /// Both sides begin with `credit` at each other.
    pub fn new(options: PeerOptions, credit: u64) -> Peer {
        let tx = Outgoing { purse: Purse { total: credit, ..Purse::default() }, ..Outgoing::default() };
        let rx = Arriving { ledger: Ledger { granted: credit, ..Ledger::default() }, ..Arriving::default() };
        Peer {
            life: Life::Living,
            options,
            tx,
            rx,
            quiet: Quiet::default(),
            counters: PeerCounters::default(),
            active: false,
            listed: false,
        }
    }

    pub fn gone(&self) -> Option<Gone> {
        match self.life {
            Life::Gone(gone) => Some(gone),
            _ => None,
        }
    }

    /// Nothing is under way with a peer that the program wants to part from.
    pub fn may_part(&self) -> bool {
        self.life == Life::Closing
            && self.tx.open == 0
            && self.tx.control.is_empty()
            && self.rx.busy == 0
            && !self.quiet.holds()
    }
}

/// Peers by id. A forgotten one leaves an empty place (8 bytes), because ids are never reused.
#[derive(Default)]
pub(crate) struct Peers {
    list: Vec<Option<Box<Peer>>>,
}

impl Peers {
    pub fn add(&mut self, peer: Peer) -> PeerId {
        // 2^32 incarnations do not fit in memory.
        let id = PeerId(self.list.len() as u32);
        self.list.push(Some(Box::new(peer)));
        id
    }

    #[inline]
    pub fn get(&self, id: PeerId) -> Option<&Peer> {
        self.list.get(id.index())?.as_deref()
    }

    #[inline]
    pub fn get_mut(&mut self, id: PeerId) -> Option<&mut Peer> {
        self.list.get_mut(id.index())?.as_deref_mut()
    }

    pub fn forget(&mut self, id: PeerId) {
        if let Some(place) = self.list.get_mut(id.index()) {
            *place = None;
        }
    }

    pub fn ids(&self) -> impl Iterator<Item = PeerId> + use<> {
        (0..self.list.len() as u32).map(PeerId)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Peer> {
        self.list.iter().filter_map(|place| place.as_deref())
    }
}
