//! The stream between this endpoint and one peer, in both directions.

use tasuki_proto::Time;
use tasuki_tuning::streams;

use super::super::context::Context;
use super::connection::Connection;
use super::control::{ControlMessage, Token, name};
use super::rx::StreamRx;
use super::tx::StreamTx;
use super::{StreamCounters, is_before, tell};
use crate::api::Peer;
use crate::messages::PullJob;
use crate::rendezvous::keys::RendezvousKey;

/// One peer.
#[derive(Default)]
pub(super) struct Link {
    connection: Connection,
    tx: StreamTx,
    rx: StreamRx,
    invitations: u32,
    /// The name of the last invitation that was sent, 0 if there was none.
    invited: u32,
    /// The name of the last invitation that has arrived, 0 if there was none.
    heard: u32,
    /// The name of the stream that is there, is coming about, or was there last.
    stream: u32,
}

impl Link {
    /// Messages to the peer may be fetched by it.
    pub fn is_open(&self) -> bool {
        matches!(self.connection, Connection::Open(_))
    }

    /// Something is to be done at each poll.
    pub fn is_at_work(&self, now: Time) -> bool {
        let since = self.connection.opening_since();
        let soon = since.is_some_and(|since| now.0.saturating_sub(since) < streams::EAGER_NS);
        soon || self.tx.is_at_work() || self.rx.is_at_work()
    }

    /// Invites the peer, if it may be invited. Gives the invitation.
    pub fn invite(&mut self, cx: &Context<'_>, peer: Peer, rail: u8) -> Option<ControlMessage> {
        if !matches!(self.connection, Connection::None) || self.invitations >= streams::INVITATIONS_MAX {
            return None;
        }
        self.invitations += 1;
        let (port, token) = self.connection.invite(cx, peer, rail)?;
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
                    self.end(cx, counters, peer, false);
                    self.accept_invitation(cx, peer, (rail, port), token);
                }
            }
            // A peer that speaks of a stream that is over here has been told, or has told us.
            ControlMessage::Pull { stream, key, offset, len } if stream == self.stream => {
                self.tx.ask(RendezvousKey::decode(key), offset, len);
            }
            ControlMessage::Over { stream } if stream == self.stream => self.end(cx, counters, peer, false),
            ControlMessage::Pull { .. } | ControlMessage::Over { .. } => {}
        }
    }

    fn accept_invitation(&mut self, cx: &Context<'_>, peer: Peer, place: (u8, u16), token: Token) {
        self.stream = name(&token);
        self.connection.connect(cx, peer, place, token);
    }

    /// A message is to be fetched from the peer. Gives what to ask the peer; `None` if there is no stream.
    pub fn fetch(&mut self, job: PullJob) -> Option<ControlMessage> {
        if matches!(self.connection, Connection::None) {
            return None;
        }
        let (stream, key) = (self.stream, job.key.encode());
        self.rx.expect(job);
        Some(ControlMessage::Pull { stream, key, offset: job.offset, len: job.len })
    }

    /// Sends and receives what is possible now. True if there was something.
    pub fn poll(&mut self, cx: &mut Context<'_>, counters: &mut StreamCounters, peer: Peer) -> bool {
        self.poll_connection(cx.now);
        let moved = match &self.connection {
            // If a side still waits for something by a stream that is over, it has not heard of that yet.
            Connection::None => (!self.tx.is_at_work() && !self.rx.is_at_work()).then_some((0, 0)),
            Connection::Open(stream) => {
                let sent = self.tx.send(cx, peer, stream);
                sent.and_then(|sent| Some((sent, self.rx.receive(cx.messages, stream, cx.now)?)))
            }
            Connection::Invited(_) | Connection::Opening(..) => Some((0, 0)),
        };
        let Some((sent, received)) = moved.filter(|_| !self.rx.has_stalled(cx.now)) else {
            self.end(cx, counters, peer, true);
            return true;
        };
        counters.sent_bytes += sent as u64;
        counters.received_bytes += received as u64;
        sent + received > 0
    }

    /// Looks whether a stream that is coming about is there.
    pub fn poll_connection(&mut self, now: Time) {
        self.connection.poll(now);
    }

    /// The stream is over, and what was to come by it goes in packets.
    fn end(&mut self, cx: &mut Context<'_>, counters: &mut StreamCounters, peer: Peer, tell_peer: bool) {
        counters.broken += u64::from(self.is_open());
        self.connection = Connection::None;
        self.tx.clear();
        counters.given_up += self.rx.give_up(cx.messages) as u64;
        if tell_peer {
            tell(cx, peer, &ControlMessage::Over { stream: self.stream });
        }
    }
}
