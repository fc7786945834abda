//! Everything behind an endpoint's lock, and one round of progress.

use std::sync::Arc;
use std::time::Duration;

use tasuki_link::{LinkWatch, RawLink, UdpLink};
use tasuki_proto::{Proto, Time};
use tasuki_ring::{Segment, Slot, Token};

use crate::api::{Completion, Names, Peer};
use crate::burst::Burst;
use crate::clock::Clock;
use crate::core::Core;
use crate::held::Held;
use crate::lanes::{Opening, Sockets};
use crate::line::First;
use crate::linger::Linger;
use crate::looks::Looks;
use crate::options::OnFailure;
use crate::patience::{NAP, Patience, Rest};
use crate::ready::Ready;
use tasuki_ring::stats_page::Writer;

/// The sockets of one NIC, or of the routed way.
pub(crate) struct Link {
    pub udp: UdpLink,
    /// The raw lane, if there is one.
    pub raw: Option<RawLink>,
    /// The NIC it belongs to; `None` for the routed way.
    pub nic: Option<String>,
    /// More than expected came last time.
    pub busy: bool,
    /// Its NIC has a carrier, as far as is known.
    pub carrier: bool,
}

/// The endpoint itself.
pub(crate) struct State {
    pub core: Core,
    pub proto: Proto,
    /// The first is the routed way.
    pub links: Vec<Link>,
    /// The raw lanes, until they are open.
    pub opening: Option<Opening>,
    pub raw_sockets: Sockets,
    pub ready: Ready,
    /// Tells of the NICs of all links but the first, in their order.
    pub carriers: Option<LinkWatch>,
    /// When the UDP sockets are looked at again.
    pub udp_due: Time,
    /// Time that they are left alone between two looks, ns.
    pub udp_pause: u64,
    /// When it is judged again whose packets come fast.
    pub invite_due: Time,
    pub segment: Option<Segment>,
    pub token: Token,
    /// Who writes into which ring of the segment.
    pub slots: Vec<Option<(Slot, Peer)>>,
    /// Something has come through memory at the last look.
    pub flowing: bool,
    /// The last settlement left nothing that could be done at once.
    pub settled: bool,
    /// Peers whose ring was full.
    pub stalled: Vec<Peer>,
    /// Where a packet is written before it is queued, if it is not written in its queue.
    pub packet: Box<[u8]>,
    pub clock: Clock,
    pub next_watch: Time,
    /// How often it has looked.
    pub watched: u64,
    pub closing: bool,
    /// And all connections are told to end, whatever their peers' programs still want.
    pub confirming: bool,
    pub page: Option<Writer>,
    pub helped: u64,
    pub polled: u64,
    pub looks: Looks,
    pub patience: Patience,
    pub linger: Linger,
    pub burst: Burst,
    /// What the helper knows of messages that wait for others.
    pub held: Arc<Held>,
    /// Who is told of peers that have failed.
    pub on_failure: Option<OnFailure>,
}

/// Packets taken from one socket, or given to all, before something else gets its turn.
pub(crate) const BATCH: usize = 128;

impl State {
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// It keeps files in shared memory.
    pub fn has_files(&self) -> bool {
        self.segment.is_some() || self.page.is_some()
    }

    /// As [`State::progress`], for those who come back at once: looks into memory alone, most times. Whether there was something, and a completion that goes before
    /// all others.
    #[inline(never)]
    pub fn look(&mut self) -> (bool, Option<Completion>) {
        let mut completion = None;
        let first = self.take_first(&mut |received, _| {
            completion = Some((*received).into());
            false
        });
        let busy = match first {
            First::Nothing => self.note_shared(false),
            First::Given(_) | First::Taken => self.note_shared(true),
            First::Unknown => self.receive_shared(),
        };
        (self.look_further(busy), completion)
    }

    /// For those who want nothing now.
    pub fn look_for_later(&mut self) -> bool {
        let busy = self.receive_shared();
        self.look_further(busy)
    }

    /// Whether nothing but memory need be looked at, unless something has come there. (The clock is read at the other looks, and what depends on it is done:
    /// deadlines, and the UDP sockets if nothing comes there.)
    #[inline(always)]
    pub fn may_glance(&self) -> bool {
        self.looks.remain()
            && self.udp_pause > 0
            && self.settled
            && self.stalled.is_empty()
            && self.core.bulk.is_none()
            && !self.core.streaming
    }

    /// The rest of a look; `busy` if something has come through memory.
    pub fn look_further(&mut self, busy: bool) -> bool {
        if busy {
            self.core.run_actions();
        }
        self.looks.count();
        let memory_alone = self.may_glance() && !self.core.dual_copies.is_busy();
        if memory_alone && !self.has_frames() && !(busy && self.has_work()) {
            return busy;
        }
        self.look_at_all(busy, false) | self.help()
    }

    /// Takes in what has arrived, does what follows from it, and sends what may be sent. Never blocks. True if there was something.
    pub fn progress(&mut self) -> bool {
        let busy = self.receive_shared();
        self.look_at_all(busy, true)
    }

    /// The same, `busy` if something has come through memory. If something has come, and not all must be done now, acknowledgements wait until
    /// the next look that finds nothing: the program waits for what has come.
    fn look_at_all(&mut self, mut busy: bool, all: bool) -> bool {
        self.look_for_lanes();
        let now = self.now();
        let alone = self.spares_udp_most();
        self.looks.begin(now, alone);
        let looked = now >= self.udp_due;
        if self.burst.is_long() {
            self.burst.look(now);
        }
        busy |= self.core.msg.handle_time(now.0);
        busy |= self.receive_packets(now, busy && !all);
        if self.core.bulk.is_some() {
            busy |= self.poll_bulk(now);
        }
        if self.core.streaming {
            let moved = self.poll_streams(now);
            if moved {
                self.spare_udp();
            }
            busy |= moved;
        }
        if self.core.dual_copies.is_pending() {
            busy |= self.core.end_pulls();
        }
        if self.proto.deadline().is_some_and(|deadline| deadline <= now) {
            self.proto.handle_timeout(now);
            busy = true;
        }
        if now >= self.next_watch {
            self.watch(now);
        }
        let caught_up = (all || !busy) && self.proto.flush_deferred_acks();
        // Between two looks at the UDP sockets a round that has found nothing has nothing to settle: whatever else changes things
        // settles them itself. Whatever does not is late by no more than the time between two looks.
        if !busy && !looked && !caught_up && self.settled && self.stalled.is_empty() {
            self.attend();
            return false;
        }
        busy | self.settle(now)
    }

    /// It is time to offer the processor to others: how?
    pub fn rest(&mut self) -> Rest {
        let now = self.now();
        // A program that waits for nothing here polls something else besides, which no packet announces; nor does any what comes by stream.
        let rest = self.patience.rest(now);
        if rest == Rest::Offer || !self.core.is_awaited() || self.core.streaming {
            return Rest::Offer;
        }
        self.prepare_to_sleep();
        // What comes through shared memory ends no nap.
        if self.slots.is_empty() { rest } else { Rest::Nap(NAP) }
    }

    /// The processor was offered to others, which took so long: everything is due for a look.
    pub fn rested(&mut self, rest: Rest, took: Duration) {
        let now = self.now();
        match rest {
            Rest::Offer => self.patience.offered(took),
            Rest::Nap(_) => self.patience.napped(),
        }
        let company = &mut self.core.dual_copies.company;
        company.tell(self.patience.is_wanted());
        if self.patience.asks(now) {
            self.patience.tell(company.crowd.is_there(), now);
        }
        self.look_at_all_next();
    }

    /// The next look looks at everything.
    pub fn look_at_all_next(&mut self) {
        self.looks.end();
    }

    /// Before a sleep that a packet is to end.
    pub fn prepare_to_sleep(&mut self) {
        self.ready.cool(&self.links);
    }

    /// Gives up to `max` completions, the oldest first; returns how many.
    #[inline]
    pub fn take(&mut self, max: usize, each: impl FnMut(&Completion, &Names<'_>)) -> usize {
        if self.core.completions.is_empty() { 0 } else { self.take_oldest(max, each) }
    }

    fn take_oldest(&mut self, max: usize, mut each: impl FnMut(&Completion, &Names<'_>)) -> usize {
        let Core { completions, peers, .. } = &mut self.core;
        let (count, names) = (max.min(completions.len()), Names(peers));
        completions.iter().take(count).for_each(|completion| each(completion, &names));
        if count == completions.len() {
            completions.clear();
        } else {
            completions.drain(..count);
        }
        count
    }

    /// Carries out what the message layer asks for and sends what it has, until nothing is left to be done now.
    pub fn settle(&mut self, now: Time) -> bool {
        let mut busy = false;
        // Sending makes releases, releases make completions, completions may let the next frame go. Each round has a
        // cause in the one before; the bound lets others have their turn.
        for _ in 0..8 {
            self.settled = !(self.has_work() && self.settle_once(now));
            if self.settled {
                break;
            }
            busy = true;
        }
        self.attend();
        busy
    }

    /// One round of it. True if something was done.
    fn settle_once(&mut self, now: Time) -> bool {
        self.bury_broken();
        let acted = self.core.run_actions() | self.core.hear_notes() | (!self.closing && self.core.serve());
        self.part();
        acted | self.send_active(now)
    }

    /// There may be something to settle. Most rounds find nothing, and learn it here.
    pub fn has_work(&self) -> bool {
        let core = &self.core;
        core.msg.has_work()
            || self.proto.has_work()
            || !self.stalled.is_empty()
            || !core.broken.is_empty()
            || !core.parted.is_empty()
            || core.has_requests()
    }

    /// Hands what the message layer has for its peers to their carriers.
    fn send_active(&mut self, now: Time) -> bool {
        let mut any = self.retry_stalled();
        while let Some(id) = self.core.msg.poll_active() {
            any = true;
            self.activate(Peer(id.index() as u32), now);
        }
        any | self.transmit(now)
    }

    /// Declares those failed who broke the protocol.
    fn bury_broken(&mut self) {
        while let Some((peer, reason)) = self.core.broken.pop() {
            self.fail_peer(peer, reason);
        }
    }
}
