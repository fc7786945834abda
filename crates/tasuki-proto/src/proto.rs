//! The interface of the packet layer: the connections of one endpoint, as the layer above uses them.

use std::collections::VecDeque;

use tasuki_wire::{DropReason, Rail, Start};

use crate::config::Config;
use crate::conn::{Conn, Context};
use crate::defect::{Defect, Plant};
use crate::event::{Event, Transmit};
use crate::ids::{ConnId, Local, Remote};
use crate::path::floor_len;
use crate::stats::{Drops, RailStats};
use crate::table::Table;
use crate::time::Time;
use crate::upcalls::Upcalls;
use tasuki_random::Random;
use tasuki_tuning::leaving;

/// All connections of one local endpoint.
///
/// Input goes in by `handle_packet`, `handle_timeout` and `wake`; then `poll_transmit` and `poll_event` must
/// be called until they return `None`, and `deadline` says when to call again.
pub struct Proto {
    pub(crate) local: Local,
    pub(crate) config: Config,
    pub(crate) table: Table,
    pub(crate) drops: Drops,
    pub(crate) events: VecDeque<Event>,
    pub(crate) random: Random,
    /// Connections that may have something to send.
    pub(crate) ready: VecDeque<ConnId>,
    /// Connections with a deferred acknowledgement. It may contain connections whose acknowledgement has been
    /// processed since.
    pub(crate) deferred: Vec<ConnId>,
    /// The latest time that a caller passed in.
    pub(crate) now: Time,
    /// Not later than the earliest deadline of any connection.
    pub(crate) next_deadline: Time,
    /// Closed connections are kept and answer their peers: see [`Proto::keep_closed`].
    keeps_closed: bool,
    pub(crate) plant: Plant,
}

/// Makes the [`Context`] of a call from the fields of [`Proto`] other than the connections, so that a
/// connection can be borrowed beside it.
macro_rules! context {
    ($proto:expr, $now:expr) => {
        Context {
            now: $now,
            config: &$proto.config,
            local: &$proto.local,
            plant: $proto.plant,
            events: &mut $proto.events,
            random: &mut $proto.random,
        }
    };
}
pub(crate) use context;

impl Proto {
    /// An endpoint without connections. Nonces follow from `seed`; two endpoints should not have the same.
    pub fn new(local: Local, config: Config, seed: u64) -> Proto {
        let mut random = Random::new(seed);
        Proto {
            local,
            table: Table::new(random.next_u64() as u32, config.job_key.is_some()),
            config,
            drops: Drops::new(),
            events: VecDeque::new(),
            random,
            ready: VecDeque::new(),
            deferred: Vec::new(),
            now: Time(0),
            next_deadline: Time::NEVER,
            keeps_closed: false,
            plant: Plant::NONE,
        }
    }

    /// Plants a defect in this endpoint, or removes it.
    #[cfg(feature = "defects")]
    pub fn plant(&mut self, defect: Option<Defect>) {
        self.plant = Plant(defect);
    }

    /// Opens a connection to a peer, or returns the existing one. `rails` are this side's ends, numbered as
    /// the peer's are. Nothing is sent before there is a frame to send: see [`Proto::wake`].
    ///
    /// `None` if there are already [`Config::max_connections`].
    pub fn connect(&mut self, now: Time, remote: Remote, rails: &[Rail]) -> Option<ConnId> {
        if let Some(id) = self.find(remote.endpoint, remote.incarnation) {
            return Some(id);
        }
        let id = self.table.reserve(self.config.max_connections)?;
        self.now = now;
        self.table.insert(Conn::new(id, remote, rails, &self.local, &self.config), true);
        Some(id)
    }

    /// The connection to the endpoint with this id and incarnation.
    pub fn find(&self, endpoint: u32, incarnation: u64) -> Option<ConnId> {
        self.table.find(endpoint, incarnation).filter(|id| self.table.get(*id).is_some())
    }

    /// Whether the peer has shown that it has this side's greeting. False for a connection that is unknown.
    pub fn is_met(&self, conn: ConnId) -> bool {
        self.table.get(conn).is_some_and(|conn| conn.peer_knows)
    }

    /// Tells that [`Upcalls::next`] may have a frame for this connection again.
    pub fn wake(&mut self, conn: ConnId) {
        if let Some(found) = self.table.get_mut(conn) {
            found.outbox.more = true;
            Self::enqueue(&mut self.ready, found);
        }
    }

    /// Makes acknowledgements of a connection due that wait for a packet to ride on, because the caller
    /// knows of none. Returns whether there are any.
    pub fn acknowledge(&mut self, conn: ConnId) -> bool {
        let Some(found) = self.table.get_mut(conn) else { return false };
        let mut any = false;
        for owed in found.paths.iter_mut().map(|path| &mut path.owed).filter(|owed| owed.pending) {
            (owed.now, any) = (true, true);
        }
        if any {
            Self::enqueue(&mut self.ready, found);
        }
        any
    }

    pub(crate) fn enqueue(ready: &mut VecDeque<ConnId>, conn: &mut Conn) {
        if !conn.queued {
            conn.queued = true;
            ready.push_back(conn.id);
        }
    }

    /// Whether `poll_transmit` or `poll_event` may have something. Cheap enough to be called all the time.
    pub fn has_work(&self) -> bool {
        !self.ready.is_empty() || !self.events.is_empty()
    }

    /// The next packet to send, written into `packet`, which should have the size of the largest MTU. Call
    /// until `None`.
    pub fn poll_transmit(
        &mut self,
        now: Time,
        packet: &mut [u8],
        upcalls: &mut impl Upcalls,
    ) -> Option<Transmit> {
        self.now = now;
        while let Some(&id) = self.ready.front() {
            let Some(conn) = self.table.kept_mut(id) else {
                self.ready.pop_front();
                continue;
            };
            if conn.expired || (!self.keeps_closed && conn.is_closed() && conn.refusal_due.is_none()) {
                self.ready.pop_front();
                self.end(id, upcalls);
                continue;
            }
            let transmit = conn.transmit(packet, &mut context!(self, now), upcalls);
            conn.due = conn.deadline().unwrap_or(Time::NEVER);
            self.next_deadline = self.next_deadline.min(conn.due);
            let Some(transmit) = transmit else {
                conn.queued = false;
                self.ready.pop_front();
                if conn.expired || (!self.keeps_closed && conn.is_closed()) {
                    self.end(id, upcalls);
                }
                continue;
            };
            if self.ready.len() > 1 {
                self.ready.rotate_left(1);
            }
            return Some(transmit);
        }
        None
    }

    /// Removes a connection and releases its payload.
    pub(crate) fn end(&mut self, id: ConnId, upcalls: &mut impl Upcalls) {
        let Some(mut conn) = self.table.remove(id) else { return };
        for payload in conn.outbox.abandon() {
            upcalls.released(id, &payload);
        }
        if conn.reports_closed {
            self.events.push_back(Event::Closed(id));
        }
    }

    /// The time at which [`Proto::handle_timeout`] must be called at the latest. Every other call can change
    /// it. It may be earlier than necessary.
    pub fn deadline(&self) -> Option<Time> {
        (self.next_deadline < Time::NEVER).then_some(self.next_deadline)
    }

    /// Does what is due at `now`. To be followed by `poll_transmit`.
    pub fn handle_timeout(&mut self, now: Time) {
        self.now = now;
        if now < self.next_deadline {
            return;
        }
        let mut next = Time::NEVER;
        for conn in self.table.iter_mut() {
            if conn.due > now {
                debug_assert!(conn.due <= conn.deadline().unwrap_or(Time::NEVER), "{}", conn.describe());
                next = next.min(conn.due);
                continue;
            }
            // The deferred acknowledgement may be what the time-out waits for, so it is processed first.
            let deferred = conn.deferred_ack.is_some();
            if deferred || conn.on_timeout(&mut context!(self, now)) {
                Self::enqueue(&mut self.ready, conn);
            }
            conn.due = conn.deadline().unwrap_or(Time::NEVER);
            next = next.min(conn.due);
        }
        self.next_deadline = next;
    }

    /// Whether [`Proto::poll_event`] has something.
    #[inline(always)]
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// The next event, oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// This side's ends of the rails have changed: NICs have gone or come, or have another MTU. A rail that
    /// is not in the list, or has no lanes, is not used any more. The peer is told.
    pub fn set_rails(&mut self, now: Time, conn: ConnId, rails: &[Rail]) {
        let Some(found) = self.table.get_mut(conn) else { return };
        found.set_own_rails(rails, &mut context!(self, now));
        Self::enqueue(&mut self.ready, found);
    }

    /// The NIC of this side's end of a rail has lost its carrier, or has it back, as far as the host knows.
    /// Without carrier, a rail gives way to others at once and is the last choice if there are none; when the
    /// carrier is back, the rail is probed before it is used. Correctness does not depend on this report
    /// being true or in time. The peer is not told.
    pub fn set_carrier(&mut self, now: Time, conn: ConnId, rail: u8, carrier: bool) {
        let Some(found) = self.table.get_mut(conn) else { return };
        self.now = now;
        found.set_carrier(rail, carrier, &mut context!(self, now));
        // A path that has given way is probed soon, so the deadline may be earlier now.
        found.due = found.deadline().unwrap_or(Time::NEVER);
        self.next_deadline = self.next_deadline.min(found.due);
        Self::enqueue(&mut self.ready, found);
    }

    /// The peer's end of a rail, as its greeting or later list says; `None` before that has come.
    pub fn remote_rail(&self, conn: ConnId, rail: u8) -> Option<&Rail> {
        self.table.kept(conn)?.theirs.iter().find(|end| end.rail == rail)
    }

    /// Largest payload of a Start, bytes, with which a packet passes every rail. It is the same for all
    /// connections at all times, because no larger packet is known to pass a rail before it was tried.
    pub fn start_room(&self, _conn: ConnId) -> usize {
        let tag = if self.config.job_key.is_some() { tasuki_wire::TAG_LEN } else { 0 };
        floor_len(tasuki_wire::Lane::Udp) - tasuki_wire::HEADER_LEN - Start::HEAD_MAX - tag
    }

    /// Whether everything has been acknowledged in both directions. Also true for a connection that is closed
    /// or unknown.
    pub fn is_drained(&self, conn: ConnId) -> bool {
        self.table.get(conn).is_none_or(|conn| conn.is_drained() && !conn.outbox.more)
    }

    /// Whether something that was sent on the connection has not been acknowledged.
    pub fn has_unacknowledged(&self, conn: ConnId) -> bool {
        self.table.get(conn).is_some_and(|conn| !conn.outbox.is_empty())
    }

    /// Number of probe time-outs in a row since the peer was last heard, on the path that has most of them:
    /// how often in a row the peer has not acknowledged in time what was sent to it last.
    pub fn pto_streak(&self, conn: ConnId) -> u32 {
        let paths = self.table.get(conn).into_iter().flat_map(|conn| &conn.paths);
        paths.map(|path| path.pto_streak).max().unwrap_or(0)
    }

    /// To be called when it is doubtful whether the peer is alive: asks it for a sign of life on every path,
    /// whatever the path's state. A peer that has not answered a hello yet gets another hello.
    pub fn probe_peer(&mut self, now: Time, conn: ConnId) {
        let Some(found) = self.table.get_mut(conn) else { return };
        self.now = now;
        found.probe_all_paths();
        Self::enqueue(&mut self.ready, found);
    }

    /// Closes a connection on which neither side has anything more to say. It stays in the closing state
    /// until everything is acknowledged and the peer is known to know that. If only the latter is missing it
    /// stays for [`Config::closing_timeout`] at most, else [`Config::closing_rounds`] times as long besides.
    /// [`Event::Closed`] follows.
    pub fn close(&mut self, conn: ConnId) {
        let now = self.now;
        let Some(found) = self.table.get_mut(conn) else { return };
        if found.closing.is_some() {
            return;
        }
        let at = if self.plant.is(Defect::NoClosingState) { now } else { now + self.config.closing_timeout };
        found.closing = Some(at);
        found.reports_closed = true;
        found.expired |= self.plant.is(Defect::NoClosingState);
        found.due = found.due.min(at);
        self.next_deadline = self.next_deadline.min(at);
        Self::enqueue(&mut self.ready, found);
    }

    /// To be called when this endpoint is about to leave. From now on closed connections are kept and go on
    /// to answer their peers, as in QUIC's closing state (RFC 9000, section 10.2.1). Without that, when all
    /// processes of a program leave at once, many of them would wait for a last acknowledgement from a peer
    /// that has already forgotten the connection. [`Proto::is_closed`] tells when nothing is left to answer
    /// for.
    ///
    /// Probe time-outs become longer: answers take longer when all leave at once, and nothing else waits for
    /// them.
    pub fn keep_closed(&mut self) {
        self.keeps_closed = true;
        let peers = u32::try_from(self.table.len()).unwrap_or(u32::MAX);
        let leaving_pto =
            leaving::PTO.saturating_add(leaving::PTO_EACH.saturating_mul(peers)).min(self.config.max_pto);
        self.config.min_pto = self.config.min_pto.max(leaving_pto);
    }

    /// Whether the connection has been closed and needs nothing more, be it forgotten already or kept.
    pub fn is_closed(&self, conn: ConnId) -> bool {
        self.table.get(conn).is_none_or(Conn::is_closed)
    }

    /// Counters and estimates of each path.
    pub fn rail_stats(&self, conn: ConnId) -> impl Iterator<Item = RailStats> {
        self.table.get(conn).into_iter().flat_map(|conn| conn.paths.iter().map(|path| path.stats()))
    }

    /// Packets dropped since the beginning, by reason.
    pub fn drops(&self) -> &Drops {
        &self.drops
    }

    /// The state of a connection as text, for watchdogs.
    pub fn describe(&self, conn: ConnId) -> String {
        self.table.kept(conn).map_or_else(|| format!("connection {conn:?} is over\n"), Conn::describe)
    }

    pub(crate) fn reject(&mut self, reason: DropReason) -> DropReason {
        self.drops.count(reason);
        reason
    }
}
