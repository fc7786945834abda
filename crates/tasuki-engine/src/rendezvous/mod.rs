//! Ways to fetch a long message from a peer on another host, besides frames: length-coded bulk ([`bulk`]) and
//! streams ([`stream`]).
//!
//! A long message then has a key instead of payload in its first frame ([`keys`]). The receiver, once it has
//! a place for the message, fetches it. Whatever goes wrong ends in grants: the message layer is told that
//! nothing was pulled (`handle_pulled(.., false)`), and the message goes in frames, over whatever rail lives.

pub(crate) mod bulk;
mod context;
pub(crate) mod keys;
pub(crate) mod stream;

use tasuki_proto::Time;
use tasuki_tuning::streams;

use crate::api::Peer;
use crate::memory::Memory;
use crate::messages::{Messages, PullJob};
use crate::peers::Route;
use bulk::Bulk;
pub(crate) use context::Context;
use keys::RendezvousKey;
use stream::Streams;

/// Both ways, each if the options ask for it.
pub(crate) struct Rendezvous {
    bulk: Option<Box<Bulk>>,
    streams: Option<Box<Streams>>,
    /// Something is to be done for length-coded bulk or streams at each poll.
    active: bool,
}

impl Rendezvous {
    pub fn new(bulk: Option<Bulk>, streams: Option<Streams>) -> Rendezvous {
        let (bulk, streams) = (bulk.map(Box::new), streams.map(Box::new));
        Rendezvous { active: bulk.is_some(), bulk, streams }
    }

    /// Whether messages of peers may be fetched.
    pub fn fetches(&self) -> bool {
        self.bulk.is_some() || self.streams.is_some()
    }

    pub fn bulk(&self) -> Option<&Bulk> {
        self.bulk.as_deref()
    }

    pub fn streams(&self) -> Option<&Streams> {
        self.streams.as_deref()
    }

    /// Whether something is to be done at each poll. False costs the hot path one load.
    #[inline(always)]
    pub fn is_active(&self) -> bool {
        self.active
    }

    /// Whether streams are to be looked at though nothing is known to come by them.
    #[inline]
    pub fn is_look_due(&self, now: Time) -> bool {
        self.streams.as_ref().is_some_and(|streams| streams.is_look_due(now))
    }

    /// Whether a stream is at work. Nothing wakes a sleeper for a stream.
    pub fn is_streaming(&self) -> bool {
        self.active && self.bulk.is_none()
    }

    /// A key under which the peer may fetch a message that is about to be sent to it; `None`: it goes in
    /// frames.
    #[inline]
    pub fn key_for(
        &self,
        peer: Peer,
        route: Route,
        memory: &Memory,
        messages: &mut Messages,
    ) -> Option<RendezvousKey> {
        let len = memory.len();
        if len < streams::WHOLE_MAX.min(tasuki_tuning::bulk::LENGTH_MIN) || memory.contiguous().is_none() {
            return None;
        }
        if self.bulk.is_some() {
            let fits = len >= tasuki_tuning::bulk::LENGTH_MIN && matches!(route, Route::Net(_));
            return fits.then(|| RendezvousKey::LengthCoded(messages.next_key_number()));
        }
        let open = len > streams::WHOLE_MAX && self.streams().is_some_and(|streams| streams.is_open(peer));
        open.then(|| RendezvousKey::Stream(messages.next_key_number()))
    }

    /// Begins to fetch a message from a peer on another host. The message layer is told when it is over, or
    /// at once if it cannot be fetched.
    pub fn fetch(&mut self, job: PullJob, cx: &mut Context<'_>) {
        let peer = Peer::from(job.from);
        let by_packets = cx.record(peer).is_some_and(|record| record.conn.is_some());
        let fits = cx.messages.memory_for(&job).is_some_and(|memory| memory.contiguous().is_some());
        let begun = match (job.key, &mut self.bulk, &mut self.streams) {
            _ if !by_packets || !fits => false,
            (RendezvousKey::LengthCoded(_), Some(bulk), _) => {
                bulk.fetch(peer, job);
                true
            }
            (RendezvousKey::Stream(_), _, Some(streams)) => streams.fetch(peer, job, cx),
            _ => false,
        };
        self.active |= begun;
        if !begun {
            cx.messages.layer_mut().handle_pulled(job.pull, false);
        }
    }

    /// Hears the control messages of a peer that may be heard now.
    pub fn hear_next(&mut self, source: Peer, messages: &mut Messages) {
        while let Some(memory) = messages.control_mut().take(source) {
            self.hear(source, memory.own(), messages);
            messages.recycle_memory(memory);
        }
    }

    fn hear(&mut self, source: Peer, bytes: &[u8], messages: &mut Messages) {
        let understood = match stream::is_stream(bytes) {
            true => stream::hear(self.streams.as_deref_mut(), source, bytes),
            // A peer that sends no length-coded bulk and fetches none is told nothing of it.
            false => self.bulk.as_deref_mut().is_some_and(|bulk| bulk.hear(source, bytes)),
        };
        self.active |= understood;
        if !understood {
            messages.accuse(source, "a control message about bulk makes no sense");
        }
    }

    /// Moves everything on. True if something was done; `streamed` says whether bytes have come or gone by
    /// stream.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Progress {
        let mut progress = Progress::default();
        if let Some(bulk) = &mut self.bulk {
            progress.any |= bulk.poll(cx);
        }
        if let Some(streams) = &mut self.streams {
            progress.streamed = streams.poll(cx);
            progress.any |= progress.streamed;
        }
        self.update_active(cx);
        progress
    }

    /// Whether something that was given to the stream to a peer has not arrived.
    pub fn owes(&self, peer: Peer) -> bool {
        self.streams().is_some_and(|streams| streams.owes(peer))
    }

    /// A peer whose packets are to be acknowledged now. Each is given once.
    pub fn next_owing(&mut self) -> Option<Peer> {
        self.streams.as_mut()?.next_owing()
    }

    fn update_active(&mut self, cx: &Context<'_>) {
        let awaited = cx.messages.awaits_streams();
        let streaming = self.streams.as_ref().is_some_and(|streams| streams.is_at_work(cx.now, awaited));
        self.active = streaming || self.bulk.is_some();
    }

    /// Sends the pieces of messages that the message layer has given for streams.
    pub fn push(&mut self, cx: &mut Context<'_>) {
        if let Some(streams) = &mut self.streams {
            streams.push_given(cx);
        }
        self.update_active(cx);
    }

    /// Judges which peers should send by stream, and invites them if peers are `welcome`.
    pub fn invite(&mut self, cx: &mut Context<'_>, welcome: bool) {
        if let Some(streams) = &mut self.streams {
            streams.invite(cx, welcome);
        }
        self.update_active(cx);
    }

    /// Whether it is time to judge again who should send by stream.
    pub fn is_judging_due(&self, now: Time) -> bool {
        self.streams.as_ref().is_some_and(|streams| streams.is_judging_due(now))
    }

    /// Whether every peer is invited to send by stream, whatever packets cost.
    pub fn invites_all(&self) -> bool {
        self.streams().is_some_and(Streams::invites_all)
    }

    /// A peer has failed: everything with it ends.
    pub fn forget_peer(&mut self, peer: Peer, messages: &mut Messages) {
        if let Some(bulk) = &mut self.bulk {
            bulk.forget(peer);
        }
        self.forget_connection(peer, messages);
    }

    /// The connection to a peer is over: streams end with it.
    pub fn forget_connection(&mut self, peer: Peer, messages: &mut Messages) {
        if let Some(streams) = &mut self.streams {
            streams.forget(peer, messages);
        }
    }

    /// When something is to be done though nothing wakes a sleeper, ns.
    pub fn deadline(&self, now: Time) -> Option<u64> {
        let bulk = self.bulk.as_ref().and_then(|bulk| bulk.deadline());
        let is_polled = self.is_streaming() || self.streams().is_some_and(|streams| streams.is_hot(now));
        let streams = is_polled.then(|| now.0 + streams::POLL_AGAIN_NS);
        bulk.into_iter().chain(streams).min()
    }
}

/// What a poll has done.
#[derive(Clone, Copy, Default)]
pub(crate) struct Progress {
    pub any: bool,
    pub streamed: bool,
}
