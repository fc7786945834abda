//! Frames through memory: to peers on this host, and to oneself.

use std::num::NonZeroU64;

use tasuki_msg::{PeerId, Start, Transmit};
use tasuki_ring::{Departure, Outbox, Slot, Verdict};

use crate::address::Address;
use crate::api::{Peer, SendArgs};
use crate::core::Core;
use crate::memory::{copy_pieces, total};
use crate::peer::{Shared, Way};
use crate::record::{self, HEAD, INTRODUCTION, LINE_PAYLOAD};
use crate::state::{BATCH, State};

/// Most payload in one record, bytes: so that several fit into a ring, and the receiver can copy one while the sender fills the next.
const PIECE: usize = 8 << 10;

impl State {
    /// Takes in what others on this host have written. True if there was something.
    pub fn receive_shared(&mut self) -> bool {
        // The first is handed on before a look for a second, which would cost the way of a line of the cache between two processors.
        let taken = self.receive_records(if self.flowing { BATCH } else { 1 });
        self.note_shared(taken > 0)
    }

    /// Whether something has come through memory at this look.
    pub fn note_shared(&mut self, any: bool) -> bool {
        self.flowing = any;
        if any {
            self.spare_udp();
        }
        any
    }

    /// The same of up to `budget` records; how many there were.
    fn receive_records(&mut self, budget: usize) -> usize {
        let Some(segment) = &mut self.segment else { return 0 };
        if segment.idle() {
            return 0;
        }
        let (core, slots) = (&mut self.core, &mut self.slots);
        let mut newcomers = Vec::new();
        let taken = segment.receive(budget, |slot, bytes| {
            match sender(slots, slot) {
                Some(peer) => core.take_record(peer, slot, bytes),
                None => {
                    if let Some(address) = record::introduced(&core.address, bytes) {
                        let peer = core.peer(&address);
                        remember(slots, slot, peer);
                        newcomers.push(peer);
                    }
                    // Anything else from a stranger is dropped: nobody who was given the address writes it.
                }
            }
            Verdict::Consumed
        });
        for peer in newcomers {
            let now = self.now();
            self.choose_way(peer, now);
            if let Some(id) = self.core.id(peer) {
                self.core.msg.introduce(id);
            }
        }
        taken
    }

    /// Pushes frames for a peer on this host until there are none, or its ring is full.
    pub fn push_shared(&mut self, peer: Peer) {
        if !self.core.push(peer) && !self.stalled.contains(&peer) {
            self.stalled.push(peer);
        }
    }

    /// Tries again where a ring was full. True if something went.
    pub fn retry_stalled(&mut self) -> bool {
        let mut any = false;
        let mut at = 0;
        while at < self.stalled.len() {
            let peer = self.stalled[at];
            if self.core.push(peer) {
                self.stalled.swap_remove(at);
                any = true;
            } else {
                at += 1;
            }
        }
        any
    }

    /// Frames to oneself are handed straight back.
    pub fn loop_back(&mut self, peer: Peer) {
        let Some(id) = self.core.id(peer) else { return };
        while let Some(transmit) = self.core.msg.poll_transmit(id, NonZeroU64::MAX) {
            let Some(payload) = transmit.payload else {
                self.core.arrived(peer, &transmit.frame, &[]);
                continue;
            };
            let mut bytes = self.core.spare(payload.len as usize);
            bytes.clear();
            bytes.resize(payload.len as usize, 0);
            self.core.read_payload(payload.user, payload.offset, &mut bytes);
            self.core.arrived(peer, &transmit.frame, &bytes);
            self.core.recycle(bytes);
            self.core.release_payload(payload.user);
            // What the message layer asks for comes before the next frame may reuse a buffer.
            self.core.run_actions();
        }
    }

    /// Looks after those who write to this endpoint, and those it writes to. Called by [`State::watch`].
    pub fn watch_shared(&mut self) {
        let mut dead = Vec::new();
        if let Some(segment) = &mut self.segment {
            let slots = &mut self.slots;
            segment.reap(|slot, _, departure| {
                if let Some(place) = slots.get_mut(slot.index())
                    && let Some((_, peer)) = place.take_if(|(known, _)| *known == slot)
                    && departure != Departure::Closed
                {
                    dead.push((peer, departure));
                }
            });
        }
        for (peer, departure) in dead {
            let reason = match departure {
                Departure::Corrupt => "its ring in shared memory is corrupt",
                _ => "its process on this host is gone",
            };
            self.fail_peer(peer, reason.to_owned());
        }
        for index in 0..self.core.peers.len() {
            let state = &self.core.peers[index];
            if let Way::Shared(shared) = &state.way
                && !state.gone
                && (shared.outbox.is_shut() || !shared.outbox.alive())
            {
                self.fail_peer(Peer(index as u32), "its process on this host is gone".to_owned());
            }
        }
    }
}

#[inline(always)]
pub(crate) fn sender(slots: &[Option<(Slot, Peer)>], slot: Slot) -> Option<Peer> {
    slots.get(slot.index()).copied().flatten().filter(|(known, _)| *known == slot).map(|(_, peer)| peer)
}

fn remember(slots: &mut Vec<Option<(Slot, Peer)>>, slot: Slot, peer: Peer) {
    if slots.len() <= slot.index() {
        slots.resize(slot.index() + 1, None);
    }
    slots[slot.index()] = Some((slot, peer));
}

impl Core {
    /// A record has come from `peer`.
    pub fn take_record(&mut self, peer: Peer, slot: Slot, bytes: &[u8]) {
        match (record::read(bytes), record::offered(bytes)) {
            (Some((frame, payload)), _) => self.arrived(peer, &frame, payload),
            (None, Some(offer)) => self.take_offer(peer, slot, offer),
            (None, None) => self.broken.push((peer, "a record in shared memory is no frame".to_owned())),
        }
    }

    /// Sends a short message to a peer on this host at once, if nothing stands in its way. False: nothing has happened.
    ///
    /// # Safety
    /// The buffers can be read.
    #[inline(always)]
    pub unsafe fn send_shared_now(&mut self, args: &SendArgs<'_>) -> bool {
        // SAFETY: the caller's.
        unsafe {
            match args.buffers {
                [piece] if piece.len <= LINE_PAYLOAD => self.send_line(args, piece),
                _ => self.send_record(&SendArgs { ..*args }),
            }
        }
    }

    /// The same of what does not fit into one line, or not easily.
    ///
    /// # Safety
    /// As above.
    #[inline(never)]
    unsafe fn send_record(&mut self, args: &SendArgs<'_>) -> bool {
        let Some(state) = self.peers.get_mut(args.peer.0 as usize) else { return false };
        let Way::Shared(shared) = &mut state.way else { return false };
        let Some(len) = total(args.buffers).filter(|&len| len <= PIECE) else { return false };
        let free = shared.introduced && shared.waiting.is_none();
        if !free {
            return false;
        }
        let Some(room) = shared.outbox.room(HEAD + len) else { return false };
        // It is too short to be worth a look into the sender's memory.
        let request = args.request(state.id, len as u64);
        let Some(start) = self.msg.send_inline(&request, len as u64) else { return false };
        let head = record::start_head(&start);
        // SAFETY: the caller's.
        room.fill(head + len, |bytes| unsafe { write_start(bytes, head, &start, args) });
        self.sent(args.report, args.context, args.peer, args.tag.is_some());
        true
    }

    /// Pushes frames until there are none (true) or the ring is full (false).
    fn push(&mut self, peer: Peer) -> bool {
        let me = self.address;
        let Some(state) = self.peers.get_mut(peer.0 as usize) else { return true };
        let (id, to) = (state.id, state.address);
        // The way is taken out of the record while it is at work, so that frames can read the memory of operations.
        let mut way = std::mem::replace(&mut state.way, Way::Gone);
        let done = match &mut way {
            Way::Shared(shared) => introduce(shared, &me, &to) && self.push_frames(id, shared),
            _ => true,
        };
        if let Some(state) = self.peers.get_mut(peer.0 as usize) {
            state.way = way;
        }
        done
    }

    fn push_frames(&mut self, id: PeerId, shared: &mut Shared) -> bool {
        if shared.outbox.is_shut() {
            // The watch declares the peer failed; until then nothing is lost that could be saved.
            return false;
        }
        let Some(room) = NonZeroU64::new(shared.room()) else { return false };
        loop {
            let Some(transmit) = shared.waiting.take().or_else(|| self.msg.poll_transmit(id, room)) else {
                return true;
            };
            if !self.push_frame(shared, &transmit) {
                shared.waiting = Some(transmit);
                return false;
            }
            if let Some(payload) = transmit.payload {
                self.release_payload(payload.user);
            }
        }
    }

    fn push_frame(&self, shared: &mut Shared, transmit: &Transmit) -> bool {
        let len = transmit.payload.map_or(0, |payload| payload.len as usize);
        let head = record::head(&transmit.frame);
        shared.outbox.push(head + len, |bytes| {
            let (head, body) = bytes.split_at_mut(head);
            record::write(&transmit.frame, head);
            if let Some(payload) = transmit.payload {
                self.read_payload(payload.user, payload.offset, body);
            }
        })
    }
}

/// Writes a message's first frame with all of its payload.
///
/// # Safety
/// The buffers of `args` can be read, and do not lie in `bytes`.
unsafe fn write_start(bytes: &mut [u8], head: usize, start: &Start, args: &SendArgs<'_>) {
    let (head, body) = bytes.split_at_mut(head);
    record::write_start(start, head);
    // SAFETY: the caller's.
    unsafe { copy_pieces(args.buffers, body) };
}

/// Pushes such a frame into a ring that has room for it.
///
/// # Safety
/// The buffers can be read.
#[cold]
pub(crate) unsafe fn push_start(outbox: &mut Outbox, start: Start, args: SendArgs<'_>) {
    let head = record::start_head(&start);
    // SAFETY: the caller's; the ring is nobody's buffer.
    let pushed =
        outbox.push(head + start.len as usize, |bytes| unsafe { write_start(bytes, head, &start, &args) });
    debug_assert!(pushed, "the caller has found room");
}

impl Shared {
    /// Payload that one record may carry, bytes.
    pub fn room(&self) -> u64 {
        self.outbox.max_record().saturating_sub(HEAD).min(PIECE) as u64
    }
}

fn introduce(shared: &mut Shared, me: &Address, to: &Address) -> bool {
    if !shared.introduced {
        shared.introduced = shared.outbox.push(INTRODUCTION, |bytes| record::introduce(me, to, bytes));
    }
    shared.introduced
}
