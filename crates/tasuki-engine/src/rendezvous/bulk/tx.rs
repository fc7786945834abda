//! The sending side of length-coded bulk: passes straight out of the program's memory.

use tasuki_bulk::{ControlMessage, Round, RoundTx};
use tasuki_link::{BulkSocket, Piece};
use tasuki_msg::Pace;
use tasuki_proto::Time;
use tasuki_tuning::bulk;

use super::super::context::Context;
use super::{Shared, sockets, tell};
use crate::api::Peer;
use crate::messages::ops::SendOp;
use crate::rendezvous::keys::RendezvousKey;

/// What is sent to one peer.
#[derive(Default)]
pub(super) struct BulkTx {
    socket: Option<BulkSocket>,
    active: Option<Active>,
}

/// One round.
struct Active {
    number: u32,
    key: u64,
    offset: u64,
    round_tx: RoundTx,
    /// Checksums of the packets that have been sent, in order.
    checks: Vec<u32>,
    pace: Option<Pace>,
    /// When the next packet may leave, ns.
    next: u64,
    /// A pass is under way.
    due: bool,
}

/// The send that a peer may fetch under an encoded key.
fn exposed<'a>(cx: &'a Context<'_>, key: u64, peer: Peer) -> Option<&'a SendOp> {
    match RendezvousKey::decode(key) {
        RendezvousKey::LengthCoded(number) => cx.messages.exposed(number, peer),
        RendezvousKey::Memory(_) | RendezvousKey::Stream(_) => None,
    }
}

impl BulkTx {
    /// The peer wants to receive on this port of a rail.
    pub fn open(&mut self, cx: &mut Context<'_>, peer: Peer, rail: u8, port: u16) {
        let to = sockets::address_of(cx, peer, rail, port);
        let opened =
            sockets::open(cx, peer, rail).zip(to).filter(|(opened, to)| opened.socket.connect(*to).is_ok());
        self.active = None;
        self.socket = opened.map(|(opened, _)| opened.socket);
        let message = match &self.socket {
            Some(socket) => ControlMessage::Opened { port: socket.local().port() },
            None => ControlMessage::Refused,
        };
        tell(cx, peer, &message);
    }

    /// The peer is ready for a round, or misses some of it.
    pub fn handle(&mut self, cx: &mut Context<'_>, peer: Peer, message: &ControlMessage) {
        match message {
            ControlMessage::Pull { round, key, offset, len, sizes } => {
                let shape = exposed(cx, *key, peer).and_then(|send| {
                    let end = offset.checked_add(*len).filter(|end| *end <= send.memory.len())?;
                    Round::new(*sizes, end - offset).map(|round| (round, send.memory.len()))
                });
                let Some((shape, message)) = shape.filter(|_| self.socket.is_some()) else {
                    self.active = None;
                    return tell(cx, peer, &ControlMessage::Gone { round: *round });
                };
                let pace = cx.record(peer).and_then(|record| cx.net.pace(record, message));
                // If the last round has not used up its time, this one begins later.
                let next = self.active.as_ref().map_or(0, |active| active.next).max(cx.now.0);
                let (round_tx, checks) = (RoundTx::new(shape), Vec::with_capacity(shape.packets().into()));
                let (number, key, offset) = (*round, *key, *offset);
                self.active = Some(Active { number, key, offset, round_tx, checks, pace, next, due: true });
            }
            ControlMessage::Resend { round, pass, missing } => {
                let active = self.active.as_mut().filter(|active| active.number == *round);
                if let Some(active) = active {
                    active.due |= active.round_tx.resend(*pass, missing);
                }
            }
            _ => {}
        }
    }

    /// Sends what may be sent now. True if something was.
    pub fn poll(&mut self, cx: &mut Context<'_>, shared: &mut Shared, peer: Peer) -> bool {
        let (Some(socket), Some(active)) = (&mut self.socket, &mut self.active) else { return false };
        let now = cx.now;
        let mut any = false;
        for _ in 0..bulk::TX_BATCHES {
            if !active.due || now.0 < active.next {
                break;
            }
            let base = exposed(cx, active.key, peer).and_then(|send| send.memory.contiguous());
            let Some(base) = base else {
                self.active = None;
                break;
            };
            let first = base.wrapping_add(active.offset as usize);
            // SAFETY: the send has not completed, so its memory can be read; that the round is inside was
            // tested when it began.
            let Some(sent) = (unsafe { active.send_pass(socket, first, now) }) else {
                // The kernel has no room now.
                active.next = active.next.max(now.0 + bulk::RETRY_NS);
                break;
            };
            any = true;
            shared.counters.sent_bytes += sent;
            if !active.due {
                let first_pass = active.round_tx.pass() == 1;
                let checks = if first_pass { std::mem::take(&mut active.checks) } else { Vec::new() };
                tell(
                    cx,
                    peer,
                    &ControlMessage::Sent { round: active.number, pass: active.round_tx.pass(), checks },
                );
            }
        }
        any
    }

    /// When something is to be done though nothing arrives, ns.
    pub fn deadline(&self) -> Option<u64> {
        self.active.as_ref().filter(|active| active.due).map(|active| active.next)
    }
}

impl Active {
    /// Sends one batch of the round whose first byte is at `base`. Gives the bytes sent; `None` if the kernel
    /// has no room.
    ///
    /// # Safety
    /// The round's bytes can be read.
    unsafe fn send_pass(&mut self, socket: &mut BulkSocket, base: *mut u8, now: Time) -> Option<u64> {
        let round = *self.round_tx.round();
        let mut room = self.pace.map_or(u64::MAX, |pace| pace.slack);
        let mut pieces = [Piece { ptr: std::ptr::null_mut(), len: 0 }; bulk::BATCH];
        let mut count = 0;
        for seq in self.round_tx.next(bulk::BATCH) {
            let place = round.place(seq);
            if count > 0 && room < place.len() as u64 {
                break;
            }
            room = room.saturating_sub(place.len() as u64);
            pieces[count] = Piece { ptr: base.wrapping_add(place.start), len: place.len() };
            if usize::from(seq) == self.checks.len() && self.round_tx.pass() == 0 {
                // SAFETY: as the caller promises.
                let bytes = unsafe { std::slice::from_raw_parts(pieces[count].ptr, place.len()) };
                self.checks.push(crc32c::crc32c(bytes));
            }
            count += 1;
        }
        // SAFETY: as the caller promises.
        let sent = match unsafe { socket.send(&pieces[..count]) } {
            Ok(0) => return None,
            Ok(sent) => sent,
            Err(error) => match error.raw_os_error() {
                Some(nix::libc::EAGAIN | nix::libc::ENOBUFS | nix::libc::ENOMEM | nix::libc::EINTR) => {
                    return None;
                }
                // Whatever the error is (an old refusal, a cable that is gone): the packet is lost, and the
                // receiver decides what follows.
                _ => 1,
            },
        };
        let bytes = pieces[..sent].iter().map(|piece| piece.len as u64).sum();
        if let Some(pace) = self.pace {
            self.next = self.next.max(now.0.saturating_sub(pace.time_of(pace.slack))) + pace.time_of(bytes);
        }
        self.due = !self.round_tx.sent(sent);
        Some(bytes)
    }
}
