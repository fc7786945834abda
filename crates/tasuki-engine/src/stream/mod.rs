//! Long messages over TCP, where that costs less than packets: `docs/adr/0012-long-messages-by-tcp.md`.
//!
//! The side that receives *invites* the side that sends: it listens on a rail and says where. From then on the sender's long messages are *offered*,
//! as from memory that both share: their start carries a key instead of payload, and the message layer of the receiver sees a pull. The receiver
//! asks for what it wants, in order, and reads it from the stream straight into the program's memory. What the two sides say to each other travels on the
//! service queue, so it is delivered once, in order, and only by those who know the endpoint's address. The stream carries nothing but a token and what was asked
//! for. Whatever goes wrong (nobody can listen or connect, the cable dies, an end is closed) ends in grants: the message layer is told that nothing was
//! pulled, and the message goes in packets, on whatever rail lives.

mod choose;
mod giving;
mod link;
mod note;
mod taking;
mod way;

use std::collections::{BTreeMap, VecDeque};

use tasuki_proto::Time;

use crate::api::Peer;
pub(crate) use crate::bulk::Job;
use crate::core::Core;
use crate::memory::Memory;
use crate::state::State;
use choose::Seen;
use link::Link;
pub(crate) use note::{Note, is_stream};

/// Shorter messages go in packets: to ask for them takes a round trip in which nothing is sent.
pub(crate) const LEAST: u64 = 48 << 10;
/// Bytes before something else gets its turn: as much as the kernel has room for. What is handed over in smaller pieces costs more.
const TURN: usize = 4 << 20;
/// While a stream is at work whoever sleeps looks again after so long, ns: nothing wakes it, because to be woken costs something for each packet.
const LOOK_AGAIN: u64 = 200_000;

/// What streams have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamCounters {
    /// Bytes of messages that were received so.
    pub received_bytes: u64,
    /// Bytes that were sent so.
    pub sent_bytes: u64,
    /// Streams that were asked for.
    pub invited: u64,
    /// Streams that ended before the endpoint did.
    pub broken: u64,
    /// Messages that went in packets after all.
    pub given_up: u64,
}

/// All streams of an endpoint.
pub(crate) struct Streams {
    /// Everybody is invited, whatever packets cost.
    always: bool,
    links: BTreeMap<Peer, Link>,
    inbox: VecDeque<(Peer, Note)>,
    /// What the UDP sockets had received when they were last judged.
    seen: Vec<Seen>,
    /// When that was.
    judged: Time,
    pub counters: StreamCounters,
}

impl Streams {
    /// With `always` everybody is invited to send by them.
    pub fn new(always: bool) -> Streams {
        Streams {
            always,
            links: BTreeMap::new(),
            inbox: VecDeque::new(),
            seen: Vec::new(),
            judged: Time(0),
            counters: StreamCounters::default(),
        }
    }

    /// A peer is gone, and with it everything that was under way.
    pub fn forget(&mut self, peer: Peer) {
        self.links.remove(&peer);
    }

    /// There is something to be done at each look.
    fn is_at_work(&self, now: Time) -> bool {
        !self.inbox.is_empty() || self.links.values().any(|link| link.is_at_work(now))
    }
}

impl Core {
    /// A message to the peer goes by stream, if the peer wants it so.
    pub fn sends_by_stream(&self, peer: Peer, memory: &Memory) -> bool {
        let open = |streams: &Streams| streams.links.get(&peer).is_some_and(Link::is_open);
        memory.len() >= LEAST && self.streams.as_deref().is_some_and(open)
    }

    /// A message that its sender has offered is wanted: it is asked for at once. Given back if there is no stream.
    pub fn take_by_stream(&mut self, peer: Peer, job: Job) -> Result<(), Job> {
        let Some(link) = self.streams.as_mut().and_then(|streams| streams.links.get_mut(&peer)) else {
            return Err(job);
        };
        let pull = link.take(job)?;
        self.streaming = true;
        self.tell_of_stream(peer, &pull);
        Ok(())
    }

    /// A peer is gone, or the connection to it.
    pub fn forget_streams(&mut self, peer: Peer) {
        if let Some(streams) = &mut self.streams {
            streams.forget(peer);
        }
    }

    /// A note about streams has come. Whoever wants no streams need not answer an invitation.
    pub fn told_of_stream(&mut self, source: Peer, bytes: &[u8]) {
        match (Note::read(bytes), &mut self.streams) {
            (Some(note), Some(streams)) => {
                streams.inbox.push_back((source, note));
                self.streaming = true;
            }
            (Some(Note::Invite { .. } | Note::Over { .. }), None) => {}
            _ => self.broken.push((source, "a note about streams makes no sense".to_owned())),
        }
    }

    /// This endpoint goes before a peer in an order that both know.
    fn is_before(&self, peer: Peer) -> bool {
        let name = |address: &crate::address::Address| (address.incarnation, address.endpoint);
        self.state(peer).is_some_and(|state| name(&self.address) < name(&state.address))
    }

    fn tell_of_stream(&mut self, peer: Peer, note: &Note) {
        let mut bytes = Vec::new();
        note.write(&mut bytes);
        self.send_note(peer, bytes);
    }
}

impl State {
    /// Moves streams on. True if something was done.
    pub fn poll_streams(&mut self, now: Time) -> bool {
        let Some(mut streams) = self.core.streams.take() else { return false };
        let mut busy = false;
        let Streams { links, counters, inbox, .. } = &mut *streams;
        while let Some((peer, note)) = inbox.pop_front() {
            busy = true;
            if self.core.state(peer).is_some_and(|state| !state.gone && state.reason.is_none()) {
                links.entry(peer).or_default().told(&mut self.core, counters, peer, note, now);
            }
        }
        for (&peer, link) in links.iter_mut() {
            busy |= link.poll(&mut self.core, counters, peer, now);
        }
        self.core.streaming = streams.is_at_work(now);
        self.core.streams = Some(streams);
        busy
    }

    /// When something is to be done for a stream though nothing wakes a sleeper, ns.
    pub fn stream_deadline(&self) -> Option<u64> {
        self.core.streaming.then(|| self.now().0 + LOOK_AGAIN)
    }
}
