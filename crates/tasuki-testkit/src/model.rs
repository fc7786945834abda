//! What should happen at the receive side of one endpoint, as libfabric and MPI define it, in the plainest
//! way: two lists, searched from the front, and whole messages. Nothing of it resembles how the message layer
//! does it.

use tasuki_msg::{Found, Matching, PeerId, Queue, Source};

/// A message as the program sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Name of the message, unique in the whole run.
    pub name: usize,
    /// The sender, as the receiver calls it.
    pub source: PeerId,
    /// The queue that it is for.
    pub queue: Queue,
    /// Tag of the message.
    pub tag: u64,
    /// Remote completion data.
    pub data: Option<u64>,
    /// Length, bytes.
    pub len: u64,
}

impl Message {
    /// What a probe reports of it.
    pub fn found(&self) -> Found {
        Found { source: self.source, tag: self.tag, data: self.data, len: self.len }
    }
}

/// A posted receive.
#[derive(Clone, Copy, Debug)]
pub struct Posted {
    /// Name of the receive, unique in the whole run.
    pub name: usize,
    /// Which messages it accepts.
    pub matching: Matching,
    /// Size of its buffer, bytes.
    pub room: u64,
    /// Bytes of it that are filled.
    pub used: u64,
    /// For a multi-receive: it takes further messages until less than this is left, bytes.
    pub multi: Option<u64>,
}

/// The decision that a receive gets a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// Name of the receive.
    pub recv: usize,
    /// The message.
    pub message: Message,
    /// Where the message begins in the buffer, bytes.
    pub offset: u64,
    /// Bytes of the message that fit.
    pub take: u64,
    /// The receive takes no further message.
    pub closes: bool,
}

/// The receive side of one endpoint.
#[derive(Debug, Default)]
pub struct Model {
    /// Receives that wait, in the order of their posts.
    pub posted: Vec<Posted>,
    /// Messages that wait, in the order of their arrival.
    pub unexpected: Vec<Message>,
}

fn accepts(matching: &Matching, message: &Message) -> bool {
    let source = match matching.source {
        Source::Any => true,
        Source::Peer(peer) => peer == message.source,
    };
    // fi_tagged(3): send_tag & ~ignore == recv_tag & ~ignore
    let tag =
        message.queue == Queue::Msg || message.tag & !matching.ignore == matching.tag & !matching.ignore;
    matching.queue == message.queue && source && tag
}

impl Posted {
    fn take(&mut self, message: Message) -> Match {
        let take = message.len.min(self.room - self.used);
        let offset = self.used;
        self.used += take;
        // fi_msg(3): the buffer is freed when the available space falls below FI_OPT_MIN_MULTI_RECV.
        let closes = match self.multi {
            None => true,
            Some(least) => self.room - self.used < least.max(1),
        };
        Match { recv: self.name, message, offset, take, closes }
    }
}

impl Model {
    /// A message arrives, in its turn; returns the receive that gets it.
    pub fn arrive(&mut self, message: Message) -> Option<Match> {
        let at = self.posted.iter().position(|posted| accepts(&posted.matching, &message));
        let Some(at) = at else {
            self.unexpected.push(message);
            return None;
        };
        let matched = self.posted[at].take(message);
        if matched.closes {
            self.posted.remove(at);
        }
        Some(matched)
    }

    /// A receive is posted; returns the messages that it gets at once.
    pub fn post(&mut self, mut posted: Posted) -> Vec<Match> {
        let mut matches = Vec::new();
        while let Some(message) = self.remove(&posted.matching) {
            matches.push(posted.take(message));
            if matches.last().is_some_and(|matched| matched.closes) {
                return matches;
            }
        }
        self.posted.push(posted);
        matches
    }

    /// The first waiting message that is accepted.
    pub fn peek(&self, matching: &Matching) -> Option<Message> {
        self.unexpected.iter().find(|message| accepts(matching, message)).copied()
    }

    /// Like [`Model::peek`], but takes the message out, for a claim or a discard.
    pub fn remove(&mut self, matching: &Matching) -> Option<Message> {
        let at = self.unexpected.iter().position(|message| accepts(matching, message))?;
        Some(self.unexpected.remove(at))
    }

    /// Cancels a receive; returns whether it was still posted.
    pub fn cancel(&mut self, recv: usize) -> bool {
        let before = self.posted.len();
        self.posted.retain(|posted| posted.name != recv);
        self.posted.len() < before
    }

    /// A peer is gone: keeps only those of its messages that are `whole`, and returns the names of the
    /// receives that only it could have filled.
    pub fn gone(&mut self, peer: PeerId, whole: impl Fn(&Message) -> bool) -> Vec<usize> {
        let only = |posted: &Posted| posted.matching.source == Source::Peer(peer);
        let ended = self.posted.iter().filter(|posted| only(posted)).map(|posted| posted.name).collect();
        self.posted.retain(|posted| !only(posted));
        self.unexpected.retain(|message| message.source != peer || whole(message));
        ended
    }
}
