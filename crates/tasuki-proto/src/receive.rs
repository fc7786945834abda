//! A packet of a known peer.

use std::time::Duration;

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

/// A packet of more bytes than this is part of a stream.
const FULL: u16 = 1000;

/// Gaps beyond the limit that are accepted with the position that is waited for.
const GAPS_IN_PASSING: usize = 4096;

/// A greeting that asks what length its rail passes was answered by then: with more processes than processors an answer takes its time.
const GREETING_ANSWERED: Duration = Duration::from_millis(50);

impl Conn {
    /// Takes a packet that is ours and from this peer.
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
        let judged = self.judge(packet, cx);
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

    /// The same with a packet of the most frequent kind; `hurried`: what it acknowledges may be put off if it brings a message. `None`: nothing has happened, and it must be received as any other.
    pub fn receive_brief(
        &mut self,
        brief: &Brief<'_>,
        hurried: bool,
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
            let waits = hurried && brief.start.is_some();
            self.deferred_ack = if waits { DeferredAck::new(ack, cx.now) } else { None };
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

    /// What follows from a packet besides its frames.
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
        // Without any rail that is up, the one that was heard last is the best guess, as with a greeting.
        let unsure = matches!(self.paths[at].state, RailState::Unproven | RailState::Down);
        if unsure && self.is_open() && !self.paths.iter().any(Path::is_up) {
            self.raise(at, cx);
        }
        let path = &mut self.paths[at];
        path.stats.received_packets += 1;
        path.stats.received_bytes += u64::from(length);
        // Who speaks can hear again, perhaps.
        if path.pto_streak > 0
            && cx.now.since_ns(path.last_sent) > path.rtt.pto_ns(cx.config, self.peer_delay_ns)
        {
            path.ping_due = true;
        }
        self.owe(at, number, length, arrival, asks, cx);
    }

    /// What can be wrong with a well-formed packet. Most packets are not looked at twice.
    fn judge(&self, packet: &Packet<'_>, cx: &Context<'_>) -> Result<(), DropReason> {
        // The smallest frame with a position has three bytes.
        let frames = usize::from(packet.length()) / 3;
        if self.is_open() && self.seen.gaps() + frames <= cx.config.max_gaps {
            return Ok(());
        }
        let (mut gaps, mut end, mut fills) = (self.seen.gaps(), u64::MAX, false);
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
                fills |= (position..end).contains(&self.seen.base());
            }
        }
        // What the receiver waits for is never refused for what comes with it, or nothing would ever go on.
        let most = cx.config.max_gaps + if fills { GAPS_IN_PASSING } else { 0 };
        if gaps > most && gaps > self.seen.gaps() { Err(DropReason::Position) } else { Ok(()) }
    }

    /// True if it has brought content that had not come before.
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
                if *incarnation == cx.local.incarnation && !self.is_open() && !self.mute {
                    self.mute = true;
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

    /// Hands up the bytes that have not come before; whether there were any.
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

    fn owe(
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
        let patience = cx.now.after_ns(u64::from(cx.config.max_ack_delay_us) * 1000);
        let mut due = owed.at.unwrap_or(patience);
        if length >= FULL {
            owed.full += 1;
            let spacing = ns(cx.config.ack_spacing);
            if owed.full >= cx.config.ack_every {
                due = due.min(owed.told_at.after_ns(spacing));
            } else if cx.now.since_ns(owed.full_at) <= spacing {
                // Perhaps the last of a message: its sender waits for no more than this.
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
            self.answer_everywhere(at);
        }
        if cx.plant.is(Defect::NoPureAck) {
            (self.paths[at].owed.now, self.paths[at].owed.at) = (false, None);
        }
    }

    /// A ping says that acknowledgements have been missed: the way back may be dead though this rail's way here is
    /// alive. So the answer goes over all rails that live, and from now on over another one. The rail of the ping is among them, and so are, from the second
    /// ping in a row on, those that are dead or have never answered: if every rail works one way only, their ways back are all there is.
    fn answer_everywhere(&mut self, at: usize) {
        let mut mask = 0u32;
        let again = self.paths[at].owed.pings > 1;
        for (other, path) in self.paths.iter().enumerate().take(32) {
            let asked = path.is_lively() || other == at || again;
            mask |= u32::from(asked && path.state != RailState::Off) << other;
        }
        let last = self.paths[at].owed.via.unwrap_or(at);
        let count = self.paths.len();
        let turn = (1..=count).map(|step| (last + step) % count);
        let via =
            turn.into_iter().find(|other| self.paths[*other].is_lively() && !self.is_last_resort(*other));
        let owed = &mut self.paths[at].owed;
        owed.everywhere = mask;
        owed.via = via;
    }

    /// Hello or welcome: the peer is there.
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
        // The hello that was answered may have named the rails of before the last change.
        self.rails_due |= self.own_change > FIRST_CHANGE;
        cx.events.push_back(Event::Connected(self.id));
        self.open_paths(at, cx);
    }

    /// The path of the greeting works; the others must prove it. What was under way on those goes again.
    fn open_paths(&mut self, at: usize, cx: &mut Context<'_>) {
        self.rails_changed(cx);
        for other in 0..self.paths.len() {
            if other != at && self.paths[other].flights > 0 {
                self.abandon_path(other, cx);
            }
            if cx.plant.is(Defect::NoProbe) && self.paths[other].state == RailState::Unproven {
                self.raise(other, cx);
            }
        }
        self.current = at;
        if !self.paths[at].is_up() {
            self.raise(at, cx);
        }
        let path = &mut self.paths[at];
        if path.may_ask_by_greeting() {
            // It is asked by a probe only if that remains without an answer.
            (path.probe.due, path.probe.at) = (false, Some(cx.now + GREETING_ANSWERED));
        }
        if path.flights > 0 {
            path.pto_at = Some(cx.now.after_ns(path.pto_ns(cx.config, self.peer_delay_ns)));
        }
    }
}

/// What a packet's frames ask for.
#[derive(Default)]
struct Asks {
    eliciting: bool,
    ping: bool,
    /// Something that had not come before. What comes once more was acknowledged before, and the peer knows it or will ask again: to make sure
    /// of it when the connection ends would be to wait for a peer that has gone.
    content: bool,
}

impl Asks {
    fn note(&mut self, frame: &Frame<'_>) {
        self.eliciting |= frame.asks_for_ack();
        self.ping |= matches!(frame, Frame::Ping);
    }
}
