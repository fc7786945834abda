//! Pieces of messages that go by stream instead of packets: those that the message layer has given and the
//! stream has not taken, and those that a stream that is over still owes.

use std::collections::{BTreeMap, VecDeque};

use tasuki_msg::{Data, Frame, MsgSeq, Payload as Place, SendId, Start};
use tasuki_proto::{Outgoing, Payload, Time};
use tasuki_tuning::streams;

use crate::api::Peer;

/// A frame that goes by stream.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Piece {
    Data(Data),
    /// The first frame of a message that goes whole.
    Start(Start),
}

/// A piece of a message that is on its way to a peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Push {
    pub piece: Piece,
    /// The send whose memory has its bytes.
    pub send: SendId,
    pub user: u64,
}

impl Push {
    fn new(piece: Piece, place: Place) -> Push {
        Push { piece, send: place.send, user: place.user }
    }

    /// Its first byte in the send's memory, and how many there are.
    pub fn place(&self) -> (u64, u64) {
        match self.piece {
            Piece::Data(data) => (data.offset, data.len),
            Piece::Start(start) => (0, start.inline),
        }
    }

    /// The piece without its first `skip` bytes; `None` if nothing is left. A start is received whole or not
    /// at all.
    pub fn without(self, skip: u64) -> Option<Push> {
        match self.piece {
            Piece::Data(data) => {
                let skip = skip.min(data.len);
                let rest = Data { offset: data.offset + skip, len: data.len - skip, ..data };
                (rest.len > 0).then_some(Push { piece: Piece::Data(rest), ..self })
            }
            Piece::Start(_) => (skip == 0).then_some(self),
        }
    }

    /// The piece as a frame for the packet layer.
    fn outgoing(&self) -> Outgoing {
        let (offset, len) = self.place();
        let payload = Some(Payload { key: self.user, offset, len });
        match self.piece {
            Piece::Data(data) => tasuki_frames::outgoing(&Frame::Data(data), payload),
            Piece::Start(start) => tasuki_frames::outgoing(&Frame::Start(start), payload),
        }
    }
}

/// The stream to a peer.
struct Stream {
    /// Pieces from this length on go by it, or whose message has an early part of this length.
    push_min: u64,
    /// What has been announced and is to come.
    announced: VecDeque<Data>,
    /// When the last piece was given to it.
    pushed: Option<Time>,
}

/// The pieces of an endpoint.
#[derive(Default)]
pub(crate) struct Pushes {
    /// The stream to each peer, if there is one.
    streams: Vec<Option<Stream>>,
    open_count: usize,
    /// Given by the message layer, in that order.
    given: VecDeque<(Peer, Push)>,
    /// Pieces that a stream has not delivered, and that go in packets.
    owed: BTreeMap<Peer, VecDeque<Push>>,
}

impl Pushes {
    /// There is a stream to the peer, by which pieces from a length on go, or it is over (`None`). True if
    /// that is news.
    pub fn set_stream(&mut self, peer: Peer, push_min: Option<u64>) -> bool {
        let index = peer.0 as usize;
        if self.streams.len() <= index {
            if push_min.is_none() {
                return false;
            }
            self.streams.resize_with(index + 1, || None);
        }
        let stream = &mut self.streams[index];
        let news = stream.is_some() != push_min.is_some();
        if news {
            *stream = push_min.map(|push_min| Stream { push_min, announced: VecDeque::new(), pushed: None });
            match push_min {
                Some(_) => self.open_count += 1,
                None => self.open_count -= 1,
            }
        }
        news
    }

    fn stream(&mut self, peer: Peer) -> Option<&mut Stream> {
        self.streams.get_mut(peer.0 as usize)?.as_mut()
    }

    /// The first frame of a message has come of which more is to come. Most likely that is the next to come
    /// by the stream.
    pub fn announced(&mut self, peer: Peer, data: Data) {
        if let Some(stream) = self.stream(peer)
            && data.len.max(data.early) >= stream.push_min
        {
            stream.announced.push_back(data);
        }
    }

    /// Bytes of this message are arriving by the peer's stream.
    pub fn arriving(&mut self, peer: Peer, seq: MsgSeq) {
        if let Some(stream) = self.stream(peer)
            && let Some(at) = stream.announced.iter().position(|data| data.seq == seq)
        {
            stream.announced.remove(at);
        }
    }

    /// What most likely comes next by the peer's stream; each is given once, unless it is given back by
    /// [`Pushes::still_announced`].
    pub fn next_announced(&mut self, peer: Peer) -> Option<Data> {
        self.stream(peer)?.announced.pop_front()
    }

    /// This was given by [`Pushes::next_announced`] and has not come yet.
    pub fn still_announced(&mut self, peer: Peer, data: Data) {
        if let Some(stream) = self.stream(peer) {
            stream.announced.push_front(data);
        }
    }

    /// Whether there is a stream to any peer.
    #[inline(always)]
    pub fn any_open(&self) -> bool {
        self.open_count > 0
    }

    /// Whether a piece for this peer goes by stream.
    #[inline]
    pub fn takes(&self, peer: Peer, data: &Data) -> bool {
        let stream = self.streams.get(peer.0 as usize).and_then(Option::as_ref);
        stream.is_some_and(|stream| data.len.max(data.early) >= stream.push_min)
    }

    /// Whether there is a stream to this peer.
    #[inline]
    pub fn is_open(&self, peer: Peer) -> bool {
        self.any_open() && self.streams.get(peer.0 as usize).is_some_and(Option::is_some)
    }

    /// Whether the first frame of a message goes by stream, before its pieces: the peer looks for it there if
    /// it has received something by the stream lately.
    pub fn takes_start(&self, peer: Peer, start: &Start, now: Time) -> bool {
        let Some(stream) = self.streams.get(peer.0 as usize).and_then(Option::as_ref) else { return false };
        let whole = start.early == start.len && start.remote_key.is_none();
        let hot = stream.pushed.is_some_and(|at| now.since_ns(at) < streams::HOT_NS / 2);
        whole && hot && start.len <= streams::STARTS_MAX && start.early - start.inline >= stream.push_min
    }

    /// The message layer has given a piece that goes by stream.
    pub fn give(&mut self, peer: Peer, piece: Piece, place: Place, now: Time) {
        if let Some(stream) = self.stream(peer) {
            stream.pushed = Some(now);
        }
        self.given.push_back((peer, Push::new(piece, place)));
    }

    /// Whether a piece waits for its stream.
    #[inline(always)]
    pub fn has_given(&self) -> bool {
        !self.given.is_empty()
    }

    /// The next piece that waits for its stream.
    #[inline(always)]
    pub fn next_given(&mut self) -> Option<(Peer, Push)> {
        self.given.pop_front()
    }

    /// A piece that goes in packets after all.
    pub fn owe(&mut self, peer: Peer, push: Push) {
        self.owed.entry(peer).or_default().push_back(push);
    }

    /// The next frame for the packet layer of what streams owe this peer.
    #[inline]
    pub fn next_owed(&mut self, peer: Peer) -> Option<Outgoing> {
        if self.owed.is_empty() {
            return None;
        }
        let queue = self.owed.get_mut(&peer)?;
        let push = queue.pop_front();
        if queue.is_empty() {
            self.owed.remove(&peer);
        }
        push.map(|push| push.outgoing())
    }

    /// Takes away all pieces for a peer that is gone.
    pub fn forget(&mut self, peer: Peer) -> Vec<Push> {
        self.set_stream(peer, None);
        let mut all: Vec<Push> = self.owed.remove(&peer).unwrap_or_default().into();
        let (gone, kept): (VecDeque<_>, _) = self.given.drain(..).partition(|(to, _)| *to == peer);
        self.given = kept;
        all.extend(gone.into_iter().map(|(_, push)| push));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_stream_has_delivered_is_not_owed() {
        // Ids of sends are the message layer's to give.
        let mut layer = tasuki_msg::Endpoint::<tasuki_msg::Window>::new(
            tasuki_msg::Config::default(),
            tasuki_msg::Window::default(),
        );
        let peer = layer.add_peer(tasuki_msg::PeerOptions::default());
        let request = tasuki_msg::SendRequest {
            peer,
            queue: tasuki_msg::Queue::Msg,
            tag: 0,
            data: None,
            len: 9,
            user: 3,
            remote_key: None,
            delivery: false,
        };
        let send = layer.post_send(request).unwrap();
        let data = Data { seq: MsgSeq(4), offset: 100, len: 50, early: 200 };
        let push = Push { piece: Piece::Data(data), send, user: 3 };
        let rest = push.without(20).unwrap();
        assert_eq!(rest.place(), (120, 30));
        assert!(push.without(50).is_none() && push.without(u64::MAX).is_none());
        let mut pushes = Pushes::default();
        assert!(pushes.next_owed(Peer(1)).is_none());
        pushes.owe(Peer(1), rest);
        assert!(pushes.next_owed(Peer(0)).is_none());
        let owed = pushes.next_owed(Peer(1));
        let Some(Outgoing::Data { seq: 4, offset: 120, early: 200, payload }) = owed else {
            panic!("{owed:?} owed");
        };
        assert_eq!((payload.key, payload.offset, payload.len), (3, 120, 30));
        assert!(pushes.next_owed(Peer(1)).is_none());
    }

    #[test]
    fn streams_are_counted_once() {
        let mut pushes = Pushes::default();
        assert!(!pushes.set_stream(Peer(3), None) && pushes.set_stream(Peer(3), Some(1)));
        assert!(!pushes.set_stream(Peer(3), Some(1)) && pushes.any_open());
        assert!(pushes.is_open(Peer(3)) && !pushes.is_open(Peer(2)) && !pushes.is_open(Peer(4)));
        assert!(pushes.set_stream(Peer(3), None) && !pushes.any_open());
    }

    #[test]
    fn what_arrives_is_announced_no_longer() {
        let data = |seq| Data { seq: MsgSeq(seq), offset: 10, len: 90, early: 100 };
        let (mut pushes, peer) = (Pushes::default(), Peer(0));
        pushes.set_stream(peer, Some(50));
        (0..4).for_each(|seq| pushes.announced(peer, data(seq)));
        pushes.announced(peer, Data { len: 5, early: 15, ..data(4) });
        let next = pushes.next_announced(peer).unwrap();
        pushes.still_announced(peer, next);
        [1, 0, 9].into_iter().for_each(|seq| pushes.arriving(peer, MsgSeq(seq)));
        let left: Vec<u64> =
            std::iter::from_fn(|| pushes.next_announced(peer)).map(|data| data.seq.0).collect();
        assert_eq!(left, [2, 3], "two have come, and one is so short that it comes in packets");
    }
}
