//! Frames in packets: sockets on one side, the packet layer on the other.

use std::net::SocketAddr;

use tasuki_link::RawLink;
use tasuki_msg::Frame;
use tasuki_proto::{ConnId, Event, Payload, Time, Transmit};
use tasuki_wire::{Lane, Path};

use crate::api::{Buffer, Peer, SendArgs};
use crate::burst::When;
use crate::memory::{copy_pieces, total};
use crate::peer::{Destination, Target, Way};
use crate::rails::ROUTED;
use crate::refusals::KNOCK;
use crate::state::{BATCH, Link, State};

/// Time between two looks at the UDP sockets while all that comes comes otherwise, ns: a look is a system call.
const UDP_PAUSE: u64 = 4_000;
/// As long as all peers are on this host it doubles with each look in vain up to this.
const UDP_PAUSE_MOST: u64 = 16_000;

/// So much longer they may be left alone by looks that have found a message elsewhere, for which the program waits, ns.
const UDP_PATIENCE: u64 = 16_000;

/// Datagrams taken from one socket before what follows from them is done: an answer that lets the peer go on should not wait until the
/// rest of a long message has been taken in.
const RECEIVED: usize = 32;

/// A packet of at most so many bytes goes at once, if it is the first; batches are for longer ones.
const SHORT: usize = 512;

/// Longer messages take the general way, bytes.
const AT_ONCE: usize = 256;

/// No more than so many wait in the packet layer, if packets do not leave as they should.
const HELD: u64 = 64;

/// Where a packet is written.
#[derive(Clone, Copy)]
enum Place {
    /// In the queue of this link's UDP socket.
    Queue(usize),
    /// Beside all queues.
    Aside,
}

impl State {
    /// Takes in the packets that wait. True if there were any. If the program already has something to go on with, or gets it from a raw lane, the
    /// UDP sockets may wait a little longer.
    pub fn receive_packets(&mut self, now: Time, served: bool) -> bool {
        // It measures how fast comes what it grants.
        self.core.msg.controller_mut().set_now(now.0);
        let mut any = self.receive_raw(now);
        let patience = if self.udp_pause > 0 && (served || any) { UDP_PATIENCE } else { 0 };
        if now.0 >= self.udp_due.0.saturating_add(patience) {
            let came = self.receive_udp(now);
            any |= came;
            if came && now >= self.invite_due {
                self.invite_to_streams(now);
            }
            if !came && self.core.is_alone() {
                self.udp_pause = (2 * self.udp_pause).min(UDP_PAUSE_MOST);
            }
            any |= self.ready.take_news() && self.hear_carriers(now);
            self.udp_due = Time(now.0.saturating_add(self.udp_pause));
            self.hear_refusals(now);
        }
        self.hear_events();
        any
    }

    /// As long as something comes otherwise, and no datagrams, the UDP sockets are looked at now and then.
    #[inline(always)]
    pub fn spare_udp(&mut self) {
        self.udp_pause = self.udp_pause.max(UDP_PAUSE);
    }

    /// All peers are on this host, as far as is known: they are looked at as rarely as may be.
    pub fn spares_udp_most(&self) -> bool {
        self.udp_pause >= UDP_PAUSE_MOST
    }

    /// Whether a frame waits in the ring of a raw lane.
    #[inline]
    pub fn has_frames(&self) -> bool {
        self.links.iter().filter_map(|link| link.raw.as_ref()).any(RawLink::has_frames)
    }

    /// Takes in the frames that wait in the rings of raw lanes, without a system call. True if there were any.
    fn receive_raw(&mut self, now: Time) -> bool {
        let (links, proto, core) = (&mut self.links, &mut self.proto, &mut self.core);
        let mut count = 0;
        for raw in links.iter_mut().filter_map(|link| link.raw.as_mut()) {
            count += raw.receive(BATCH, |packet| {
                // What is dropped is counted there by reason, and never answered.
                let _ = proto.handle_packet_deferring_ack(now, packet, core);
            });
        }
        if count > 0 {
            self.spare_udp();
        }
        count > 0
    }

    /// Takes in the datagrams that wait at the UDP sockets. True if there were any.
    fn receive_udp(&mut self, now: Time) -> bool {
        let (links, proto, core) = (&mut self.links, &mut self.proto, &mut self.core);
        let mut any = false;
        for at in 0..self.ready.look() {
            let index = self.ready.due(at);
            let link = &mut links[index];
            // A lone packet costs one call and not a second one to learn that it is alone.
            let budget = if link.busy { RECEIVED } else { 1 };
            let received = link.udp.receive(budget, |_, datagram| {
                // A knock has done what it is for by coming here.
                if datagram.len() != KNOCK {
                    // What is dropped is counted there by reason, and never answered.
                    let _ = proto.handle_packet_deferring_ack(now, datagram, core);
                }
            });
            let count = received.unwrap_or(0);
            link.busy = count >= budget;
            any |= count > 0;
            self.ready.took(index, link, count);
            if self.ready.is_hot(index) {
                // Its descriptors are watched by nobody, so there may well be one more.
                link.udp.follow();
            }
        }
        if any {
            self.udp_pause = 0;
        }
        any
    }

    /// Sends a short message to a peer on another host at once, if nothing stands in its way. False: nothing has happened.
    ///
    /// # Safety
    /// The buffers can be read.
    pub unsafe fn send_packet_now(&mut self, args: &SendArgs<'_>, now: Time) -> bool {
        let Some(state) = self.core.state(args.peer) else { return false };
        let Way::Packets(conn) = state.way else { return false };
        let Some(len) = total(args.buffers).filter(|len| *len <= AT_ONCE) else { return false };
        let id = state.id;
        let later = self.waits_for_others(args.peer, now);
        let takes =
            if later { self.proto.can_coalesce(conn, HELD) } else { self.proto.can_send_inline(conn) };
        // Messages with a pace of their own take the general way.
        if self.core.receivers.is_some() || !takes {
            return false;
        }
        let request = args.request(id, len as u64);
        let Some(start) = self.core.msg.send_inline(&request, len as u64) else { return false };
        let mut room = [0; AT_ONCE];
        // SAFETY: the caller says that the buffers can be read; they have `len` bytes.
        let bytes = unsafe { gather(args.buffers, &mut room[..len]) };
        let payload = Payload { key: 0, offset: 0, len: len as u64 };
        let start = tasuki_frames::outgoing(&Frame::Start(start), Some(payload));
        if later {
            self.proto.coalesce(conn, start, bytes);
            self.core.sent(args.report, args.context, args.peer, args.tag.is_some());
            self.hold(len, now);
            return true;
        }
        let transmit = self.proto.send_inline(now, conn, start, bytes, &mut self.packet);
        self.core.sent(args.report, args.context, args.peer, args.tag.is_some());
        match transmit {
            Some(transmit) => self.send_packet(transmit),
            None => drop(self.settle(now)),
        }
        true
    }

    /// Whether a short message to a peer waits for those that follow it. What must not wait any longer goes.
    #[inline]
    fn waits_for_others(&mut self, peer: Peer, now: Time) -> bool {
        let when = self.burst.next(peer, (self.polled, self.looks.left()), now);
        if self.burst.is_long() {
            // The next look is to see that it is over.
            self.settled = false;
        }
        match when {
            When::Now => false,
            When::Later if self.held.is_watched() => true,
            _ => {
                self.send_held(now);
                false
            }
        }
    }

    /// A message of so many bytes has been put where others wait.
    fn hold(&mut self, len: usize, now: Time) {
        if !self.burst.holds() {
            self.held.begin(now);
        }
        if self.burst.hold(len, now) {
            self.send_held(now);
        }
    }

    /// Sends what waits for others, if anything does.
    #[cold]
    fn send_held(&mut self, now: Time) {
        if self.burst.holds() {
            self.transmit(now);
        }
    }

    /// The same for a program that has gone off with it.
    pub fn send_abandoned(&mut self) {
        if self.burst.holds() {
            self.helped += 1;
            self.burst.abandon();
            let now = self.now();
            self.settle(now);
        }
    }

    /// Hands over a packet that was written aside.
    fn send_packet(&mut self, transmit: Transmit) {
        if let Some(target) = self.target(transmit.conn, transmit.path) {
            self.queue_packet(target, Place::Aside, transmit.len);
            self.links[target.link].flush();
        }
    }

    /// Sends what the packet layer has. True if there was something.
    pub fn transmit(&mut self, now: Time) -> bool {
        if self.burst.holds() {
            self.burst.release();
            self.held.end();
        }
        let (mut sent, mut frames_wait) = (0, false);
        let mut place = Place::Aside;
        while sent < BATCH {
            let Some((transmit, written)) = self.write_packet(now, place) else { break };
            sent += 1;
            let Some(target) = self.target(transmit.conn, transmit.path) else { continue };
            self.queue_packet(target, written, transmit.len);
            // Most often a packet goes where the one before went.
            match target.to {
                Destination::Udp(_) => {
                    place = Place::Queue(target.link);
                    if std::mem::take(&mut frames_wait) {
                        self.flush_frames();
                    }
                }
                Destination::Raw(_) => {
                    place = Place::Aside;
                    // Most often a short one is the only one. Whether it is takes as long to learn as to send it.
                    let at_once = sent == 1 && transmit.len <= SHORT;
                    if at_once {
                        self.links[target.link].flush();
                    }
                    frames_wait |= !at_once;
                }
            }
        }
        for (index, link) in self.links.iter_mut().enumerate() {
            let datagrams = link.udp.queued();
            link.flush();
            self.ready.gave(index, link, datagrams);
        }
        // A connection may end when it is asked for its next packet.
        self.hear_events();
        sent > 0
    }

    /// Hands over the frames that are queued at raw lanes. They carry what tells the peer about the datagrams that follow, to write and
    /// hand over all of which takes tens of microseconds: behind them they would keep the peer waiting, and make it put aside what it
    /// cannot place yet.
    fn flush_frames(&mut self) {
        self.links.iter_mut().for_each(Link::flush_frames);
    }

    /// Writes the next packet at `place`, or aside if there is no room; says where.
    fn write_packet(&mut self, now: Time, place: Place) -> Option<(Transmit, Place)> {
        if let Place::Queue(link) = place
            && let Some(room) = self.links[link].udp.room(self.packet.len())
        {
            return self.proto.poll_transmit(now, room, &mut self.core).map(|transmit| (transmit, place));
        }
        let transmit = self.proto.poll_transmit(now, &mut self.packet, &mut self.core);
        transmit.map(|transmit| (transmit, Place::Aside))
    }

    /// Queues a packet that has been written; it is copied only if that was not where it goes.
    fn queue_packet(&mut self, target: Target, written: Place, len: usize) {
        if let Place::Queue(link) = written {
            if let Destination::Udp(to) = target.to
                && link == target.link
            {
                return self.links[link].udp.queue_written(to, len);
            }
            if let Some(room) = self.links[link].udp.room(len) {
                self.packet[..len].copy_from_slice(&room[..len]);
            }
        }
        self.links[target.link].queue(target.to, &self.packet[..len]);
    }

    /// Where packets of a path to the peer of `conn` go.
    fn target(&mut self, conn: ConnId, path: Path) -> Option<Target> {
        let peer = self.core.peer_of(conn)?;
        let mut known = self.core.state(peer)?.targets.iter();
        if let Some((_, target)) = known.find(|(one, _)| *one == path) {
            return Some(*target);
        }
        let target = match path.lane {
            Lane::Raw => self.raw_target(peer, conn, path.rail),
            Lane::Udp => self.udp_target(peer, conn, path.rail),
            Lane::Xdp => None,
        }?;
        self.core.state_mut(peer)?.targets.push((path, target));
        Some(target)
    }

    /// Through the raw lane of the own NIC to the NIC that the peer has named.
    fn raw_target(&self, peer: Peer, conn: ConnId, rail: u8) -> Option<Target> {
        let told = self.proto.remote_rail(conn, rail).filter(|told| told.lanes.contains(Lane::Raw))?;
        let link = self.link_of(peer, rail)?;
        self.links[link].raw.as_ref()?;
        Some(Target { link, to: Destination::Raw(told.mac) })
    }

    /// The own NIC of a rail.
    fn link_of(&self, peer: Peer, rail: u8) -> Option<usize> {
        let address = self.core.state(peer)?.address;
        let own = self.core.rails.to(address.identity).iter().find(|own| own.rail == rail)?;
        self.links.iter().position(|link| link.nic.as_deref() == Some(&own.nic))
    }

    fn udp_target(&self, peer: Peer, conn: ConnId, rail: u8) -> Option<Target> {
        let address = self.core.state(peer)?.address;
        let told = self.proto.remote_rail(conn, rail).filter(|told| told.port != 0);
        if rail == ROUTED {
            let port = told.map_or(address.port, |told| told.port);
            return Some(Target { link: 0, to: Destination::Udp(SocketAddr::new(address.host(), port)) });
        }
        let link = self.link_of(peer, rail)?;
        let to = match told {
            Some(told) => SocketAddr::new(told.address.to_canonical(), told.port),
            None => {
                let own = self.core.rails.to(address.identity).iter().find(|own| own.rail == rail)?;
                SocketAddr::new(own.remote, address.port)
            }
        };
        Some(Target { link, to: Destination::Udp(to) })
    }

    fn hear_events(&mut self) {
        while let Some(event) = self.proto.poll_event() {
            match event {
                Event::Refused(conn, reason) => {
                    if let Some(peer) = self.core.peer_of(conn) {
                        self.fail_peer(peer, format!("it refuses the connection: {reason:?}"));
                    }
                }
                Event::Reset(conn) => {
                    if let Some(peer) = self.core.peer_of(conn) {
                        self.fail_peer(peer, "it has forgotten the connection".to_owned());
                    }
                }
                Event::Closed(conn) => self.forget_conn(conn),
                Event::Connected(conn) => {
                    self.patience.meets(self.now());
                    self.tell_carriers(conn, self.now());
                    self.forget_targets(conn);
                    self.invite_newcomers(self.now());
                }
                Event::RailsChanged(conn) | Event::RailUp(conn, _) | Event::RailDown(conn, _, _) => {
                    self.forget_targets(conn)
                }
            }
        }
    }

    /// Packets to the peer may go elsewhere from now on, and it has answered.
    fn forget_targets(&mut self, conn: ConnId) {
        if let Some(peer) = self.core.peer_of(conn)
            && let Some(state) = self.core.state_mut(peer)
        {
            state.targets.clear();
            state.unanswered = None;
        }
    }

    /// A closed connection is over.
    fn forget_conn(&mut self, conn: ConnId) {
        let Some(peer) = self.core.peer_of(conn) else { return };
        self.core.bind_conn(conn, None);
        self.core.forget_streams(peer);
        if let Some(state) = self.core.state_mut(peer) {
            state.conn = None;
            if matches!(state.way, Way::Packets(_)) {
                state.way = Way::Gone;
            }
        }
    }
}

/// The bytes of all pieces: where they are if they are in one, otherwise copied into `room`, which has their length.
///
/// # Safety
/// The pieces can be read as long as the result lives.
unsafe fn gather<'a>(pieces: &'a [Buffer], room: &'a mut [u8]) -> &'a [u8] {
    if let [one] = pieces
        && one.len > 0
    {
        // SAFETY: as the caller promises.
        return unsafe { std::slice::from_raw_parts(one.ptr, one.len) };
    }
    // SAFETY: as the caller promises; `room` is ours.
    unsafe { copy_pieces(pieces, room) };
    room
}

impl Link {
    /// Queues a packet. One that finds no room even after a flush is lost, as it would be in a switch: the packet layer sees to it.
    fn queue(&mut self, to: Destination, packet: &[u8]) {
        let fill = |bytes: &mut [u8]| {
            bytes[..packet.len()].copy_from_slice(packet);
            packet.len()
        };
        match (to, &mut self.raw) {
            (Destination::Udp(to), _) => {
                if !self.udp.queue(to, packet.len(), fill) {
                    let _ = self.udp.flush();
                    self.udp.queue(to, packet.len(), fill);
                }
            }
            (Destination::Raw(to), Some(raw)) => {
                if !raw.queue(to, packet.len(), fill) {
                    raw.flush();
                    raw.queue(to, packet.len(), fill);
                }
            }
            (Destination::Raw(_), None) => {}
        }
    }

    /// Hands over what is queued. Errors are counted there; lost packets are sent again, elsewhere if this way stays silent.
    fn flush(&mut self) {
        if self.udp.queued() > 0 {
            let _ = self.udp.flush();
        }
        self.flush_frames();
    }

    /// The same of its raw lane alone.
    fn flush_frames(&mut self) {
        if let Some(raw) = &mut self.raw
            && raw.queued() > 0
        {
            raw.flush();
        }
    }
}
