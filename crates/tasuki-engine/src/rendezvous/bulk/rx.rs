//! The receiving side of length-coded bulk: datagrams straight into the program's memory, what is missing
//! asked for again, one round after the other.

use std::collections::VecDeque;
use std::ptr::NonNull;

use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use tasuki_bulk::{ControlMessage, Round, RoundRx, Sizes};
use tasuki_link::{BulkSocket, Piece};
use tasuki_proto::Time;
use tasuki_tuning::bulk;

use super::super::context::Context;
use super::{Shared, sockets, tell};
use crate::api::Peer;
use crate::messages::{Messages, PullJob};

/// What is received from one peer.
#[derive(Default)]
pub(super) struct BulkRx {
    /// Messages that are to be fetched, in turn; the first is under way.
    jobs: VecDeque<PullJob>,
    /// Bytes of the first message that are there.
    done: u64,
    path: Option<BulkPath>,
    active: Option<Active>,
    /// Rounds that were begun.
    rounds: u32,
}

/// The socket to one peer.
struct BulkPath {
    socket: BulkSocket,
    rail: u8,
    sizes: Sizes,
    /// The peer has told its port, and the socket is connected.
    open: bool,
    lens: Vec<usize>,
}

/// One round.
struct Active {
    round_rx: RoundRx,
    /// Number of the pass that is expected, from 1.
    pass: u16,
    /// The sender has said that the pass is over.
    sent: bool,
    checks: Option<Vec<u32>>,
    /// When something of the pass last arrived, or was said of it, ns.
    heard: u64,
    /// Packets of this pass that have arrived.
    arrived: usize,
    /// Bursts in a row of which nothing has arrived.
    barren: u32,
}

impl Active {
    /// When what has not arrived is lost, ns.
    fn lost_at(&self) -> u64 {
        self.heard + (bulk::GRACE_NS << self.barren)
    }
}

impl BulkRx {
    /// A message is to be fetched, behind those before it.
    pub fn push(&mut self, job: PullJob) {
        self.jobs.push_back(job);
    }

    /// The sender has something to say.
    pub fn handle(&mut self, cx: &mut Context<'_>, shared: &mut Shared, peer: Peer, message: ControlMessage) {
        match message {
            ControlMessage::Opened { port } => {
                let Some(path) = self.path.as_mut().filter(|path| !path.open) else { return };
                let to = sockets::address_of(cx, peer, path.rail, port);
                path.open = to.is_some_and(|to| path.socket.connect(to).is_ok());
                if !path.open {
                    self.give_up(cx.messages, shared);
                }
            }
            ControlMessage::Refused => self.give_up(cx.messages, shared),
            ControlMessage::Gone { round } if round == self.rounds => self.give_up(cx.messages, shared),
            ControlMessage::Sent { round, pass, checks } if round == self.rounds => {
                let Some(active) = self.active.as_mut().filter(|active| active.pass == pass) else { return };
                active.sent = true;
                active.heard = cx.now.0;
                if pass == 1 {
                    active.checks = Some(checks);
                }
            }
            _ => {}
        }
    }

    /// All messages that are waited for go in frames. The next message tries again.
    fn give_up(&mut self, messages: &mut Messages, shared: &mut Shared) {
        shared.counters.given_up += self.jobs.len() as u64;
        self.jobs.drain(..).for_each(|job| messages.layer_mut().handle_pulled(job.pull, false));
        (self.done, self.path, self.active) = (0, None, None);
    }

    /// When something is to be done though nothing arrives, ns.
    pub fn deadline(&self) -> Option<u64> {
        let active = self.active.as_ref();
        let idle =
            !self.jobs.is_empty() && active.is_none() && self.path.as_ref().is_none_or(|path| path.open);
        let waiting = active.filter(|active| active.sent).map(Active::lost_at);
        if idle { Some(0) } else { waiting }
    }

    /// Opens, asks, receives, decides. True if something was done.
    pub fn poll(&mut self, cx: &mut Context<'_>, shared: &mut Shared, epoll: &Epoll, peer: Peer) -> bool {
        if self.jobs.is_empty() {
            return false;
        }
        let Some(path) = &self.path else {
            self.open(cx, shared, epoll, peer);
            return true;
        };
        if self.active.is_none() {
            let open = path.open;
            if open {
                self.begin(cx, peer);
            }
            return open;
        }
        let Some(mut into) = self.place(cx.messages) else {
            // The receive is over because its peer is gone, as the message layer knows.
            self.give_up(cx.messages, shared);
            return true;
        };
        // SAFETY: `place` names memory of a receive that is under way, and nobody else touches it meanwhile.
        let into = unsafe { into.as_mut() };
        let arrived = self.receive(shared, into, cx.now);
        arrived | self.decide(cx, shared, peer, into)
    }

    /// The memory of the round under way.
    fn place(&self, messages: &Messages) -> Option<NonNull<[u8]>> {
        let (job, active) = (self.jobs.front()?, self.active.as_ref()?);
        let memory = messages.memory_for(job)?;
        let (begin, len) = (job.at + self.done, active.round_rx.round().len());
        let base = memory.contiguous().filter(|_| begin + len <= memory.len())?;
        let first = NonNull::new(base.wrapping_add(begin as usize))?;
        Some(NonNull::slice_from_raw_parts(first, len as usize))
    }

    /// Opens the socket and asks the sender for its own.
    fn open(&mut self, cx: &mut Context<'_>, shared: &mut Shared, epoll: &Epoll, peer: Peer) {
        let rail = cx.record(peer).map(|record| cx.net.bulk_rail(record));
        let fits = rail.and_then(|rail| sockets::open(cx, peer, rail)).and_then(|opened| {
            let charge = (usize::from(opened.datagram_max) + bulk::KERNEL_BYTES).next_power_of_two();
            Some((Sizes::fitting(opened.datagram_max, opened.socket.receive_buffer() / charge)?, opened))
        });
        let Some((sizes, opened)) = fits else { return self.give_up(cx.messages, shared) };
        // If the socket cannot be watched, a sleeper is not woken by it, and looks after some time.
        let _ = epoll.add(opened.socket.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, 0));
        let (rail, port) = (opened.rail, opened.socket.local().port());
        tell(cx, peer, &ControlMessage::Open { rail, port });
        self.path = Some(BulkPath { socket: opened.socket, rail, sizes, open: false, lens: Vec::new() });
    }

    /// Asks for the next round.
    fn begin(&mut self, cx: &mut Context<'_>, peer: Peer) {
        let (Some(job), Some(path)) = (self.jobs.front(), &mut self.path) else { return };
        let size = (job.len - self.done).min(path.sizes.capacity());
        let Some(round) = Round::new(path.sizes, size) else { return };
        path.socket.discard(bulk::STALE_MAX);
        self.rounds = self.rounds.wrapping_add(1);
        let (offset, len, key) = (job.offset + self.done, round.len(), job.key.encode());
        tell(cx, peer, &ControlMessage::Pull { round: self.rounds, key, offset, len, sizes: path.sizes });
        self.active = Some(Active {
            round_rx: RoundRx::new(round),
            pass: 1,
            sent: false,
            checks: None,
            heard: cx.now.0,
            arrived: 0,
            barren: 0,
        });
    }

    /// Receives the datagrams that wait. True if there were any.
    fn receive(&mut self, shared: &mut Shared, into: &mut [u8], now: Time) -> bool {
        let (Some(path), Some(active)) = (&mut self.path, &mut self.active) else { return false };
        let part = path.sizes.first();
        shared.overflow.resize(shared.overflow.len().max(bulk::BATCH * part), 0);
        let mut any = false;
        for _ in 0..bulk::RX_BATCHES {
            let round = *active.round_rx.round();
            let mut pairs = [[Piece { ptr: std::ptr::null_mut(), len: 0 }; 2]; bulk::BATCH];
            let mut count = 0;
            for &slot in active.round_rx.slots(bulk::BATCH) {
                let place = &mut into[round.place(slot)];
                let over = &mut shared.overflow[count * part..(count + 1) * part];
                pairs[count] = [
                    Piece { ptr: place.as_mut_ptr(), len: place.len() },
                    Piece { ptr: over.as_mut_ptr(), len: part - place.len() },
                ];
                count += 1;
            }
            // SAFETY: the pieces are disjoint parts of `into` and `over`, which this function has for itself.
            let result = unsafe { path.socket.receive(&pairs[..count], &mut path.lens) };
            if count == 0 || result.is_err() || path.lens.is_empty() {
                break;
            }
            let placed = active.round_rx.place(&path.lens, into, &mut shared.overflow);
            shared.counters.moved_bytes += placed.moved as u64;
            shared.counters.useless += placed.useless as u64;
            active.arrived += placed.new;
            active.heard = now.0;
            any = true;
            if path.lens.len() < count {
                break;
            }
        }
        any
    }

    /// Draws the consequence of what has arrived: the next pass, the next round, or the end. True if
    /// something was done.
    fn decide(&mut self, cx: &mut Context<'_>, shared: &mut Shared, peer: Peer, from: &[u8]) -> bool {
        let Some(active) = &mut self.active else { return false };
        if !active.sent {
            return false;
        }
        if active.round_rx.is_complete() {
            let wrong = active.checks.as_ref().map_or(0, |checks| active.round_rx.verify(checks, from));
            if wrong == 0 {
                self.end_round(cx.messages, shared);
                return true;
            }
        } else if !active.round_rx.pass_ended() && cx.now.0 < active.lost_at() {
            return false;
        }
        active.barren = if active.arrived > 0 { 0 } else { active.barren + 1 };
        if active.barren > bulk::BARREN_MAX || active.pass >= bulk::PASSES_MAX {
            self.give_up(cx.messages, shared);
            return true;
        }
        let missing = active.round_rx.missing();
        shared.counters.again += missing.iter().map(|run| u64::from(run.count)).sum::<u64>();
        tell(cx, peer, &ControlMessage::Resend { round: self.rounds, pass: active.pass, missing });
        (active.pass, active.sent, active.heard, active.arrived) = (active.pass + 1, false, cx.now.0, 0);
        true
    }

    fn end_round(&mut self, messages: &mut Messages, shared: &mut Shared) {
        let (Some(active), Some(job)) = (self.active.take(), self.jobs.front()) else { return };
        self.done += active.round_rx.round().len();
        shared.counters.bytes += active.round_rx.round().len();
        if self.done == job.len {
            messages.layer_mut().handle_pulled(job.pull, true);
            self.jobs.pop_front();
            self.done = 0;
        }
    }
}
