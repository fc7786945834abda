//! The stream between this endpoint and one peer, in both directions.

use tasuki_msg::PeerId;
use tasuki_proto::Time;
use tasuki_tuning::streams;

use super::super::context::Context;
use super::acks::Acks;
use super::connection::Connection;
use super::control::{ControlMessage, Token, name};
use super::rx::StreamRx;
use super::tx::StreamTx;
use super::{StreamCounters, is_before, tell};
use crate::api::Peer;
use crate::messages::pushes::Push;
use crate::messages::{Messages, PullJob};
use crate::rendezvous::keys::RendezvousKey;

/// One peer.
#[derive(Default)]
pub(super) struct Link {
    connection: Connection,
    tx: StreamTx,
    rx: StreamRx,
    acks: Acks,
    /// What has come in packets is to be acknowledged now.
    owes_packets: bool,
    /// The NIC of the stream that is there or is coming about cuts TCP's segments.
    cuts_segments: bool,
    invitations: u32,
    /// The name of the last invitation that was sent, 0 if there was none.
    invited: u32,
    /// The name of the last invitation that has arrived, 0 if there was none.
    heard: u32,
    /// The name of the stream that is there, is coming about, or was there last; 0 if there was none.
    stream: u32,
    /// The name of the last stream of which the peer was told that it is over; 0 if there was none.
    told: u32,
}

impl Link {
    /// Messages to the peer may go by stream.
    pub fn is_open(&self) -> bool {
        matches!(self.connection, Connection::Open(_))
    }

    /// Something that was given to the stream has not arrived.
    pub fn owes(&self) -> bool {
        self.tx.owes()
    }

    /// Pieces of messages from this length on go by the stream; `None` if there is none.
    pub fn push_min(&self) -> Option<u64> {
        let least = if self.cuts_segments { streams::PUSH_MIN } else { streams::PUSH_MIN_ALONE };
        self.is_open().then_some(least)
    }

    /// Something is to be done at each poll; `awaited`: pieces of messages are to come from the peer.
    pub fn is_at_work(&self, now: Time, awaited: bool) -> bool {
        let since = self.connection.opening_since();
        let soon = since.is_some_and(|since| now.0.saturating_sub(since) < streams::EAGER_NS);
        let busy = awaited || self.rx.arrived_within(streams::BUSY_NS, now);
        soon || self.tx.is_at_work() || self.rx.is_at_work() || (busy && self.is_open())
    }

    /// Something has arrived by the stream lately.
    pub fn is_hot(&self, now: Time) -> bool {
        self.is_open() && self.rx.is_hot(now)
    }

    /// Invites the peer, if it may be invited. Gives the invitation.
    pub fn invite(&mut self, cx: &Context<'_>, peer: Peer, rail: u8) -> Option<ControlMessage> {
        let free = matches!(self.connection, Connection::None) && !self.tx.awaits_verdict();
        if !free || self.invitations >= streams::INVITATIONS_MAX {
            return None;
        }
        self.invitations += 1;
        let (port, token) = self.connection.invite(cx, peer, rail)?;
        self.cuts_segments = cuts_segments(cx, peer, rail);
        (self.stream, self.invited) = (name(&token), name(&token));
        Some(ControlMessage::Invite { rail, port, token, known: self.heard })
    }

    /// The peer has something to say.
    pub fn handle(
        &mut self,
        cx: &mut Context<'_>,
        counters: &mut StreamCounters,
        peer: Peer,
        message: ControlMessage,
    ) {
        match message {
            ControlMessage::Invite { rail, port, token, known } => {
                self.heard = name(&token);
                // If the peer did not know our last invitation when it sent this one, the two have crossed.
                // The peer follows ours if we come first in order, and may have done so long ago: a stream is
                // faster than the control messages.
                let crossed = self.invited != 0 && known != self.invited;
                if !(crossed && is_before(cx, peer)) {
                    self.end(cx, counters, peer);
                    // A peer that invites anew has forgotten what was before, and received none of it.
                    counters.given_up += self.tx.settle(cx.messages, peer, 0) as u64;
                    self.accept_invitation(cx, peer, (rail, port), token);
                }
            }
            // A peer that speaks of a stream that is over here has been told, or has told us.
            ControlMessage::Pull { stream, key, offset, len } if stream == self.stream && self.is_alive() => {
                self.tx.ask(RendezvousKey::decode(key), offset, len);
            }
            ControlMessage::Over { stream, received } if stream == self.stream => {
                self.end(cx, counters, peer);
                counters.given_up += self.tx.settle(cx.messages, peer, received) as u64;
            }
            ControlMessage::Pull { .. } | ControlMessage::Over { .. } => {}
        }
    }

    fn accept_invitation(&mut self, cx: &Context<'_>, peer: Peer, place: (u8, u16), token: Token) {
        self.stream = name(&token);
        self.cuts_segments = cuts_segments(cx, peer, place.0);
        self.connection.connect(cx, peer, place, token);
    }

    /// There is a stream, or one is coming about.
    fn is_alive(&self) -> bool {
        !matches!(self.connection, Connection::None)
    }

    /// A message is to be fetched from the peer. Gives what to ask the peer; `None` if there is no stream.
    pub fn fetch(&mut self, job: PullJob) -> Option<ControlMessage> {
        if !self.is_alive() {
            return None;
        }
        let (stream, key) = (self.stream, job.key.encode());
        self.rx.expect(job);
        Some(ControlMessage::Pull { stream, key, offset: job.offset, len: job.len })
    }

    /// A piece of a message goes to the peer by stream, or is owed to it in packets.
    pub fn push(&mut self, cx: &mut Context<'_>, peer: Peer, push: Push) {
        match self.is_open() {
            true => self.tx.push(push),
            false => cx.messages.owe_push(peer, push),
        }
    }

    /// Sends and receives what is possible now. True if there was something.
    /// With `look`, also what is not expected is looked for.
    pub fn poll(
        &mut self,
        cx: &mut Context<'_>,
        counters: &mut StreamCounters,
        peer: Peer,
        look: bool,
    ) -> bool {
        if !self.poll_connection(cx.now) {
            self.end(cx, counters, peer);
            return true;
        }
        let Connection::Open(stream) = &self.connection else { return false };
        let id = cx.record(peer).map(|record| record.id);
        let awaited = id.is_some_and(|id| cx.messages.outlook().awaited_from(id) > 0);
        let moved = self.tx.send(cx.messages, peer, stream).and_then(|sent| {
            let released = self.tx.release(cx.messages, stream, cx.now)?;
            let waits = awaited || look || self.rx.is_at_work() || self.rx.is_hot(cx.now);
            let received = match waits {
                true => self.rx.receive(cx.messages, id?, stream, self.cuts_segments, cx.now)?,
                false => 0,
            };
            Some((sent, received, released))
        });
        let Some((sent, received, released)) = moved.filter(|_| !self.rx.has_stalled(cx.now)) else {
            self.end(cx, counters, peer);
            return true;
        };
        self.acknowledge(cx, id, sent > 0, received > 0);
        counters.sent_bytes += sent;
        counters.received_bytes += received;
        sent + received > 0 || released
    }

    /// Has the kernel acknowledge what has come, if nothing that is sent will do that soon.
    fn acknowledge(&mut self, cx: &Context<'_>, from: Option<PeerId>, sent: bool, received: bool) {
        if sent {
            self.acks.sent(cx.now);
        }
        if received {
            self.acks.arrived(cx.now);
        }
        // Most polls find nothing new, and need not know what is still to come.
        if !self.acks.is_open() {
            return;
        }
        let whole = from.is_some_and(|from| self.rx.is_between_messages(cx.messages, from));
        if let Connection::Open(stream) = &self.connection
            && self.acks.is_due(cx.now, whole)
        {
            stream.acknowledge();
            self.owes_packets = true;
        }
    }

    /// Whether packets of the peer are to be acknowledged, too, of which each message has at least one most
    /// often. Says so once.
    pub fn take_owed(&mut self) -> bool {
        std::mem::take(&mut self.owes_packets)
    }

    /// Looks whether a stream that is coming about is there. False: it will not be.
    pub fn poll_connection(&mut self, now: Time) -> bool {
        let before = self.is_alive();
        self.connection.poll(now);
        self.is_alive() || !before
    }

    /// The stream, if there is one, is over, and what was to come by it goes in packets. The peer is told
    /// how much of it has arrived, and what this side still owes is settled when the peer tells the same.
    pub fn end(&mut self, cx: &mut Context<'_>, counters: &mut StreamCounters, peer: Peer) {
        let connection = std::mem::take(&mut self.connection);
        let was_open = matches!(connection, Connection::Open(_));
        if let Connection::Open(stream) = connection {
            counters.broken += 1;
            // What the kernel has acknowledged the peer takes for arrived.
            stream.shut_down();
            if let Some(id) = cx.record(peer).map(|record| record.id) {
                self.rx.drain(cx.messages, id, &stream);
            }
        }
        let told = std::mem::replace(&mut self.told, self.stream) == self.stream;
        let received = self.rx.received();
        counters.given_up += self.rx.give_up(cx.messages) as u64;
        self.acks = Acks::default();
        if was_open {
            counters.given_up += self.tx.end(cx.messages, peer) as u64;
        }
        if !told {
            tell(cx, peer, &ControlMessage::Over { stream: self.stream, received });
        }
    }

    /// The peer is gone, and everything that is under way is given back.
    pub fn forget(&mut self, messages: &mut Messages) {
        self.tx.forget(messages);
    }
}

/// Whether the NIC of this rail cuts TCP's segments itself.
fn cuts_segments(cx: &Context<'_>, peer: Peer, rail: u8) -> bool {
    let ends = cx.record(peer).and_then(|record| cx.net.rail_ends(&record.address, rail));
    ends.and_then(|ends| ends.device).is_none_or(|device| {
        let features = tasuki_sys::ethtool::Ethtool::open(&device).and_then(|nic| nic.features());
        features.is_ok_and(|all| all.iter().any(|one| one.name == "tx-tcp-segmentation" && one.active))
    })
}
