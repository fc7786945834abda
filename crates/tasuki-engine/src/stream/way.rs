//! How a stream comes about: one side listens, the other connects and proves by a token that it was invited.

use std::net::{IpAddr, SocketAddr};

use tasuki_link::{Stream, StreamEnd, StreamListener};
use tasuki_proto::Time;

use super::note::Token;
use crate::api::Peer;
use crate::core::Core;

/// What does not come about within this time is given up, ns.
const PATIENCE: u64 = 5_000_000_000;

/// The stream to a peer.
#[derive(Default)]
pub(crate) enum Way {
    #[default]
    None,
    /// The peer is to come.
    Invited(Door),
    /// It is being opened from here.
    Opening(Stream, Token, u64),
    Open(Stream),
}

/// Where a stream is expected.
pub(crate) struct Door {
    listener: StreamListener,
    /// From where it comes.
    from: IpAddr,
    token: Token,
    /// Since then, ns.
    since: u64,
    /// One that has come, and what it has said of the token so far.
    came: Option<(Stream, Token, usize)>,
}

impl Way {
    /// Listens on a rail; gives where, and the token.
    pub fn invite(&mut self, core: &Core, peer: Peer, rail: u8, now: Time) -> Option<(u16, Token)> {
        let ends = core.rail_ends(peer, rail)?;
        let listener = StreamListener::open(&StreamEnd { address: ends.local, device: ends.device }).ok()?;
        let mut token = Token::default();
        getrandom::fill(&mut token).ok()?;
        let (port, from) = (listener.local().port(), ends.remote.to_canonical());
        *self = Way::Invited(Door { listener, from, token, since: now.0, came: None });
        Some((port, token))
    }

    /// Follows an invitation.
    pub fn follow(&mut self, core: &Core, peer: Peer, place: (u8, u16), token: Token, now: Time) {
        let (rail, port) = place;
        let stream = core.rail_ends(peer, rail).and_then(|ends| {
            let own = StreamEnd { address: ends.local, device: ends.device };
            Stream::connect(&own, SocketAddr::new(ends.remote, port)).ok()
        });
        *self = stream.map_or(Way::None, |stream| Way::Opening(stream, token, now.0));
    }

    /// Since when it comes about; `None` if it is there, or nobody has begun.
    pub fn since(&self) -> Option<u64> {
        match self {
            Way::Invited(door) => Some(door.since),
            Way::Opening(_, _, since) => Some(*since),
            Way::None | Way::Open(_) => None,
        }
    }

    /// Looks whether it is there by now.
    pub fn look(&mut self, now: Time) {
        let Some(since) = self.since() else { return };
        let come = match self {
            Way::Invited(door) => door.look(),
            Way::Opening(stream, token, _) => open(stream, token),
            Way::None | Way::Open(_) => return,
        };
        *self = match (come, std::mem::take(self)) {
            (Come::Here(stream), _) => Way::Open(stream),
            (Come::Open, Way::Opening(stream, ..)) => Way::Open(stream),
            (Come::Later, way) if now.0.saturating_sub(since) < PATIENCE => way,
            _ => Way::None,
        };
    }
}

/// What has become of a stream.
enum Come {
    /// It has come to the door.
    Here(Stream),
    /// It has been opened from here.
    Open,
    Later,
    Never,
}

fn open(stream: &Stream, token: &Token) -> Come {
    match stream.is_open() {
        // A new stream has room for a token.
        Ok(true) if matches!(stream.send(token), Ok(sent) if sent == token.len()) => Come::Open,
        Ok(false) => Come::Later,
        _ => Come::Never,
    }
}

impl Door {
    /// Whoever comes and knows the token is the peer; others are shown out.
    fn look(&mut self) -> Come {
        if self.came.is_none() {
            let Ok(came) = self.listener.accept() else { return Come::Never };
            let expected = came.filter(|(_, from)| *from == self.from);
            self.came = expected.map(|(stream, _)| (stream, Token::default(), 0));
        }
        let Some((stream, said, count)) = &mut self.came else { return Come::Later };
        let Ok(more) = stream.receive(&mut said[*count..]) else {
            self.came = None;
            return Come::Later;
        };
        *count += more;
        if *count < said.len() {
            return Come::Later;
        }
        let right = *said == self.token;
        let stream = self.came.take().map(|(stream, ..)| stream).filter(|_| right);
        stream.map_or(Come::Later, Come::Here)
    }
}
