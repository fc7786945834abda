//! The receiving side: datagrams straight into the program's memory, what is missing asked for, one round after the other.

use std::collections::VecDeque;

use nix::sys::epoll::{EpollEvent, EpollFlags};
use tasuki_bulk::{ControlMessage, Round, RoundRx, Sizes};
use tasuki_link::{BULK_BATCH, BulkSocket, Piece};
use tasuki_msg::{PullId, RecvId};
use tasuki_proto::Time;

use super::Bulk;
use crate::api::Peer;
use crate::core::Core;
use crate::state::State;

/// A burst is over when the sender has said so and nothing has come for so long: its note may have overtaken packets. Twice as long after each burst of
/// which nothing came. ns.
const GRACE: u64 = 500_000;
/// After so many bursts of which nothing came the message goes in frames: this rail carries nothing.
const BARREN_MAX: u32 = 6;
/// And after so many of which never all came as they were sent: its checksums may be of bytes that the program has changed since.
const BURSTS_MAX: u16 = 500;
/// Batches before something else gets its turn.
const BATCHES: usize = 4;
/// Datagrams of an earlier round that are dropped before the next.
const STALE_MAX: usize = 4096;
/// What a kernel charges for a datagram beside its bytes, at most; and it rounds up to a power of two.
const CHARGE: usize = 768;

/// A message to take.
pub(crate) struct Job {
    pub pull: PullId,
    /// The giver's name of it.
    pub key: u64,
    pub offset: u64,
    pub len: u64,
    /// The receive: its key, its identity, the place in its memory.
    pub user: u64,
    pub recv: RecvId,
    pub at: u64,
}

/// What is received from one peer.
#[derive(Default)]
pub(crate) struct Taking {
    /// In turn; the first is under way.
    pub jobs: VecDeque<Job>,
    /// Bytes of the first that are there.
    done: u64,
    way: Option<Way>,
    active: Option<Active>,
    /// Rounds that were begun.
    rounds: u32,
}

/// The socket, and whether the giver's is known.
struct Way {
    socket: BulkSocket,
    rail: u8,
    sizes: Sizes,
    open: bool,
    lens: Vec<usize>,
}

/// One round.
struct Active {
    taker: RoundRx,
    /// The burst that is expected, from 1.
    pass: u16,
    /// The giver has said that it is over.
    sent: bool,
    checks: Option<Vec<u32>>,
    /// When something was last heard of it, ns.
    heard: u64,
    /// Packets of this burst.
    came: usize,
    barren: u32,
}

impl Active {
    /// When what has not come is lost, ns.
    fn lost_at(&self) -> u64 {
        self.heard + (GRACE << self.barren)
    }
}

impl Taking {
    /// The giver has something to say.
    pub fn told(&mut self, core: &mut Core, bulk: &mut Bulk, peer: Peer, note: ControlMessage, now: Time) {
        match note {
            ControlMessage::Opened { port } => {
                let Some(way) = self.way.as_mut().filter(|way| !way.open) else { return };
                let to = core.bulk_address(peer, way.rail, port);
                way.open = to.is_some_and(|to| way.socket.connect(to).is_ok());
                if !way.open {
                    self.give_up(core, bulk);
                }
            }
            ControlMessage::Refused => self.give_up(core, bulk),
            ControlMessage::Gone { round } if round == self.rounds => self.give_up(core, bulk),
            ControlMessage::Sent { round, pass, checks } if round == self.rounds => {
                let Some(active) = self.active.as_mut().filter(|active| active.pass == pass) else { return };
                active.sent = true;
                active.heard = now.0;
                if pass == 1 {
                    active.checks = Some(checks);
                }
            }
            _ => {}
        }
    }

    /// All that is waited for goes in frames. The next message finds another way.
    fn give_up(&mut self, core: &mut Core, bulk: &mut Bulk) {
        bulk.counters.given_up += self.jobs.len() as u64;
        self.jobs.drain(..).for_each(|job| core.msg.handle_pulled(job.pull, false));
        (self.done, self.way, self.active) = (0, None, None);
    }

    pub fn deadline(&self) -> Option<u64> {
        let active = self.active.as_ref();
        let idle = !self.jobs.is_empty() && active.is_none() && self.way.as_ref().is_none_or(|way| way.open);
        let waiting = active.filter(|active| active.sent).map(Active::lost_at);
        if idle { Some(0) } else { waiting }
    }

    /// Asks for the next round.
    fn begin(&mut self, core: &mut Core, peer: Peer, now: Time) {
        let (Some(job), Some(way)) = (self.jobs.front(), &mut self.way) else { return };
        let Some(round) = Round::new(way.sizes, (job.len - self.done).min(way.sizes.capacity())) else {
            return;
        };
        way.socket.discard(STALE_MAX);
        self.rounds = self.rounds.wrapping_add(1);
        let (offset, len) = (job.offset + self.done, round.len());
        core.tell(
            peer,
            &ControlMessage::Pull { round: self.rounds, key: job.key, offset, len, sizes: way.sizes },
        );
        self.active = Some(Active {
            taker: RoundRx::new(round),
            pass: 1,
            sent: false,
            checks: None,
            heard: now.0,
            came: 0,
            barren: 0,
        });
    }

    /// Receives what is there. True if there was something.
    fn receive(&mut self, bulk: &mut Bulk, into: &mut [u8], now: Time) -> bool {
        let (Some(way), Some(active)) = (&mut self.way, &mut self.active) else { return false };
        let part = way.sizes.first();
        bulk.over.resize(bulk.over.len().max(BULK_BATCH * part), 0);
        let mut any = false;
        for _ in 0..BATCHES {
            let round = *active.taker.round();
            let mut pairs = [[Piece { ptr: std::ptr::null_mut(), len: 0 }; 2]; BULK_BATCH];
            let mut count = 0;
            for &slot in active.taker.slots(BULK_BATCH) {
                let (place, over) =
                    (&mut into[round.place(slot)], &mut bulk.over[count * part..(count + 1) * part]);
                pairs[count] = [
                    Piece { ptr: place.as_mut_ptr(), len: place.len() },
                    Piece { ptr: over.as_mut_ptr(), len: part - place.len() },
                ];
                count += 1;
            }
            // SAFETY: the pieces are disjoint parts of `into` and `over`, which this function has for itself.
            let result = unsafe { way.socket.receive(&pairs[..count], &mut way.lens) };
            if count == 0 || result.is_err() || way.lens.is_empty() {
                break;
            }
            let settled = active.taker.place(&way.lens, into, &mut bulk.over);
            bulk.counters.moved_bytes += settled.moved as u64;
            bulk.counters.useless += settled.useless as u64;
            active.came += settled.new;
            active.heard = now.0;
            any = true;
            if way.lens.len() < count {
                break;
            }
        }
        any
    }

    /// What follows from what has come: the next burst, the next round, the end. True if something was done.
    fn decide(&mut self, core: &mut Core, bulk: &mut Bulk, peer: Peer, from: &[u8], now: Time) -> bool {
        let Some(active) = &mut self.active else { return false };
        if !active.sent {
            return false;
        }
        if active.taker.is_complete() {
            let wrong = active.checks.as_ref().map_or(0, |checks| active.taker.verify(checks, from));
            if wrong == 0 {
                self.end_round(core, bulk);
                return true;
            }
        } else if !active.taker.pass_ended() && now.0 < active.lost_at() {
            return false;
        }
        active.barren = if active.came > 0 { 0 } else { active.barren + 1 };
        if active.barren > BARREN_MAX || active.pass >= BURSTS_MAX {
            self.give_up(core, bulk);
            return true;
        }
        let missing = active.taker.missing();
        bulk.counters.again += missing.iter().map(|run| u64::from(run.count)).sum::<u64>();
        core.tell(peer, &ControlMessage::Resend { round: self.rounds, pass: active.pass, missing });
        (active.pass, active.sent, active.heard, active.came) = (active.pass + 1, false, now.0, 0);
        true
    }

    fn end_round(&mut self, core: &mut Core, bulk: &mut Bulk) {
        let (Some(active), Some(job)) = (self.active.take(), self.jobs.front()) else { return };
        self.done += active.taker.round().len();
        bulk.counters.bytes += active.taker.round().len();
        if self.done == job.len {
            core.msg.handle_pulled(job.pull, true);
            self.jobs.pop_front();
            self.done = 0;
        }
    }
}

impl State {
    /// Opens, asks, receives, decides. True if something was done.
    pub(super) fn poll_taking(
        &mut self,
        bulk: &mut Bulk,
        taking: &mut Taking,
        peer: Peer,
        now: Time,
    ) -> bool {
        if taking.jobs.is_empty() {
            return false;
        }
        if taking.way.is_none() {
            return self.open_taking(bulk, taking, peer);
        }
        if taking.active.is_none() {
            let open = taking.way.as_ref().is_some_and(|way| way.open);
            if open {
                taking.begin(&mut self.core, peer, now);
            }
            return open;
        }
        let Some(mut into) = self.place_of(taking) else {
            // The receive is over: its peer is gone, as the message layer knows.
            taking.give_up(&mut self.core, bulk);
            return true;
        };
        // SAFETY: `place_of` names memory of a receive that is under way; nobody else touches it meanwhile.
        let into = unsafe { into.as_mut() };
        let came = taking.receive(bulk, into, now);
        came | taking.decide(&mut self.core, bulk, peer, into, now)
    }

    /// The memory of the round under way.
    fn place_of(&self, taking: &Taking) -> Option<std::ptr::NonNull<[u8]>> {
        let (job, active) = (taking.jobs.front()?, taking.active.as_ref()?);
        let recv = self.core.recvs.get(job.user as usize).filter(|recv| recv.id == Some(job.recv))?;
        let (begin, len) = (job.at + taking.done, active.taker.round().len());
        let base = recv.memory.contiguous().filter(|_| begin + len <= recv.memory.len())?;
        let first = std::ptr::NonNull::new(base.wrapping_add(begin as usize))?;
        Some(std::ptr::NonNull::slice_from_raw_parts(first, len as usize))
    }

    /// Opens the socket and asks the giver for his.
    fn open_taking(&mut self, bulk: &mut Bulk, taking: &mut Taking, peer: Peer) -> bool {
        let opened = self.core.open_bulk(peer, self.bulk_rail(peer));
        let fits = opened.and_then(|opened| {
            let charge = (usize::from(opened.first) + CHARGE).next_power_of_two();
            Some((Sizes::fitting(opened.first, opened.socket.receive_buffer() / charge)?, opened))
        });
        let Some((sizes, opened)) = fits else {
            taking.give_up(&mut self.core, bulk);
            return true;
        };
        // A sleeper that is not woken looks after some time.
        let _ = bulk.epoll.add(opened.socket.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, 0));
        let (rail, port) = (opened.rail, opened.socket.local().port());
        self.core.tell(peer, &ControlMessage::Open { rail, port });
        taking.way = Some(Way { socket: opened.socket, rail, sizes, open: false, lens: Vec::new() });
        true
    }
}
