//! The sending side: bursts straight out of the program's memory.

use tasuki_bulk::{ControlMessage, Round, RoundTx};
use tasuki_link::{BULK_BATCH, BulkSocket, Piece};
use tasuki_msg::Pace;
use tasuki_proto::Time;

use super::Bulk;
use crate::api::Peer;
use crate::core::Core;

/// Batches before something else gets its turn.
const BATCHES: usize = 4;
/// When the kernel has no room it is asked again after so long, ns.
const RETRY: u64 = 50_000;

/// What is sent to one peer.
#[derive(Default)]
pub(crate) struct Giving {
    socket: Option<BulkSocket>,
    active: Option<Active>,
}

/// One round.
struct Active {
    number: u32,
    key: u64,
    offset: u64,
    giver: RoundTx,
    /// Of the packets that have been sent, in order.
    checks: Vec<u32>,
    pace: Option<Pace>,
    /// When the next packet may leave, ns.
    next: u64,
    /// A burst is under way.
    due: bool,
}

impl Giving {
    /// The peer wants to receive on this port.
    pub fn open(&mut self, core: &mut Core, peer: Peer, rail: u8, port: u16) {
        let to = core.bulk_address(peer, rail, port);
        let opened =
            core.open_bulk(peer, rail).zip(to).filter(|(opened, to)| opened.socket.connect(*to).is_ok());
        self.active = None;
        self.socket = opened.map(|(opened, _)| opened.socket);
        let note = match &self.socket {
            Some(socket) => ControlMessage::Opened { port: socket.local().port() },
            None => ControlMessage::Refused,
        };
        core.tell(peer, &note);
    }

    /// The peer is ready for a round, or misses some of it.
    pub fn told(&mut self, core: &mut Core, peer: Peer, note: &ControlMessage, now: Time) {
        match note {
            ControlMessage::Pull { round, key, offset, len, sizes } => {
                let inside = |core: &Core| {
                    let send = core.offered_send(*key, peer)?;
                    let end = offset.checked_add(*len).filter(|end| *end <= send.memory.len())?;
                    Round::new(*sizes, end - offset).map(|round| (round, send.memory.len()))
                };
                let Some((shape, message)) = inside(core).filter(|_| self.socket.is_some()) else {
                    self.active = None;
                    return core.tell(peer, &ControlMessage::Gone { round: *round });
                };
                let pace = core.pace(peer, message);
                // What one round has left of the time, the next does not get as well.
                let next = self.active.as_ref().map_or(0, |active| active.next).max(now.0);
                let (giver, checks) = (RoundTx::new(shape), Vec::with_capacity(shape.packets().into()));
                let (number, key, offset) = (*round, *key, *offset);
                self.active = Some(Active { number, key, offset, giver, checks, pace, next, due: true });
            }
            ControlMessage::Resend { round, pass, missing } => {
                let active = self.active.as_mut().filter(|active| active.number == *round);
                if let Some(active) = active {
                    active.due |= active.giver.resend(*pass, missing);
                }
            }
            _ => {}
        }
    }

    /// Sends what may be sent now. True if something was.
    pub fn poll(&mut self, core: &mut Core, bulk: &mut Bulk, peer: Peer, now: Time) -> bool {
        let (Some(socket), Some(active)) = (&mut self.socket, &mut self.active) else { return false };
        let mut any = false;
        for _ in 0..BATCHES {
            if !active.due || now.0 < active.next {
                break;
            }
            let send = core.offered_send(active.key, peer);
            let Some(base) = send.and_then(|send| send.memory.contiguous()) else {
                self.active = None;
                break;
            };
            // SAFETY: the send has not completed, so that its memory can be read; that the round is inside was tested when it began.
            let Some(sent) =
                (unsafe { active.burst(socket, base.wrapping_add(active.offset as usize), now) })
            else {
                // The kernel has no room now.
                active.next = active.next.max(now.0 + RETRY);
                break;
            };
            any = true;
            bulk.counters.sent_bytes += sent;
            if !active.due {
                let checks =
                    if active.giver.pass() == 1 { std::mem::take(&mut active.checks) } else { Vec::new() };
                core.tell(
                    peer,
                    &ControlMessage::Sent { round: active.number, pass: active.giver.pass(), checks },
                );
            }
        }
        any
    }

    pub fn deadline(&self) -> Option<u64> {
        self.active.as_ref().filter(|active| active.due).map(|active| active.next)
    }
}

impl Active {
    /// Sends one batch of the round that begins at `base`. Bytes, or `None` if the kernel has no room.
    ///
    /// # Safety
    /// The round's bytes can be read.
    unsafe fn burst(&mut self, socket: &mut BulkSocket, base: *mut u8, now: Time) -> Option<u64> {
        let round = *self.giver.round();
        let mut room = self.pace.map_or(u64::MAX, |pace| pace.slack);
        let mut pieces = [Piece { ptr: std::ptr::null_mut(), len: 0 }; BULK_BATCH];
        let mut count = 0;
        for seq in self.giver.next(BULK_BATCH) {
            let place = round.place(seq);
            if count > 0 && room < place.len() as u64 {
                break;
            }
            room = room.saturating_sub(place.len() as u64);
            pieces[count] = Piece { ptr: base.wrapping_add(place.start), len: place.len() };
            if usize::from(seq) == self.checks.len() && self.giver.pass() == 0 {
                // SAFETY: as the caller says.
                let bytes = unsafe { std::slice::from_raw_parts(pieces[count].ptr, place.len()) };
                self.checks.push(crc32c::crc32c(bytes));
            }
            count += 1;
        }
        // SAFETY: as the caller says.
        let sent = match unsafe { socket.send(&pieces[..count]) } {
            Ok(0) => return None,
            Ok(sent) => sent,
            Err(error) => match error.raw_os_error() {
                Some(nix::libc::EAGAIN | nix::libc::ENOBUFS | nix::libc::ENOMEM | nix::libc::EINTR) => {
                    return None;
                }
                // Whatever it is (an old refusal, a cable that is gone): the packet is lost, and the taker decides what follows.
                _ => 1,
            },
        };
        let bytes = pieces[..sent].iter().map(|piece| piece.len as u64).sum();
        if let Some(pace) = self.pace {
            self.next = self.next.max(now.0.saturating_sub(pace.time_of(pace.slack))) + pace.time_of(bytes);
        }
        self.due = !self.giver.sent(sent);
        Some(bytes)
    }
}
