//! What an engine does when it is called: it takes packets, carries out actions, sends packets, and sets the
//! next deadline.

use std::num::NonZeroU64;

use tasuki_msg::{PeerId, PeerOptions};
use tasuki_proto::{ConnId, Event as ProtoEvent, Time as ProtoTime};

use super::event::Event;
use super::sample::sample;
use super::world::{Carriage, World};
use crate::channel::Fate;
use crate::kernel::Time;
use tasuki_testkit::{Check, demand};

/// Rounds of one poll after which the two layers count as working for ever.
const ROUNDS: usize = 100_000;

impl World {
    fn proto_now(&self) -> ProtoTime {
        ProtoTime(self.now().0)
    }

    /// Handles the packets in the socket and the deadline, then sends what there is to send.
    pub fn poll(&mut self, node: usize) -> Check {
        if self.watched {
            self.polled.push(node);
        }
        let now = self.proto_now();
        while let Some(packet) = self.hosts[node].take(self.kernel.now()) {
            let (proto, mut upcalls) = self.split(node);
            let result = proto.handle_packet_deferring_ack(now, &packet, &mut upcalls);
            let (complaint, delivered) = (upcalls.complaint, upcalls.delivered);
            complaint.map_or(Ok(()), Err)?;
            if let Err(reason) = result {
                demand(delivered == 0, || format!("a packet dropped as {reason} was acted upon"))?;
                self.oracle.note(|| format!("node {node} drops a packet: {reason}"));
                self.oracle.coverage.add(drop_name(reason), 1);
            }
            self.welcome(node)?;
        }
        let packets = self.carriage != Carriage::Perfect;
        if packets && self.hosts[node].proto.deadline().is_some_and(|deadline| deadline <= now) {
            self.hosts[node].proto.handle_timeout(now);
        }
        // Now and then the engine finds no time for deferred acknowledgements.
        if !now.0.is_multiple_of(3) {
            self.hosts[node].proto.flush_deferred_acks();
        }
        self.oracle.nodes[node].ep.handle_time(now.0);
        if let Some(at) = self.hosts[node].next_packet() {
            // A slow host takes the next packet when it has finished with this one.
            self.poll_by(node, at);
        }
        self.service(node)
    }

    /// Tells the message layer how long a `Start` may be on connections that were accepted.
    fn welcome(&mut self, node: usize) -> Check {
        while let Some((conn, there)) = self.hosts[node].conns.fresh.pop() {
            let peer = self.oracle.nodes[node].peer_for(there).ok_or("accepted and not acquainted")?;
            self.set_start_room(node, conn, peer)?;
            self.evidence(node, there);
            self.oracle.nodes[node].ep.introduce(peer);
            self.hosts[node].proto.wake(conn);
        }
        Ok(())
    }

    /// A node that turns to a dead process learns of its death in time, because the socket refuses or the
    /// host tells. So does a node that turns to one that has given it up.
    fn evidence(&mut self, node: usize, there: usize) {
        let other = &self.oracle.nodes[there];
        let unwanted = other.peer_for(node).is_some_and(|back| !other.lives(back));
        if !other.alive || unwanted {
            let wait = self.rng.magnitude(20_000_000);
            self.schedule_after(wait, Event::Tell { node, dead: there });
        }
    }

    fn set_start_room(&mut self, node: usize, conn: ConnId, peer: PeerId) -> Check {
        let inline_max = self.hosts[node].proto.start_room(conn) as u64;
        let options = PeerOptions { inline_max, pull: false };
        self.oracle.nodes[node].ep.set_peer_options(peer, options).map_err(|error| error.to_string())
    }

    /// `node` learns the address of `there` and opens a connection, unless `there` has opened one before.
    pub fn meet(&mut self, node: usize, there: usize) -> Check {
        if !self.oracle.nodes[node].alive || self.oracle.nodes[node].peer_for(there).is_some() {
            return Ok(());
        }
        let peer = self.oracle.acquaint(node, there, PeerOptions { inline_max: 0, pull: false });
        self.evidence(node, there);
        if self.carriage == Carriage::Perfect {
            if self.oracle.nodes[there].alive {
                self.oracle.acquaint(there, node, PeerOptions { inline_max: 300, pull: false });
            }
            return self.service(node).and_then(|()| self.service(there));
        }
        let remote = self.hosts[there].remote();
        let rails = self.network.rails(self.hosts[node].place, self.hosts[there].place);
        let now = self.proto_now();
        let host = &mut self.hosts[node];
        demand(host.proto.find(remote.endpoint, remote.incarnation).is_none(), || {
            format!("node {node} has a connection to {there} that nobody asked for")
        })?;
        let Some(conn) = host.proto.connect(now, remote, &rails) else {
            return Err(format!("node {node} has no room for a connection to {there}"));
        };
        host.conns.of_conn.insert(conn, there);
        host.conns.of_node.insert(there, conn);
        self.repeat_reports(node, conn);
        self.oracle.note(|| format!("node {node} connects to {there} as {conn:?}"));
        if self.hosts[there].conns.of_node.contains_key(&node) {
            self.oracle.cover("both opened the connection");
        }
        self.set_start_room(node, conn, peer)?;
        self.service(node)
    }

    /// Lets both layers work until neither has anything to send, and plans the next poll.
    pub fn service(&mut self, node: usize) -> Check {
        if !self.oracle.nodes[node].alive || self.hosts[node].stopped_until > self.now() {
            return Ok(());
        }
        for round in 0.. {
            demand(round < ROUNDS, || format!("node {node} talks to itself for ever: {}", self.dump()))?;
            self.oracle.settle(node)?;
            self.part(node);
            self.wake(node)?;
            if self.carriage == Carriage::Perfect {
                break;
            }
            let heard = self.proto_events(node)?;
            let sent = self.transmit(node)?;
            // A connection may end when `poll_transmit` is called for it.
            let heard = self.proto_events(node)? || heard;
            if !heard && !sent {
                break;
            }
        }
        self.oracle.settle(node)?;
        if let Some(due) = self.oracle.nodes[node].ep.time_due() {
            self.poll_by(node, Time(due).max(self.now().after(1)));
        }
        if self.carriage != Carriage::Perfect
            && let Some(deadline) = self.hosts[node].proto.deadline()
        {
            let late = self.hosts[node].habit.poll_ns;
            let late = if late == 0 { 0 } else { self.rng.below(late) };
            // A deadline that has passed is handled in the next nanosecond, so that time advances.
            self.poll_by(node, Time(deadline.0).max(self.now().after(1)).after(late));
        }
        Ok(())
    }

    /// Closes the connections to peers after a goodbye of either side; they end when everything has been
    /// acknowledged.
    fn part(&mut self, node: usize) {
        while let Some(peer) = self.oracle.nodes[node].parted.pop_front() {
            let there = self.oracle.nodes[node].node_for(peer);
            let conn = there.and_then(|there| self.hosts[node].conns.of_node.remove(&there));
            if let Some(conn) = conn {
                self.oracle.note(|| format!("node {node} closes {conn:?}"));
                sample(&self.hosts[node].proto, conn, &mut self.oracle.coverage);
                self.hosts[node].proto.close(conn);
            }
        }
    }

    /// Takes the peers for which the message layer has frames.
    fn wake(&mut self, node: usize) -> Check {
        while let Some(peer) = self.oracle.nodes[node].ep.poll_active() {
            self.oracle.nodes[node].set_active(peer, true);
            let there = self.oracle.nodes[node].node_for(peer).ok_or("a stranger has something to say")?;
            if there == node || self.carriage == Carriage::Perfect {
                self.direct(node, there, peer)?;
            } else if let Some(&conn) = self.hosts[node].conns.of_node.get(&there) {
                self.hosts[node].proto.wake(conn);
            }
        }
        Ok(())
    }

    /// Hands all frames for a peer straight to it, without packets.
    fn direct(&mut self, node: usize, there: usize, peer: PeerId) -> Check {
        let room = NonZeroU64::new(self.rng.pick(&[64, 1000, 30_000])).ok_or("no room")?;
        while let Some((transmit, key)) = self.oracle.next_frame(node, peer, room)? {
            let mut payload = vec![0; transmit.frame.payload_len() as usize];
            if let Some(key) = key {
                self.oracle.read_payload(node, key, 0, &mut payload)?;
                if let Some(out) = transmit.payload {
                    self.oracle.sent[out.user as usize].copied = true;
                }
                self.oracle.release_payload(node, key, false)?;
            }
            let wait = self.rng.below(self.direct_ns);
            self.direct_out += 1;
            self.schedule_after(
                wait,
                Event::Direct { from: node, to: there, frame: transmit.frame, payload },
            );
        }
        Ok(())
    }

    fn transmit(&mut self, node: usize) -> Check<bool> {
        let mut sent = false;
        let mut packet = std::mem::take(&mut self.packet);
        let result = self.transmit_all(node, &mut packet, &mut sent);
        self.packet = packet;
        result.map(|()| sent)
    }

    fn transmit_all(&mut self, node: usize, packet: &mut [u8], sent: &mut bool) -> Check {
        let now = self.proto_now();
        for count in 0.. {
            let (proto, mut upcalls) = self.split(node);
            let transmit = proto.poll_transmit(now, packet, &mut upcalls);
            upcalls.complaint.map_or(Ok(()), Err)?;
            let Some(transmit) = transmit else { return Ok(()) };
            demand(count < ROUNDS, || format!("node {node} sends for ever: {}", self.dump()))?;
            *sent = true;
            self.launch(node, transmit, &packet[..transmit.len])?;
        }
        Ok(())
    }

    pub(super) fn launch(&mut self, node: usize, transmit: tasuki_proto::Transmit, packet: &[u8]) -> Check {
        let host = &self.hosts[node];
        let from = host.place;
        let known = host.conns.of_conn.get(&transmit.conn).map(|there| self.hosts[*there].place);
        let to = match host.proto.remote_rail(transmit.conn, transmit.path.rail) {
            Some(rail) => self.network.place_of(from, rail)?,
            None => {
                known.ok_or_else(|| format!("node {node} sends to {:?}, which is over", transmit.conn))?
            }
        };
        demand(known.is_none_or(|known| known == to), || {
            format!("node {node} sends to place {to} on {:?}, which is with {known:?}", transmit.conn)
        })?;
        let headers = super::network::headers(transmit.path.lane);
        let own = self.network.end(from, to, transmit.path.rail);
        demand(own.is_some_and(|end| packet.len() + headers <= usize::from(end.mtu)), || {
            let what = super::inspect::text(packet);
            format!("a packet of {} bytes on {:?} with {own:?}: {what}", packet.len(), transmit.path)
        })?;
        self.oracle.trace.mark(&[5, self.now().0, from as u64, to as u64, packet.len() as u64]);
        self.seen.packet(node, transmit.conn, packet, &mut self.oracle.coverage);
        let (now, kernel, coverage) = (self.kernel.now(), &mut self.kernel, &mut self.oracle.coverage);
        let fate = self.network.send(now, (from, to), transmit.path, packet, |arrival| {
            coverage.add("packet damaged", u64::from(arrival.damaged));
            coverage.add("packet held up", u64::from(arrival.delayed));
            kernel.schedule(arrival.at, Event::Arrive { to, packet: arrival.packet });
        })?;
        self.oracle.cover(fate_name(fate));
        self.oracle.note(|| {
            let what = super::inspect::text(packet);
            format!("{node} => place {to} {:?}: {fate:?} {what}", transmit.path)
        });
        Ok(())
    }

    fn proto_events(&mut self, node: usize) -> Check<bool> {
        let mut heard = false;
        while let Some(event) = self.hosts[node].proto.poll_event() {
            heard = true;
            self.oracle.note(|| format!("node {node}: {event:?}"));
            match event {
                ProtoEvent::Connected(conn) => {
                    self.oracle.cover("connected");
                    self.repeat_reports(node, conn);
                }
                ProtoEvent::RailUp(..) => self.oracle.cover("rail up"),
                ProtoEvent::RailDown(_, _, reason) => self.oracle.cover(match reason {
                    tasuki_proto::DownReason::Silent => "rail down: silent",
                    tasuki_proto::DownReason::Carrier => "rail down: no carrier",
                    tasuki_proto::DownReason::Local => "rail down: said here",
                    tasuki_proto::DownReason::Remote => "rail down: said there",
                }),
                ProtoEvent::RailsChanged(_) => self.oracle.cover("rails changed"),
                ProtoEvent::Closed(conn) => {
                    self.oracle.cover("connection over");
                    self.hosts[node].conns.of_conn.remove(&conn);
                }
                ProtoEvent::Refused(conn, _) => self.given_up(node, conn, "refused")?,
                ProtoEvent::Reset(conn) => self.given_up(node, conn, "reset")?,
            }
        }
        Ok(heard)
    }

    /// The packet layer has learnt that the peer has no use for the connection.
    fn given_up(&mut self, node: usize, conn: ConnId, why: &'static str) -> Check {
        self.oracle.cover(why);
        let there = self.hosts[node].conns.of_conn.get(&conn).copied();
        let Some(there) = there else { return Err(format!("node {node}: {conn:?} is {why} and unknown")) };
        self.tell(node, there)?;
        // Engines also tell each other over a control channel, which takes some time.
        if self.oracle.nodes[there].alive {
            let wait = self.rng.below(2_000_000);
            self.schedule_after(wait, Event::Tell { node: there, dead: node });
        }
        Ok(())
    }

    /// `node` learns that `dead` is dead, or has given it up.
    pub fn tell(&mut self, node: usize, dead: usize) -> Check {
        if !self.oracle.nodes[node].alive {
            return Ok(());
        }
        self.oracle.settle(node)?;
        self.part(node);
        let conn = self.hosts[node].conns.of_conn.iter().find(|(_, there)| **there == dead);
        if let Some(conn) = conn.map(|(conn, _)| *conn) {
            self.oracle.note(|| format!("node {node} gives up {conn:?} with {dead}"));
            sample(&self.hosts[node].proto, conn, &mut self.oracle.coverage);
            let now = self.proto_now();
            let (proto, mut upcalls) = self.split(node);
            upcalls.giving_up = true;
            proto.give_up(now, conn, &mut upcalls);
            upcalls.complaint.map_or(Ok(()), Err)?;
            self.hosts[node].conns.of_conn.remove(&conn);
            self.hosts[node].conns.of_node.remove(&dead);
        }
        let Some(peer) = self.oracle.nodes[node].peer_for(dead) else { return Ok(()) };
        let kept = self.oracle.nodes[node].frames.values().filter(|out| out.peer == peer).count();
        demand(kept == 0, || {
            format!("node {node}: {kept} payloads of {dead} are not released with the connection")
        })?;
        self.oracle.note(|| format!("node {node} is told that {dead} is gone"));
        self.oracle.cover("death told");
        self.oracle.nodes[node].ep.handle_peer_failed(peer);
        self.oracle.settle(node)?;
        self.part(node);
        demand(!self.oracle.nodes[node].lives(peer), || "a failed peer is not reported as gone".into())?;
        self.service_later(node);
        Ok(())
    }

    fn service_later(&mut self, node: usize) {
        let now = self.now();
        self.poll_by(node, now);
    }
}

fn fate_name(fate: Fate) -> &'static str {
    match fate {
        Fate::Arrives => "packet arrives",
        Fate::ArrivesTwice => "packet arrives twice",
        Fate::Cut => "packet lost: cable cut",
        Fate::Overflow => "packet lost: queue full",
        Fate::Deaf => "packet lost: raw frame",
        Fate::TooLarge => "packet lost: hole in the MTU",
        Fate::Lost => "packet lost: by chance",
        Fate::LostInBurst => "packet lost: in a burst",
    }
}

fn drop_name(reason: tasuki_wire::DropReason) -> &'static str {
    use tasuki_wire::DropReason::{
        Checksum, Duplicate, Endpoint, Incarnation, Length, Magic, Peer, Position, Short, Token, Version,
    };
    match reason {
        Short => "dropped: short",
        Magic | Version => "dropped: magic or version",
        Length => "dropped: length",
        Checksum => "dropped: checksum",
        Endpoint => "dropped: endpoint",
        Token => "dropped: token",
        Incarnation => "dropped: incarnation",
        Peer => "dropped: peer",
        Duplicate => "dropped: duplicate",
        Position => "dropped: position",
        _ => "dropped: otherwise",
    }
}
