//! What goes by stream between this endpoint and one peer, in both directions.

use tasuki_proto::Time;

use super::giving::Giving;
use super::note::{Note, Token, name};
use super::taking::Taking;
use super::way::Way;
use super::{Job, StreamCounters};
use crate::api::Peer;
use crate::core::Core;

/// Nobody is invited more often.
const INVITATIONS: u32 = 3;
/// A stream that comes about is looked at as often as possible for so long, later now and then. ns.
const EAGER: u64 = 20_000_000;

/// One peer.
#[derive(Default)]
pub(crate) struct Link {
    pub way: Way,
    giving: Giving,
    taking: Taking,
    invitations: u32,
    /// The name of the stream that is there, or comes about, or was there last.
    stream: u32,
}

impl Link {
    /// Messages may be offered.
    pub fn is_open(&self) -> bool {
        matches!(self.way, Way::Open(_))
    }

    /// There is something to be done at each look.
    pub fn is_at_work(&self, now: Time) -> bool {
        let soon = self.way.since().is_some_and(|since| now.0.saturating_sub(since) < EAGER);
        soon || self.giving.is_at_work() || self.taking.is_at_work()
    }

    /// The peer may be invited, and is.
    pub fn invite(&mut self, core: &Core, peer: Peer, rail: u8, now: Time) -> Option<Note> {
        if !matches!(self.way, Way::None) || self.invitations >= INVITATIONS {
            return None;
        }
        self.invitations += 1;
        let (port, token) = self.way.invite(core, peer, rail, now)?;
        self.stream = name(&token);
        Some(Note::Invite { rail, port, token })
    }

    /// The peer has something to say.
    pub fn told(
        &mut self,
        core: &mut Core,
        counters: &mut StreamCounters,
        peer: Peer,
        note: Note,
        now: Time,
    ) {
        match note {
            Note::Invite { rail, port, token } => {
                // If both have invited each other, the one with the lesser incarnation is the host.
                let host = matches!(self.way, Way::Invited(_)) && core.is_before(peer);
                if !host {
                    self.end(core, counters, peer, false);
                    self.follow(core, peer, (rail, port), token, now);
                }
            }
            // Whoever asks for something from a stream that is over here has been told, or has told us.
            Note::Pull { stream, key, offset, len } if stream == self.stream => {
                self.giving.ask(key, offset, len)
            }
            Note::Over { stream } if stream == self.stream => self.end(core, counters, peer, false),
            Note::Pull { .. } | Note::Over { .. } => {}
        }
    }

    fn follow(&mut self, core: &Core, peer: Peer, place: (u8, u16), token: Token, now: Time) {
        self.stream = name(&token);
        self.way.follow(core, peer, place, token, now);
    }

    /// A message that its sender has offered is wanted; gives what to tell the sender. Given back if there is no stream.
    pub fn take(&mut self, job: Job) -> Result<Note, Job> {
        if matches!(self.way, Way::None) {
            return Err(job);
        }
        let pull = Note::Pull { stream: self.stream, key: job.key, offset: job.offset, len: job.len };
        self.taking.expect(job);
        Ok(pull)
    }

    /// Sends and receives what is possible now. True if there was something.
    pub fn poll(&mut self, core: &mut Core, counters: &mut StreamCounters, peer: Peer, now: Time) -> bool {
        self.way.look(now);
        let moved = match &self.way {
            // Who asks for something here, or was asked for something, has not heard yet.
            Way::None => (!self.giving.is_at_work() && !self.taking.is_at_work()).then_some((0, 0)),
            Way::Open(stream) => self
                .giving
                .send(core, peer, stream)
                .and_then(|sent| Some((sent, self.taking.receive(core, stream, now)?))),
            Way::Invited(_) | Way::Opening(..) => Some((0, 0)),
        };
        let Some((sent, received)) = moved.filter(|_| !self.taking.has_stalled(now)) else {
            self.end(core, counters, peer, true);
            return true;
        };
        counters.sent_bytes += sent as u64;
        counters.received_bytes += received as u64;
        sent + received > 0
    }

    /// The stream is over, and what was to come by it goes in packets.
    fn end(&mut self, core: &mut Core, counters: &mut StreamCounters, peer: Peer, tell: bool) {
        counters.broken += u64::from(self.is_open());
        self.way = Way::None;
        self.giving.clear();
        counters.given_up += self.taking.give_up(core) as u64;
        if tell {
            core.tell_of_stream(peer, &Note::Over { stream: self.stream });
        }
    }
}
