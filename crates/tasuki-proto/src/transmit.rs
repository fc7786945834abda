//! What a connection sends next: probes, pings and replies, then data, then acknowledgements by themselves.

use tasuki_tuning::packets;
use tasuki_wire::{Frame, PacketBuilder};

use crate::conn::{Conn, Context};
use crate::event::Transmit;
use crate::path::floor_len;
use crate::stats::RailState;
use crate::tx_packet::TxPacket;
use crate::upcalls::Upcalls;

impl Conn {
    /// Writes the next packet; `None` if nothing is to be sent now. A packet of the peer, a time-out, `wake`
    /// or a change of the rails can change that.
    pub fn transmit(
        &mut self,
        packet: &mut [u8],
        cx: &mut Context<'_>,
        upcalls: &mut impl Upcalls,
    ) -> Option<Transmit> {
        if self.refusal_due.is_some() {
            return self.send_refuse(packet, cx);
        }
        self.take_deferred_ack(cx, upcalls);
        if self.refused_by_peer || self.given_up.is_some() {
            return None;
        }
        if !self.is_open() {
            return self.send_hello(packet, cx, upcalls);
        }
        if self.welcome_due
            && let Some(transmit) = self.send_data(packet, cx, upcalls)
        {
            return Some(transmit);
        }
        for at in 0..self.paths.len() {
            let path = &self.paths[at];
            let duty = path.probe.due || path.ping_due || !path.replies.is_empty();
            if duty && let Some(transmit) = self.send_duty(at, packet, cx, upcalls) {
                return Some(transmit);
            }
        }
        if let Some(transmit) = self.send_data(packet, cx, upcalls) {
            return Some(transmit);
        }
        self.send_acks(packet, cx)
    }

    fn send_duty(
        &mut self,
        at: usize,
        packet: &mut [u8],
        cx: &mut Context<'_>,
        upcalls: &mut impl Upcalls,
    ) -> Option<Transmit> {
        if !self.paths[at].replies.is_empty() {
            return self.send_reply(at, packet, cx);
        }
        if self.paths[at].probe.due {
            return self.send_probe(at, packet, cx);
        }
        self.send_ping(at, packet, cx, upcalls)
    }

    fn send_probe(&mut self, at: usize, packet: &mut [u8], cx: &mut Context<'_>) -> Option<Transmit> {
        if self.paths[at].state == RailState::Off {
            self.paths[at].probe.due = false;
            return None;
        }
        let (nonce, len) = self.next_probe(at, cx);
        // A probe carries nothing else, because it may well be lost. It is not counted as in flight: probes
        // have a timer of their own.
        let (mut builder, tx) = self.begin(at, len, packet)?;
        builder.push(&Frame::Probe { nonce }).ok()?;
        builder.pad_to(len).ok()?;
        self.commit(builder, tx, cx)
    }

    fn send_reply(&mut self, at: usize, packet: &mut [u8], cx: &mut Context<'_>) -> Option<Transmit> {
        let reply = self.reply_frame(at)?;
        let over = match self.paths[at].state {
            RailState::Off | RailState::Down => self.best_responsive().unwrap_or(at),
            RailState::Unproven | RailState::Up => at,
        };
        let (mut builder, mut tx) = self.begin(over, floor_len(self.paths[over].id.lane), packet)?;
        builder.push(&reply).ok()?;
        self.push_acks(&mut builder, &mut tx, cx);
        tx.acknowledges = 0;
        self.commit(builder, tx, cx)
    }

    /// Asks a silent path for a sign of life. Data goes with the ping only if no other path is responsive.
    fn send_ping(
        &mut self,
        at: usize,
        packet: &mut [u8],
        cx: &mut Context<'_>,
        upcalls: &mut impl Upcalls,
    ) -> Option<Transmit> {
        self.paths[at].ping_due = false;
        if !self.paths[at].is_up() {
            return None;
        }
        if self.closing.is_some() {
            self.owe_all_acks();
        }
        // A ping is short: the path may be silent because it does not pass long packets any more.
        let (mut builder, mut tx) = self.begin(at, floor_len(self.paths[at].id.lane), packet)?;
        builder.push(&Frame::Ping).ok()?;
        tx.says.ping = true;
        self.push_acks(&mut builder, &mut tx, cx);
        // Only data goes with a ping, never the welcome or the list of rails: their path is chosen by
        // `guess_path`, because the peer may never hear them on this one.
        if !self.paths.iter().any(|path| path.is_responsive()) {
            self.pack_frames(at, &mut builder, cx, upcalls);
        }
        self.commit(builder, tx, cx)
    }

    fn send_data(
        &mut self,
        packet: &mut [u8],
        cx: &mut Context<'_>,
        upcalls: &mut impl Upcalls,
    ) -> Option<Transmit> {
        let parting = self.must_confirm();
        let news = self.welcome_due || self.rails_due || parting;
        if !news && !self.has_data(cx, upcalls) {
            return None;
        }
        // News (welcome, list of rails, confirmation before closing) is short and urgent, so it does not wait
        // for room in a window. Nor does it go over a path that has timed out, even if that is the only one
        // that is up: the peer may be waiting for the news, and until it comes answer nothing on the other
        // paths.
        let at = match self.choose_path(cx) {
            Some(at) if !news || self.paths[at].is_responsive() => at,
            _ if news => self.guess_path()?,
            _ => return None,
        };
        // The length that a path has proven to pass counts as long as both ends have the rail.
        let path = &self.paths[at];
        let asks = self.welcome_due && path.may_ask_by_greeting();
        let most = match path.state {
            RailState::Off => floor_len(path.id.lane),
            _ if asks => path.heard_len.min(path.full_len),
            _ => path.proven_len,
        };
        let (mut builder, mut tx) = self.begin(at, most, packet)?;
        self.push_news(&mut builder, &mut tx, cx);
        if parting {
            self.owe_all_acks();
        }
        // On a path whose acknowledgements are missing every packet is a ping: the peer answers the second of
        // several in a row over paths that it has not proven, too, which may be the only ones that lead back.
        if parting || self.paths[at].pto_streak > 0 {
            builder.push(&Frame::Ping).ok()?;
            tx.says.ping = true;
        }
        self.push_acks(&mut builder, &mut tx, cx);
        if parting {
            // If not all acknowledgements fitted, the others follow in packets of their own; the closing
            // state covers their loss.
            tx.acknowledges = self.content;
        }
        self.pack_frames(at, &mut builder, cx, upcalls);
        if asks {
            let _ = builder.pad_to(most);
        }
        self.commit(builder, tx, cx)
    }

    /// Adds the welcome and the list of rails if they are due. They are repeated until the peer is known to
    /// have them.
    fn push_news(&mut self, builder: &mut PacketBuilder<'_>, tx: &mut TxPacket, cx: &Context<'_>) {
        if self.welcome_due && builder.push(&Frame::Welcome(self.greeting(cx.local, cx.config))).is_ok() {
            self.welcome_due = false;
            tx.says.welcome = true;
        }
        if self.rails_due && builder.push(&Frame::Rails(self.own_rails())).is_ok() {
            self.rails_due = false;
            tx.says.rails = true;
        }
    }

    /// What has arrived on all paths is acknowledged once more, in the next packet or, where it has no room,
    /// in packets of their own.
    pub fn owe_all_acks(&mut self) {
        for path in self.paths.iter_mut().filter(|path| path.received.any()) {
            (path.owed.pending, path.owed.now) = (true, true);
        }
    }

    /// Whether a closing connection must still tell the peer, in a packet that asks for an answer, that
    /// everything of the peer's has arrived.
    pub fn must_confirm(&self) -> bool {
        self.closing.is_some() && self.outbox.is_empty() && self.content_acked < self.content
    }

    fn send_acks(&mut self, packet: &mut [u8], cx: &mut Context<'_>) -> Option<Transmit> {
        for at in 0..self.paths.len() {
            let owed = &mut self.paths[at].owed;
            let over = if owed.everywhere != 0 {
                let over = owed.everywhere.trailing_zeros() as usize;
                if self.paths.get(over).is_none_or(|path| path.state == RailState::Off) {
                    self.paths[at].owed.everywhere &= !(1 << over);
                    continue;
                }
                over
            } else if owed.pending && owed.now {
                self.ack_path(at)
            } else {
                continue;
            };
            let (mut builder, mut tx) = self.begin(over, floor_len(self.paths[over].id.lane), packet)?;
            self.push_acks(&mut builder, &mut tx, cx);
            tx.acknowledges = 0;
            if builder.is_empty() {
                // No packet has arrived that an acknowledgement could name.
                self.paths[at].owed.now = false;
                self.paths[at].owed.everywhere = 0;
                continue;
            }
            return self.commit(builder, tx, cx);
        }
        None
    }

    //= docs/reference/wire.md#greeting
    //# More frames may follow in the same packet: the first message need not wait for the welcome.
    fn send_hello(
        &mut self,
        packet: &mut [u8],
        cx: &mut Context<'_>,
        upcalls: &mut impl Upcalls,
    ) -> Option<Transmit> {
        if self.paths.is_empty() {
            return None;
        }
        if self.hello_at.is_none() && !self.hello_due {
            if !self.has_data(cx, upcalls) {
                return None;
            }
            self.hello_path = self.next_hello_path(self.hello_path);
        } else if !self.hello_due {
            let full = self.paths[self.hello_path].in_flight >= packets::HELLO_WINDOW;
            if full || !self.has_data(cx, upcalls) || self.data_waits_for_welcome {
                return None;
            }
        }
        let at = self.hello_path;
        if self.paths[at].state == RailState::Off {
            // All rails are off, or this one has gone: try again later.
            self.hello_due = false;
            self.hello_at = Some(cx.now.after_ns(self.hello_wait_ns(cx)));
            return None;
        }
        // The first hello is padded to the MTU, to find out whether the rail passes that length. If it gets
        // no answer, its length may be the reason, so later ones are short.
        let long = self.hellos == 0 && self.hello_at.is_none();
        let most = if long { self.paths[at].full_len } else { floor_len(self.paths[at].id.lane) };
        let (mut builder, mut tx) = self.begin(at, most, packet)?;
        builder.push(&Frame::Hello(self.greeting(cx.local, cx.config))).ok()?;
        tx.says.welcome = true;
        self.pack_frames(at, &mut builder, cx, upcalls);
        if long {
            // If the caller's buffer is too small for that, the packet stays short.
            let _ = builder.pad_to(most);
        }
        // If no frame was added, the next one does not fit beside the hello.
        self.data_waits_for_welcome = self.paths[at].sent.added() == 0;
        if self.hello_at.is_none() {
            self.hello_at = Some(cx.now.after_ns(self.hello_wait_ns(cx)));
        }
        self.hello_due = false;
        self.commit(builder, tx, cx)
    }

    fn send_refuse(&mut self, packet: &mut [u8], cx: &mut Context<'_>) -> Option<Transmit> {
        let reason = self.refusal_due.take()?;
        self.expired = self.given_up.is_none();
        let at = self.hello_path;
        let most = floor_len(self.paths.get(at)?.id.lane);
        let (mut builder, tx) = self.begin(at, most, packet)?;
        builder.push(&Frame::Refuse { incarnation: self.remote.incarnation, reason }).ok()?;
        self.commit(builder, tx, cx)
    }
}
