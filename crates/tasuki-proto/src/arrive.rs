//! Arriving datagrams: which connection they belong to, and connections that peers open.

use std::collections::VecDeque;

use tasuki_wire::{
    Brief, DropReason, Frame, Greeting, JobKey, Packet, Party, Path as PathId, RefuseReason, Tagged,
};

use crate::conn::{Conn, Context};
use crate::defect::Defect;
use crate::event::Event;
use crate::given_up;
use crate::ids::{ConnId, Remote};
use crate::proto::{Proto, context};
use crate::time::Time;
use crate::upcalls::Upcalls;

impl Proto {
    /// Processes what came as one Ethernet payload or UDP datagram, whatever it contains. Dropped packets are
    /// counted by reason. [`DropReason::Position`] also stands for packets that would leave too many gaps.
    pub fn handle_packet(
        &mut self,
        now: Time,
        datagram: &[u8],
        upcalls: &mut impl Upcalls,
    ) -> Result<(), DropReason> {
        self.handle(now, datagram, upcalls, false)
    }

    /// If `defers_ack`, the message in a packet is delivered before the acknowledgement that came with it is
    /// processed.
    pub(crate) fn handle(
        &mut self,
        now: Time,
        datagram: &[u8],
        upcalls: &mut impl Upcalls,
        defers_ack: bool,
    ) -> Result<(), DropReason> {
        self.now = now;
        self.take_packet(now, datagram, upcalls, defers_ack).map_err(|reason| self.reject(reason))
    }

    fn take_packet(
        &mut self,
        now: Time,
        datagram: &[u8],
        upcalls: &mut impl Upcalls,
        defers_ack: bool,
    ) -> Result<(), DropReason> {
        if let Some(job) = self.config.job_key {
            return self.take_tagged(now, &job, datagram, upcalls);
        }
        if let Some(brief) = Brief::parse(datagram)
            && let Some(result) = self.take_brief(now, &brief, upcalls, defers_ack)
        {
            return result;
        }
        self.take_whole(now, &Packet::parse(datagram)?, upcalls)
    }

    /// Processes a packet at an endpoint with a key: its tag is verified before anything changes. (That takes
    /// longer than what the fast path saves, so there is none for such packets.)
    fn take_tagged(
        &mut self,
        now: Time,
        job: &JobKey,
        datagram: &[u8],
        upcalls: &mut impl Upcalls,
    ) -> Result<(), DropReason> {
        let tagged = Tagged::parse(datagram)?;
        let packet = tagged.unverified();
        packet.header().check_destination(self.local.endpoint, &self.local.secret)?;
        let key = match packet.header().peer {
            0 => {
                let Some(Frame::Hello(greeting)) = packet.frames().next() else {
                    return Err(DropReason::Handshake);
                };
                let from = Party { endpoint: greeting.endpoint, incarnation: greeting.incarnation };
                job.for_packets(from, self.local.party())
            }
            name => self.table.named(name).and_then(|conn| conn.keys).ok_or(DropReason::Peer)?.rx,
        };
        self.take_whole(now, tagged.verify(&key)?, upcalls)
    }

    /// Processes a packet that may be believed if its sender knows this endpoint's secret.
    fn take_whole(
        &mut self,
        now: Time,
        packet: &Packet<'_>,
        upcalls: &mut impl Upcalls,
    ) -> Result<(), DropReason> {
        let header = packet.header();
        header.check_destination(self.local.endpoint, &self.local.secret)?;
        let conn = match header.peer {
            0 => {
                let id = self.conn_for_hello(packet, upcalls)?;
                self.table.kept_mut(id)
            }
            name => self.table.named(name),
        };
        let conn = conn.filter(|conn| !conn.expired).ok_or(DropReason::Peer)?;
        if conn.is_refusal && conn.refusal_due.is_some() {
            return Ok(());
        }
        let result = match conn.given_up {
            Some(_) => given_up::answer(conn, packet, &mut context!(self, now)),
            None => conn.receive(packet, &mut context!(self, now), upcalls),
        };
        Self::reschedule(conn, &mut self.next_deadline, &mut self.ready);
        result
    }

    /// Fast path for a packet of the most frequent kind, from a peer with an open connection. `None` if
    /// anything is unusual about it; then nothing has been done.
    fn take_brief(
        &mut self,
        now: Time,
        brief: &Brief<'_>,
        upcalls: &mut impl Upcalls,
        defers_ack: bool,
    ) -> Option<Result<(), DropReason>> {
        brief.header.check_destination(self.local.endpoint, &self.local.secret).ok()?;
        let conn = self.table.named(brief.header.peer)?;
        if conn.expired || conn.refusal_due.is_some() || conn.given_up.is_some() {
            return None;
        }
        let result = conn.receive_brief(brief, defers_ack, &mut context!(self, now), upcalls)?;
        if conn.deferred_ack.is_some() && !std::mem::replace(&mut conn.in_deferred, true) {
            self.deferred.push(conn.id);
        }
        Self::reschedule(conn, &mut self.next_deadline, &mut self.ready);
        Some(result)
    }

    /// To be called after a packet of a connection: updates its deadline, and queues it if it may have
    /// something to send.
    pub(crate) fn reschedule(conn: &mut Conn, next_deadline: &mut Time, ready: &mut VecDeque<ConnId>) {
        conn.due = conn.deadline().unwrap_or(Time::NEVER);
        *next_deadline = (*next_deadline).min(conn.due);
        if conn.has_pending_work() {
            Self::enqueue(ready, conn);
        }
    }

    /// The connection that a hello is for; accepted now if there was none.
    fn conn_for_hello(
        &mut self,
        packet: &Packet<'_>,
        upcalls: &mut impl Upcalls,
    ) -> Result<ConnId, DropReason> {
        let Some(Frame::Hello(greeting)) = packet.frames().next() else {
            return Err(DropReason::Handshake);
        };
        //= docs/reference/wire.md#greeting
        //# A greeting with a wrong proof or addressee gets no answer.
        if !self.plant.is(Defect::AnyIncarnation) {
            greeting.check(self.local.incarnation, &self.local.secret)?;
        }
        let known = self.table.find(greeting.endpoint, greeting.incarnation);
        if self.table.has_ended((greeting.endpoint, greeting.incarnation, greeting.name)) {
            return Err(DropReason::Peer);
        }
        let known = known.filter(|_| !self.plant.is(Defect::TwoConnections));
        if let Some(id) = known
            && !self.supersedes(id, &greeting)?
        {
            return Ok(id);
        }
        self.accept(&greeting, packet.header().path, upcalls)
    }

    /// The peer of a connection says hello with a name. Returns `true` if the name belongs to a new
    /// connection that takes the place of the existing one.
    fn supersedes(&mut self, id: ConnId, greeting: &Greeting<'_>) -> Result<bool, DropReason> {
        let Some(conn) = self.table.kept_mut(id) else { return Ok(true) };
        if conn.peer_name == 0 || conn.peer_name == greeting.name {
            return Ok(false);
        }
        if given_up::knows_newer_name(conn, greeting) {
            return Err(DropReason::Peer);
        }
        if conn.given_up.is_some() {
            return Ok(false);
        }
        if conn.closing.is_some() {
            conn.expired = true;
            Self::enqueue(&mut self.ready, conn);
            self.table.forget_peer(id);
            return Ok(true);
        }
        if !conn.reset {
            conn.reset = true;
            self.events.push_back(Event::Reset(id));
        }
        Err(DropReason::Peer)
    }

    fn accept(
        &mut self,
        greeting: &Greeting<'_>,
        path: PathId,
        upcalls: &mut impl Upcalls,
    ) -> Result<ConnId, DropReason> {
        // One connection beyond the limit is allowed, for refusals.
        let id = self.table.reserve(self.config.max_connections + 1).ok_or(DropReason::Peer)?;
        let remote = Remote {
            endpoint: greeting.endpoint,
            incarnation: greeting.incarnation,
            secret: greeting.secret,
        };
        let refused = self.table.has_refused((remote.endpoint, remote.incarnation, greeting.name));
        let room = self.table.len() < self.config.max_connections && !refused;
        let rails = if room { upcalls.accept(id, greeting) } else { Err(RefuseReason::NoRoom) };
        match rails {
            Ok(rails) => {
                self.table.insert(Conn::new(id, remote, &rails, &self.local, &self.config), true);
            }
            Err(reason) => {
                upcalls.refusing(id, greeting);
                let rails = [Conn::unreachable_rail()];
                let conn = Conn::new(id, remote, &rails, &self.local, &self.config);
                self.refuse(conn, greeting, path, reason);
            }
        }
        Ok(id)
    }

    /// Refuses a hello: makes a connection that sends one packet and is forgotten after it.
    fn refuse(&mut self, mut conn: Conn, greeting: &Greeting<'_>, path: PathId, reason: RefuseReason) {
        conn.hello_path = conn.path_or_new(path, &self.config);
        conn.peer_name = greeting.name;
        conn.theirs = greeting.rails.list.iter().collect();
        (conn.refusal_due, conn.is_refusal) = (Some(reason), true);
        Self::enqueue(&mut self.ready, &mut conn);
        self.table.insert(conn, false);
    }
}
