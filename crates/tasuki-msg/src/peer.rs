//! All that an endpoint knows of one peer.

use std::collections::VecDeque;

use crate::config::PeerOptions;
use crate::counters::PeerCounters;
use crate::credit::{RxCredit, TxCredit};
use crate::error::Gone;
use crate::frame::Mark;
use crate::hash::MixMap;
use crate::ids::{Epoch, Key, MsgSeq, PeerId};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Living,
    /// The program has closed the peer; goodbye is said when nothing is under way.
    Closing,
    Gone(Gone),
}

/// A control frame that waits to be sent.
#[derive(Clone, Copy)]
pub(crate) enum Control {
    Done(MsgSeq),
    /// A grant for this incoming message, up to what has been granted when the frame leaves.
    Grant(Key),
}

/// State of what is sent to the peer.
#[derive(Default)]
pub(crate) struct TxState {
    pub next_seq: MsgSeq,
    /// Sends that have not started, in order. May contain keys of cancelled sends.
    pub starts: VecDeque<Key>,
    pub cancelled: usize,
    /// Started sends with bytes that may be sent.
    pub bulk: VecDeque<Key>,
    /// Started sends for which the peer will say `Grant` or `Done`.
    pub awaiting: MixMap<u64, Key>,
    /// Number of those of them that have an early part and about which the peer has not yet sent a frame.
    pub unanswered: u32,
    /// Number of sends that are posted and not over.
    pub open: usize,
    pub control: VecDeque<Control>,
    pub credit: TxCredit,
    pub credit_due: bool,
    pub recall_due: bool,
    pub return_due: bool,
    /// Totals of what has been sent.
    pub mark: Mark,
    /// Number of `Start` frames sent since the last `Data` frame.
    pub starts_in_row: u32,
    /// When paced bulk may leave again, ns.
    pub pace_at: u64,
    /// Messages up to this length go whole without a grant, if credit allows, whatever the controller says.
    pub whole_max: u64,
}

/// State of what is received from the peer.
#[derive(Default)]
pub(crate) struct RxState {
    pub next_seq: MsgSeq,
    /// Messages for which frames may still come, or whose turn has not come, by sequence number.
    pub inbox: MixMap<u64, Key>,
    pub credit: RxCredit,
    /// The peer has less credit than its share because the pool was empty.
    pub starved: bool,
    /// Matched messages that want grants.
    pub waiting: VecDeque<Key>,
    /// In the endpoint's ring of peers with `waiting` messages.
    pub in_ring: bool,
    /// Bytes granted to the peer that have not arrived.
    pub in_flight: u64,
    /// Bytes of early parts of messages that are known and have not arrived.
    pub early_missing: u64,
    /// Number of messages that are matched or discarded and not complete.
    pub busy: usize,
    /// Number of messages in any state.
    pub messages: usize,
    /// Totals of what has been received.
    pub mark: Mark,
    /// The peer said goodbye, which takes effect when this much has been received.
    pub bye: Option<Mark>,
}

/// Requests for silence between this side and the peer.
#[derive(Default)]
pub(crate) struct Quiet {
    /// Number of this side's request that stands.
    pub ask: Option<Epoch>,
    pub ask_due: bool,
    /// The peer's answer to it: the totals of all that the peer had sent.
    pub answer: Option<Mark>,
    /// `Resume` must be sent for the request of this number.
    pub resume_due: Option<Epoch>,
    /// Number of the peer's latest request.
    pub seen: Epoch,
    /// The peer's request stands.
    pub paused: bool,
    /// The totals of all that the peer had sent when it asked.
    pub mark: Mark,
    /// This side has answered, or will with the next frame.
    pub answered: bool,
    /// The answer must be sent with the next frame.
    pub answer_due: bool,
}

impl Quiet {
    /// Whether no counted frame and no payload may leave.
    pub fn holds(&self) -> bool {
        self.ask.is_some() || self.paused
    }
}

pub(crate) struct Peer {
    pub life: Life,
    pub options: PeerOptions,
    pub tx: TxState,
    pub rx: RxState,
    pub quiet: Quiet,
    pub counters: PeerCounters,
    /// There may be something to send to it.
    pub active: bool,
    /// The peer is in the list from which `poll_active` names peers.
    pub listed: bool,
}

impl Peer {
    /// A new peer: both sides begin with `credit` at each other.
    pub fn new(options: PeerOptions, credit: u64) -> Peer {
        let tx = TxState { credit: TxCredit { total: credit, ..TxCredit::default() }, ..TxState::default() };
        let rx =
            RxState { credit: RxCredit { granted: credit, ..RxCredit::default() }, ..RxState::default() };
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

    /// Whether goodbye can be said: the program has closed the peer, and nothing is under way.
    pub fn can_say_bye(&self) -> bool {
        self.life == Life::Closing
            && self.tx.open == 0
            && self.tx.control.is_empty()
            && self.rx.busy == 0
            && !self.quiet.holds()
    }
}

/// Peers by id. A forgotten one leaves an empty place of 8 bytes, because ids are never reused.
#[derive(Default)]
pub(crate) struct Peers {
    list: Vec<Option<Box<Peer>>>,
}

impl Peers {
    pub fn add(&mut self, peer: Peer) -> PeerId {
        // The id cannot overflow: 2^32 incarnations do not fit in memory.
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
