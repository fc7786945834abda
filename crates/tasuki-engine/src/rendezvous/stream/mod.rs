//! Long messages by TCP, where that costs less than packets: decision 12 of `docs/adr`.
//!
//! The side that receives *invites* the side that sends: it listens on a rail and says where. From then on
//! the sender *pushes* the pieces of its messages into the stream ([`crate::messages::pushes`]): each is a
//! record ([`record`]) that says to which message it belongs, and goes straight into the program's memory
//! where a receive waits for it. The first frames of the longest messages carry a key instead: the receiver
//! asks for the bytes that it wants (*pulls*), in order. Control messages and the beginnings of messages
//! travel in packets. If nobody can listen or connect, if the cable dies, or if an end is closed, both sides
//! say what they have received, and the rest goes in packets.

mod acks;
mod ahead;
mod choose;
mod connection;
mod control;
mod link;
mod place;
mod record;
mod rx;
mod tx;

use std::collections::{BTreeMap, VecDeque};

use tasuki_proto::Time;
use tasuki_tuning::streams;

use super::context::Context;
use crate::api::Peer;
use crate::messages::pushes::Push;
use crate::messages::{Messages, PullJob};
use choose::Seen;
use control::ControlMessage;
pub(super) use control::is_stream;
use link::Link;

/// What streams have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamCounters {
    /// Bytes of messages that were received by stream.
    pub received_bytes: u64,
    /// Bytes that were sent by stream.
    pub sent_bytes: u64,
    /// Invitations that were sent.
    pub invited: u64,
    /// Streams that ended before the endpoint did.
    pub broken: u64,
    /// Messages that were asked for by stream, and pieces that were pushed, that went in packets after all.
    pub given_up: u64,
}

/// All streams of an endpoint.
pub(crate) struct Streams {
    /// Every peer is invited, whatever packets cost.
    always: bool,
    links: BTreeMap<Peer, Link>,
    /// Control messages that have arrived.
    inbox: VecDeque<(Peer, ControlMessage)>,
    /// What the UDP sockets had received when they were last judged.
    seen: Vec<Seen>,
    /// When that was.
    judged: Time,
    /// When it is judged again.
    judge_at: Time,
    /// When streams are looked at by which nothing is expected.
    look_at: Time,
    /// Peers whose packets are to be acknowledged now.
    owing: Vec<Peer>,
    counters: StreamCounters,
}

impl Streams {
    /// With `always` every peer is invited.
    pub fn new(always: bool) -> Streams {
        Streams {
            always,
            links: BTreeMap::new(),
            inbox: VecDeque::new(),
            seen: Vec::new(),
            judged: Time(0),
            judge_at: Time(0),
            look_at: Time(0),
            owing: Vec::new(),
            counters: StreamCounters::default(),
        }
    }

    pub fn counters(&self) -> StreamCounters {
        self.counters
    }

    /// Whether every peer is invited, whatever packets cost.
    pub fn invites_all(&self) -> bool {
        self.always
    }

    /// Whether there is a stream to the peer, so that messages to it may be fetched.
    pub fn is_open(&self, peer: Peer) -> bool {
        self.links.get(&peer).is_some_and(Link::is_open)
    }

    /// Whether something that was given to the stream to the peer has not arrived.
    pub fn owes(&self, peer: Peer) -> bool {
        self.links.get(&peer).is_some_and(Link::owes)
    }

    /// Whether something is to be done at each poll; `awaited`: pieces of messages are to come.
    pub fn is_at_work(&self, now: Time, awaited: bool) -> bool {
        !self.inbox.is_empty() || self.links.values().any(|link| link.is_at_work(now, awaited))
    }

    /// Whether streams are to be looked at though nothing is known to come: something has come lately, or it
    /// is time.
    pub fn is_look_due(&self, now: Time) -> bool {
        now >= self.look_at || self.is_hot(now)
    }

    /// Whether something has come by a stream lately, so that the next message may begin in it.
    pub fn is_hot(&self, now: Time) -> bool {
        self.links.values().any(|link| link.is_hot(now))
    }

    /// A peer has failed, or the connection to it is over, and with it everything that was under way.
    pub fn forget(&mut self, peer: Peer, messages: &mut Messages) {
        if let Some(mut link) = self.links.remove(&peer) {
            link.forget(messages);
        }
        messages.forget_pushes(peer);
    }

    /// Sends the pieces of messages that the message layer has given for streams.
    pub fn push_given(&mut self, cx: &mut Context<'_>) {
        let mut last = None;
        while let Some((peer, push)) = cx.messages.next_push() {
            self.push(cx, peer, push);
            if let Some(before) = last.replace(peer)
                && before != peer
            {
                self.poll_link(cx, before);
            }
        }
        if let Some(peer) = last {
            self.poll_link(cx, peer);
        }
    }

    fn push(&mut self, cx: &mut Context<'_>, peer: Peer, push: Push) {
        match self.links.get_mut(&peer) {
            Some(link) => link.push(cx, peer, push),
            None => cx.messages.owe_push(peer, push),
        }
    }

    /// Moves one stream on. True if something was done.
    fn poll_link(&mut self, cx: &mut Context<'_>, peer: Peer) -> bool {
        let Streams { links, counters, .. } = self;
        let Some(link) = links.get_mut(&peer) else { return false };
        let busy = link.poll(cx, counters, peer, false);
        update_open(cx, peer, link);
        busy
    }

    /// Asks the sender of a message for its bytes. False if there is no stream.
    pub fn fetch(&mut self, peer: Peer, job: PullJob, cx: &mut Context<'_>) -> bool {
        let Some(pull) = self.links.get_mut(&peer).and_then(|link| link.fetch(job)) else { return false };
        tell(cx, peer, &pull);
        true
    }

    /// A peer whose packets are to be acknowledged now, because their messages have come whole by stream, and
    /// no packet is likely to go to it soon. Each is given once.
    pub fn next_owing(&mut self) -> Option<Peer> {
        self.owing.pop()
    }

    /// Moves all streams on. True if something was done.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        let mut busy = false;
        let look = cx.now >= self.look_at;
        if look {
            let pause = streams::LOOK_EVERY_NS.max(streams::LOOK_PAUSE_NS * self.links.len() as u64);
            self.look_at = Time(cx.now.0.saturating_add(pause));
        }
        let Streams { links, counters, inbox, owing, .. } = self;
        while let Some((peer, message)) = inbox.pop_front() {
            busy = true;
            if cx.record(peer).is_some_and(|record| !record.gone && record.failure.is_none()) {
                links.entry(peer).or_default().handle(cx, counters, peer, message);
            }
        }
        for (&peer, link) in links {
            busy |= link.poll(cx, counters, peer, look);
            if link.take_owed() {
                owing.push(peer);
            }
            update_open(cx, peer, link);
        }
        busy
    }
}

/// Tells the message layer whether messages to a peer go by stream.
fn update_open(cx: &mut Context<'_>, peer: Peer, link: &Link) {
    let Some(id) = cx.record(peer).map(|record| record.id) else { return };
    cx.messages.set_stream(id, link.push_min());
}

/// A control message about streams has arrived. False if it makes no sense. Without streams an invitation
/// need not be answered.
pub(super) fn hear(streams: Option<&mut Streams>, source: Peer, bytes: &[u8]) -> bool {
    match (ControlMessage::read(bytes), streams) {
        (Some(message), Some(streams)) => {
            streams.inbox.push_back((source, message));
            true
        }
        (Some(ControlMessage::Invite { .. } | ControlMessage::Over { .. }), None) => true,
        _ => false,
    }
}

/// Sends a control message.
fn tell(cx: &mut Context<'_>, peer: Peer, message: &ControlMessage) {
    let mut bytes = Vec::new();
    message.write(&mut bytes);
    cx.send_control(peer, bytes);
}

/// Whether this endpoint comes before a peer in an order that both know.
fn is_before(cx: &Context<'_>, peer: Peer) -> bool {
    let name = |address: &crate::address::Address| (address.incarnation, address.endpoint);
    cx.record(peer).is_some_and(|record| name(cx.net.own_address()) < name(&record.address))
}
