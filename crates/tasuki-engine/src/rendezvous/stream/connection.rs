//! How a stream comes about: one side listens, the other connects and proves by a token that it was invited.

use std::net::{IpAddr, SocketAddr};

use tasuki_link::{Stream, StreamEnd, StreamListener};
use tasuki_proto::Time;
use tasuki_tuning::streams;

use super::super::context::Context;
use super::control::Token;
use crate::api::Peer;

/// The TCP connection to a peer.
#[derive(Default)]
pub(super) enum Connection {
    /// There is none.
    #[default]
    None,
    /// This endpoint listens, and the peer is to connect.
    Invited(Door),
    /// This endpoint connects: the socket, the token to send, and since when, ns.
    Opening(Stream, Token, u64),
    Open(Stream),
}

/// Where a connection is expected.
pub(super) struct Door {
    listener: StreamListener,
    /// The address from which the peer will connect.
    from: IpAddr,
    token: Token,
    /// Since when, ns.
    since: u64,
    /// A connection that was accepted, and the token as far as it has arrived.
    accepted: Option<(Stream, Token, usize)>,
}

impl Connection {
    /// Listens on a rail. Gives the port and the token.
    pub fn invite(&mut self, cx: &Context<'_>, peer: Peer, rail: u8) -> Option<(u16, Token)> {
        let ends = cx.net.rail_ends(&cx.record(peer)?.address, rail)?;
        let listener = StreamListener::open(&StreamEnd { address: ends.local, device: ends.device }).ok()?;
        let mut token = Token::default();
        getrandom::fill(&mut token).ok()?;
        let (port, from, since) = (listener.local().port(), ends.remote.to_canonical(), cx.now.0);
        *self = Connection::Invited(Door { listener, from, token, since, accepted: None });
        Some((port, token))
    }

    /// Connects to a port of the peer on a rail.
    pub fn connect(&mut self, cx: &Context<'_>, peer: Peer, (rail, port): (u8, u16), token: Token) {
        let ends = cx.record(peer).and_then(|record| cx.net.rail_ends(&record.address, rail));
        let stream = ends.and_then(|ends| {
            let own = StreamEnd { address: ends.local, device: ends.device };
            Stream::connect(&own, SocketAddr::new(ends.remote, port)).ok()
        });
        *self = stream.map_or(Connection::None, |stream| Connection::Opening(stream, token, cx.now.0));
    }

    /// When the opening of the connection began, ns; `None` if it is open, or if neither end has begun.
    pub fn opening_since(&self) -> Option<u64> {
        match self {
            Connection::Invited(door) => Some(door.since),
            Connection::Opening(_, _, since) => Some(*since),
            Connection::None | Connection::Open(_) => None,
        }
    }

    /// Looks whether the connection is there by now.
    pub fn poll(&mut self, now: Time) {
        let Some(since) = self.opening_since() else { return };
        let outcome = match self {
            Connection::Invited(door) => door.poll(),
            Connection::Opening(stream, token, _) => poll_opening(stream, token),
            Connection::None | Connection::Open(_) => return,
        };
        *self = match (outcome, std::mem::take(self)) {
            (Outcome::Accepted(stream), _) => Connection::Open(stream),
            (Outcome::Connected, Connection::Opening(stream, ..)) => Connection::Open(stream),
            (Outcome::Later, connection) if now.0.saturating_sub(since) < streams::OPENING_MAX_NS => {
                connection
            }
            _ => Connection::None,
        };
    }
}

/// What has become of a connection.
enum Outcome {
    /// The peer has connected and proven itself.
    Accepted(Stream),
    /// This endpoint has connected.
    Connected,
    Later,
    Never,
}

fn poll_opening(stream: &Stream, token: &Token) -> Outcome {
    match stream.is_open() {
        // A new stream has room for a token.
        Ok(true) if matches!(stream.send(token), Ok(sent) if sent == token.len()) => Outcome::Connected,
        Ok(false) => Outcome::Later,
        _ => Outcome::Never,
    }
}

impl Door {
    /// Accepts a connection from the expected address. One that does not begin with the token is closed.
    fn poll(&mut self) -> Outcome {
        if self.accepted.is_none() {
            let Ok(accepted) = self.listener.accept() else { return Outcome::Never };
            let expected = accepted.filter(|(_, from)| *from == self.from);
            self.accepted = expected.map(|(stream, _)| (stream, Token::default(), 0));
        }
        let Some((stream, token, count)) = &mut self.accepted else { return Outcome::Later };
        let Ok(more) = stream.receive(&mut token[*count..]) else {
            self.accepted = None;
            return Outcome::Later;
        };
        *count += more;
        if *count < token.len() {
            return Outcome::Later;
        }
        let right = *token == self.token;
        let stream = self.accepted.take().map(|(stream, ..)| stream).filter(|_| right);
        stream.map_or(Outcome::Later, Outcome::Accepted)
    }
}
