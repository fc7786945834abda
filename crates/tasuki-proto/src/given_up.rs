//! Connections that this side has given up: they carry nothing any more. A peer that is taken for dead may be
//! alive, and would wait for ever, so what is kept of such a connection tells the peer: a few times unasked,
//! and in answer to whatever it sends.

use tasuki_tuning::given_up;
use tasuki_wire::{DropReason, Frame, Greeting, Packet, Path as PathId, Rails, RefuseReason};

use crate::config::Config;
use crate::conn::{Conn, Context};
use crate::defect::Defect;
use crate::ids::ConnId;
use crate::interval::IntervalSet;
use crate::outbox::Outbox;
use crate::path::Path;
use crate::proto::Proto;
use crate::received::Received;
use crate::rtt::ns;
use crate::time::Time;
use crate::upcalls::Upcalls;

/// What the peer of such a connection has been told.
pub(crate) struct GivenUp {
    /// How often it has been told unasked.
    told: u32,
    /// When to tell it unasked the next time.
    pub tell_at: Option<Time>,
    /// How often it has been answered.
    answers: usize,
    /// It gets no answer before this time.
    answer_at: Time,
}

impl Proto {
    /// Ends a connection at once: releases all payload and forgets the connection. The peer is not told, and
    /// its next hello with another name is that of a new connection.
    pub fn abort(&mut self, conn: ConnId, upcalls: &mut impl Upcalls) {
        if let Some(found) = self.table.get_mut(conn) {
            found.reports_closed = false;
            self.end(conn, upcalls);
        }
    }

    /// Ends a connection at once for the layer above, because the peer seems dead or broke the protocol:
    /// releases all payload. Should the peer live, it is told ([`crate::Event::Refused`]), and its hellos are
    /// refused. The id stays known to [`Proto::remote_rail`], and packets of it may follow.
    pub fn give_up(&mut self, now: Time, conn: ConnId, upcalls: &mut impl Upcalls) {
        self.now = now;
        let silently = self.plant.is(Defect::GivesUpSilently);
        let Some(found) = self.table.get_mut(conn) else { return };
        // A peer that has refused the connection knows more than it could be told.
        if found.refused_by_peer || found.is_refusal || found.expired || silently {
            return self.abort(conn, upcalls);
        }
        found.outbox.abandon().for_each(|payload| upcalls.released(conn, &payload));
        retire(found, now);
        tell_unasked(found, &self.config, now);
        Self::reschedule(found, &mut self.next_deadline, &mut self.ready);
        self.table.give_up(conn);
    }
}

/// Forgets all that is needed no more.
fn retire(conn: &mut Conn, now: Time) {
    (conn.closing, conn.reports_closed) = (None, false);
    (conn.hello_at, conn.hello_due) = (None, false);
    (conn.welcome_due, conn.rails_due, conn.deferred_ack) = (false, false, None);
    (conn.outbox, conn.seen, conn.ack_runs) = (Outbox::default(), IntervalSet::default(), Vec::new());
    conn.paths.iter_mut().for_each(Path::retire);
    conn.hello_path = conn.current;
    // One whose name for the connection is not known cannot be told before it has sent something.
    let tell_at = conn.is_open().then_some(now);
    conn.given_up = Some(GivenUp { told: 0, tell_at, answers: 0, answer_at: now });
}

/// Makes a refuse due if it is time to tell the peer unasked; returns whether it is. It goes over all
/// rails in turn.
pub(crate) fn tell_unasked(conn: &mut Conn, config: &Config, now: Time) -> bool {
    let from = conn.hello_path;
    let Some(given_up) = conn.given_up.as_mut().filter(|one| one.tell_at.is_some_and(|at| at <= now)) else {
        return false;
    };
    let step = usize::from(given_up.told > 0);
    let pause = ns(config.initial_pto).saturating_mul(1 << given_up.told.min(16));
    given_up.told += 1;
    given_up.tell_at = (given_up.told < given_up::TOLD_MAX).then(|| now.after_ns(pause));
    refuse_over(conn, from + step);
    true
}

/// Makes a refuse due, which goes over the first path from `from` on, in cyclic order, of which the peer
/// has an end. If there is none it is not sent. Whether this side has one too does not matter: nobody tells
/// a connection that was given up when its NICs come back.
fn refuse_over(conn: &mut Conn, from: usize) {
    let count = conn.paths.len().max(1);
    let leads = |id: PathId| conn.theirs.iter().any(|end| end.rail == id.rail && end.lanes.contains(id.lane));
    let usable = |at: &usize| conn.paths.get(*at).is_some_and(|path| leads(path.id));
    let found = (0..count).map(|step| (from + step) % count).find(usable);
    if let Some(at) = found {
        (conn.hello_path, conn.refusal_due) = (at, Some(RefuseReason::GivenUp));
    }
}

//= docs/reference/wire.md#greeting
//# A refuse gets no answer.
/// Takes a packet of the peer of a connection that was given up.
pub(crate) fn answer(conn: &mut Conn, packet: &Packet<'_>, cx: &mut Context<'_>) -> Result<(), DropReason> {
    let mut knows = false;
    for frame in packet.frames() {
        match frame {
            Frame::Hello(greeting) | Frame::Welcome(greeting) => {
                take_name(conn, &greeting, cx)?;
                take_rails(conn, &greeting.rails, cx);
            }
            Frame::Rails(rails) => take_rails(conn, &rails, cx),
            Frame::Refuse { .. } => knows = true,
            _ => {}
        }
    }
    let (id, number) = (packet.header().path, packet.header().number);
    let at = conn.path_or_new(id, cx.config);
    if conn.paths[at].received.contains(number) {
        return Err(DropReason::Duplicate);
    }
    conn.paths[at].received.insert(number);
    let is_open = conn.is_open();
    let Some(given_up) = &mut conn.given_up else { return Ok(()) };
    if knows {
        given_up.tell_at = None;
    } else if is_open && given_up.answer_at <= cx.now {
        given_up.answer_at = cx.now.after_ns(given_up::ANSWER_PAUSE_NS);
        // A rail may carry packets in one direction alone, so every second answer goes over others in turn.
        let turn = given_up.answers / 2;
        let from = if given_up.answers.is_multiple_of(2) { at } else { turn };
        given_up.answers = given_up.answers.wrapping_add(1);
        refuse_over(conn, from);
    }
    Ok(())
}

/// Takes the peer's name for the connection from a greeting, by which it can be answered.
fn take_name(conn: &mut Conn, greeting: &Greeting<'_>, cx: &Context<'_>) -> Result<(), DropReason> {
    if !cx.plant.is(Defect::AnyIncarnation) {
        greeting.check(cx.local.incarnation, &cx.local.secret)?;
    }
    if greeting.name == conn.peer_name {
        return Ok(());
    }
    if greeting.incarnation != conn.remote.incarnation || knows_newer_name(conn, greeting) {
        return Err(DropReason::Peer);
    }
    if conn.is_open() {
        // The peer has begun another connection, whose packets are counted anew.
        conn.paths.iter_mut().for_each(|path| path.received = Received::default());
    }
    conn.peer_name = greeting.name;
    conn.remote.secret = greeting.secret;
    conn.their_change = 0;
    Ok(())
}

/// Takes the peer's list of rails, over which it can be told: it may have come in the meantime by others.
fn take_rails(conn: &mut Conn, rails: &Rails<'_>, cx: &Context<'_>) {
    if conn.learn_rails(rails) {
        conn.update_paths(cx.config, &mut Vec::new());
    }
}

/// Whether the name in a greeting is older than the one that is known. Names count up, so such a greeting
/// was long on its way.
pub(crate) fn knows_newer_name(conn: &Conn, greeting: &Greeting<'_>) -> bool {
    conn.is_open() && (greeting.name >> 16).wrapping_sub(conn.peer_name >> 16) & 0xffff >= 0x8000
}
