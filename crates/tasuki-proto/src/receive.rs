//! Processing of a packet from a known peer.

use tasuki_tuning::{ack, packets, rails};
use tasuki_wire::{Brief, Data, DropReason, Frame, Greeting, Packet};

use crate::conn::{Conn, Context, FIRST_CHANGE};
use crate::defect::Defect;
use crate::deferred_ack::DeferredAck;
use crate::event::Event;
use crate::path::Path;
use crate::received::Arrival;
use crate::rtt::ns;
use crate::stats::RailState;
use crate::upcalls::Upcalls;

impl Conn {
    /// Processes a packet that is addressed to this endpoint and comes from this peer.
    pub fn receive(
        &mut self,
        packet: &Packet<'_>,
        cx: &mut Context<'_>,
        upcalls: &mut impl Upcalls,
    ) -> Result<(), DropReason> {
        self.take_deferred_ack(cx, upcalls);
        let (id, number) = (packet.header().path, packet.header().number);
        let at = self.path_or_new(id, cx.config);
        let book = if cx.plant.is(Defect::SharedNumbers) { 0 } else { at };
        if self.paths[book].received.contains(number) {
            return Err(DropReason::Duplicate);
        }
        let judged = self.validate(packet, cx);
        if judged.is_err() && !cx.plant.is(Defect::AckDropped) {
            return judged;
        }
        let arrival = self.paths[book].received.insert(number);
        let path = &mut self.paths[at];
        path.heard_len = path.heard_len.max(usize::from(packet.length()));
        self.peer_knows |= packet.header().peer != 0;
        let mut asks = Asks::default();
        if judged.is_ok() {
            for frame in packet.frames() {
                asks.note(&frame);
                asks.content |= self.take_frame(at, &frame, packet.length(), cx, upcalls);
            }
        } else {
            asks.eliciting = true;
        }
        self.note_arrival(at, number, packet.length(), arrival, &asks, cx);
        judged
    }

    /// Like [`Conn::receive`], for a packet of the most frequent kind. If `defers_ack`, and the packet brings
    /// a message, the processing of its acknowledgement may be deferred. `None`: nothing has been done, and
    /// the packet must be processed by `receive`.
    pub fn receive_brief(
        &mut self,
        brief: &Brief<'_>,
        defers_ack: bool,
        cx: &mut Context<'_>,
        upcalls: &mut impl Upcalls,
    ) -> Option<Result<(), DropReason>> {
        let at = self.find_path(brief.header.path)?;
        let number = brief.header.number;
        if !self.is_open() || self.seen.gaps() >= cx.config.max_gaps || !cx.plant.is_none() {
            return None;
        }
        if self.paths[at].received.contains(number) {
            return Some(Err(DropReason::Duplicate));
        }
        let arrival = self.paths[at].received.insert(number);
        self.peer_knows = true;
        if let Some(ack) = &brief.ack {
            self.take_deferred_ack(cx, upcalls);
            let deferred = defers_ack && brief.start.is_some();
            self.deferred_ack = if deferred { DeferredAck::new(ack, cx.now) } else { None };
            if self.deferred_ack.is_none() {
                self.on_ack(ack, cx, upcalls);
            }
        }
        let mut content = false;
        if let Some(start) = &brief.start {
            content = self.seen.insert(start.position, start.position + 1) > 0;
            if content {
                upcalls.deliver(self.id, &Frame::Start(*start));
            }
        }
        if let Some(data) = &brief.data {
            self.take_deferred_ack(cx, upcalls);
            content |= self.take_data(data, cx, upcalls);
        }
        let eliciting = brief.start.is_some() || brief.data.is_some();
        let asks = Asks { eliciting, ping: false, content };
        self.note_arrival(at, number, brief.length, arrival, &asks, cx);
        Some(Ok(()))
    }

    /// Updates the state that depends on the arrival of a packet rather than on its frames.
    fn note_arrival(
        &mut self,
        at: usize,
        number: u64,
        length: u16,
        arrival: Arrival,
        asks: &Asks,
        cx: &mut Context<'_>,
    ) {
        self.welcome_due &= !self.peer_knows;
        self.content += u64::from(asks.content);
        self.note_use(cx.config);
        // If no path is up, the one on which the peer was heard last is the best guess, as it is after a
        // greeting.
        let unsure = matches!(self.paths[at].state, RailState::Unproven | RailState::Down);
        if unsure && self.is_open() && !self.paths.iter().any(Path::is_up) {
            self.mark_up(at, cx);
        }
        let path = &mut self.paths[at];
        if asks.content {
            path.owed.content = self.content;
        }
        path.stats.received_packets += 1;
        path.stats.received_bytes += u64::from(length);
        // The peer was heard, so it can perhaps hear this side again.
        if path.pto_streak > 0
            && cx.now.since_ns(path.last_sent) > path.rtt.pto_ns(cx.config, self.peer_delay_ns)
        {
            path.ping_due = true;
        }
        self.schedule_ack(at, number, length, arrival, asks, cx);
    }

    /// Checks a well-formed packet. Nearly all packets pass at the first condition.
    fn validate(&self, packet: &Packet<'_>, cx: &Context<'_>) -> Result<(), DropReason> {
        // Upper bound of the frames with a position: the smallest has three bytes.
        let frames = usize::from(packet.length()) / 3;
        if self.is_open() && self.seen.gaps() + frames <= cx.config.max_gaps {
            return Ok(());
        }
        let (mut gaps, mut end, mut has_lowest) = (self.seen.gaps(), u64::MAX, false);
        for frame in packet.frames() {
            if let Frame::Hello(greeting) | Frame::Welcome(greeting) = &frame
                && !cx.plant.is(Defect::AnyIncarnation)
            {
                greeting.check(cx.local.incarnation, &cx.local.secret)?;
            }
            if let Some((position, len)) = frame.positions() {
                let grows = position != end && self.seen.would_grow(position, position + len);
                gaps += usize::from(grows);
                end = position + len;
                has_lowest |= position <= self.seen.base();
            }
        }
        // A packet with the lowest missing position is never refused for what else it brings, or the
        // connection could stop for ever. What is lowest for the sender has arrived here, perhaps, and the
        // acknowledgement was lost: then the sender sends it again and again until it is acknowledged.
        let most = cx.config.max_gaps + if has_lowest { packets::GAPS_WITH_LOWEST } else { 0 };
        if gaps > most && gaps > self.seen.gaps() { Err(DropReason::Position) } else { Ok(()) }
    }

    /// Processes one frame; returns whether it has brought content that had not come before.
    fn take_frame(
        &mut self,
        at: usize,
        frame: &Frame<'_>,
        length: u16,
        cx: &mut Context<'_>,
        upcalls: &mut impl Upcalls,
    ) -> bool {
        match frame {
            Frame::Padding(_) | Frame::Ping => {}
            Frame::Ack(ack) => self.on_ack(ack, cx, upcalls),
            Frame::Hello(greeting) => self.on_greeting(at, greeting, true, cx),
            Frame::Welcome(greeting) => self.on_greeting(at, greeting, false, cx),
            Frame::Refuse { incarnation, reason } => {
                if *incarnation == cx.local.incarnation && !self.refused_by_peer {
                    self.refused_by_peer = true;
                    cx.events.push_back(Event::Refused(self.id, *reason));
                }
            }
            Frame::Rails(rails) => self.on_rails(rails, cx),
            Frame::Probe { nonce } => self.on_probe(at, *nonce, length, cx.now),
            Frame::ProbeReply { nonce, path, length } => self.on_probe_reply(*nonce, *path, *length, cx),
            Frame::Data(data) => return self.take_data(data, cx, upcalls),
            Frame::Start(_) | Frame::Control { .. } => {
                let Some((position, len)) = frame.positions() else { return false };
                let fresh = self.seen.insert(position, position + len) > 0;
                if fresh || cx.plant.is(Defect::NoDedupe) {
                    upcalls.deliver(self.id, frame);
                }
                return fresh;
            }
        }
        false
    }

    /// Delivers the bytes that have not come before; returns whether there were any.
    fn take_data(&mut self, data: &Data<'_>, cx: &Context<'_>, upcalls: &mut impl Upcalls) -> bool {
        let end = data.position + data.payload.len() as u64;
        if cx.plant.is(Defect::NoDedupe) {
            upcalls.deliver(self.id, &Frame::Data(*data));
            return true;
        }
        let mut from = data.position;
        while let Some((low, high)) = self.seen.first_missing(from, end) {
            let (skip, stop) = ((low - data.position) as usize, (high - data.position) as usize);
            let Some(payload) = data.payload.get(skip..stop) else { break };
            let part = Data { position: low, offset: data.offset + skip as u64, payload, ..*data };
            upcalls.deliver(self.id, &Frame::Data(part));
            from = high;
        }
        self.seen.insert(data.position, end) > 0
    }

    fn schedule_ack(
        &mut self,
        at: usize,
        number: u64,
        length: u16,
        arrival: Arrival,
        asks: &Asks,
        cx: &mut Context<'_>,
    ) {
        let path = &mut self.paths[at];
        let owed = &mut path.owed;
        if number >= owed.largest {
            (owed.largest, owed.largest_at) = (number, cx.now);
        }
        if !asks.eliciting {
            return;
        }
        owed.pending = true;
        owed.pings = if asks.ping { owed.pings.saturating_add(1) } else { 0 };
        owed.now |= arrival == Arrival::OutOfOrder || asks.ping;
        let latest = cx.now.after_ns(u64::from(cx.config.max_ack_delay_us) * 1000);
        let mut due = owed.at.unwrap_or(latest);
        if length >= ack::FULL_BYTES {
            owed.full += 1;
            let spacing = ns(cx.config.ack_spacing);
            if owed.full >= cx.config.ack_every {
                due = due.min(owed.acked_at.after_ns(spacing));
            } else if cx.now.since_ns(owed.full_at) <= spacing {
                // This may be the last packet of a message, whose sender then waits for the acknowledgement:
                // it waits no longer than `ack_spacing`.
                due = due.min(cx.now.after_ns(spacing));
            }
            owed.full_at = cx.now;
        } else {
            owed.small += 1;
            owed.now |= owed.small >= cx.config.ack_every_small;
        }
        owed.now |= due <= cx.now;
        owed.at = Some(due);
        if asks.ping && !cx.plant.is(Defect::AckSameRail) {
            self.ack_everywhere(at);
        }
        if cx.plant.is(Defect::NoPureAck) {
            (self.paths[at].owed.now, self.paths[at].owed.at) = (false, None);
        }
    }

    /// A ping says that the peer has missed acknowledgements: the way back on this rail may be dead though
    /// packets arrive on it. So the answer goes over all responsive paths, and later acknowledgements over a
    /// path other than the last. The path of the ping itself is among those of the answer, and from the
    /// second ping in a row on so are paths that are down or have never answered: if every rail works in one
    /// direction only, their ways back are all there is.
    fn ack_everywhere(&mut self, at: usize) {
        let mut mask = 0u32;
        let again = self.paths[at].owed.pings > 1;
        for (other, path) in self.paths.iter().enumerate().take(32) {
            let asked = path.is_responsive() || other == at || again;
            mask |= u32::from(asked && path.state != RailState::Off) << other;
        }
        let last = self.paths[at].owed.via.unwrap_or(at);
        let count = self.paths.len();
        let turn = (1..=count).map(|step| (last + step) % count);
        let via =
            turn.into_iter().find(|other| self.paths[*other].is_responsive() && !self.is_last_resort(*other));
        let owed = &mut self.paths[at].owed;
        owed.everywhere = mask;
        owed.via = via;
    }

    /// Takes a hello or a welcome of the peer; the first one opens the connection.
    pub fn on_greeting(&mut self, at: usize, greeting: &Greeting<'_>, hello: bool, cx: &mut Context<'_>) {
        let valid = greeting.check(cx.local.incarnation, &cx.local.secret).is_ok();
        if !valid && !cx.plant.is(Defect::AnyIncarnation) {
            return;
        }
        if greeting.incarnation != self.remote.incarnation {
            return;
        }
        if hello && !self.peer_knows {
            self.welcome_due |= !(cx.plant.is(Defect::WelcomeOnce) && self.is_open());
        }
        if self.is_open() {
            if greeting.name == self.peer_name {
                self.on_rails(&greeting.rails, cx);
            }
            return;
        }
        self.peer_name = greeting.name;
        self.remote.secret = greeting.secret;
        self.peer_delay_ns = u64::from(greeting.ack_delay_us).saturating_mul(1000).min(1_000_000_000);
        self.theirs = greeting.rails.list.iter().collect();
        self.their_change = greeting.rails.change;
        (self.hello_at, self.hello_due) = (None, false);
        // If this side's list of rails has changed, the hello that was answered may have named the old one.
        self.rails_due |= self.own_change > FIRST_CHANGE;
        cx.events.push_back(Event::Connected(self.id));
        self.open_paths(at, cx);
    }

    /// The path on which the greeting came is up; the others must answer a probe first. What was in flight on
    /// those is sent again.
    fn open_paths(&mut self, at: usize, cx: &mut Context<'_>) {
        self.rails_changed(cx);
        for other in 0..self.paths.len() {
            if other != at && self.paths[other].flights > 0 {
                self.requeue_in_flight(other, cx);
            }
            if cx.plant.is(Defect::NoProbe) && self.paths[other].state == RailState::Unproven {
                self.mark_up(other, cx);
            }
        }
        self.current = at;
        if !self.paths[at].is_up() {
            self.mark_up(at, cx);
        }
        let path = &mut self.paths[at];
        if path.may_ask_by_greeting() {
            // The padded greeting tests the MTU of this path; a probe follows only if that gets no answer.
            (path.probe.due, path.probe.at) = (false, Some(cx.now + rails::GREETING_ANSWERED));
        }
        if path.flights > 0 {
            path.pto_at = Some(cx.now.after_ns(path.pto_ns(cx.config, self.peer_delay_ns)));
        }
    }
}

/// What the frames of a packet ask of the receiver.
#[derive(Default)]
struct Asks {
    eliciting: bool,
    ping: bool,
    /// It brought something that had not come before. Content that comes once more was acknowledged before:
    /// the peer knows that, or will ask again. If repeated content counted here, a closing connection would
    /// wait for a confirmation from a peer that has already gone.
    content: bool,
}

impl Asks {
    fn note(&mut self, frame: &Frame<'_>) {
        self.eliciting |= frame.asks_for_ack();
        self.ping |= matches!(frame, Frame::Ping);
    }
}
