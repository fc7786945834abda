//! Sending packets: short messages within the call, and what the packet layer has at a time.

use tasuki_msg::{Frame, PeerId};
use tasuki_proto::{ConnId, Payload, Time, Transmit};
use tasuki_tuning::{coalesce, inline, sockets};

use super::Net;
use super::coalesce::Departure;
use super::link::{Destination, Link};
use super::targets::{Ends, Target};
use super::upcalls::Above;
use crate::api::{Buffer, SendArgs};
use crate::memory::{copy_pieces, total};
use crate::messages::Messages;
use crate::peers::Peers;

/// Where a packet is written.
#[derive(Clone, Copy)]
enum Place {
    /// In the queue of this link's UDP socket.
    Queue(usize),
    /// In a buffer beside all queues.
    Beside,
}

/// What became of a short message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// Nothing has happened: take the general path.
    No,
    /// It has left, or waits for others that share its packet.
    Done,
    /// The packet layer has it, and must be asked for packets now.
    Transmit,
}

/// Sending within the call.
impl Net {
    /// Sends a short message within the call, if nothing stands in its way. `polls` tells how often the
    /// program has polled.
    ///
    /// # Safety
    /// The buffers of `args` can be read.
    pub unsafe fn send_now(
        &mut self,
        (conn, id): (ConnId, PeerId),
        args: &SendArgs<'_>,
        polls: (u64, u32),
        messages: &mut Messages,
        peers: &mut Peers,
        now: Time,
    ) -> Sent {
        let Some(len) = total(args.buffers).filter(|len| *len <= inline::MESSAGE_MAX) else {
            return Sent::No;
        };
        let coalesce = self.coalesces(args, polls, messages, peers, now);
        if !self.admits(conn, coalesce) {
            return Sent::No;
        }
        let request = args.request(id, len as u64);
        let Some(start) = messages.layer_mut().send_inline(&request, len as u64) else { return Sent::No };
        let payload = Payload { key: 0, offset: 0, len: len as u64 };
        let start = tasuki_frames::outgoing(&Frame::Start(start), Some(payload));
        let bytes = match args.buffers {
            // SAFETY: the caller promises that the buffers can be read.
            [one] if len > 0 => unsafe { std::slice::from_raw_parts(one.ptr, len) },
            // SAFETY: as above.
            pieces => unsafe { gather(pieces, &mut self.gathered[..len]) },
        };
        if coalesce {
            self.proto.coalesce(conn, start, bytes);
            messages.completions_mut().push_sent(args.report, args.context, args.peer, args.tag.is_some());
            self.add_coalesced(len, args.more, messages, peers, now);
            return Sent::Done;
        }
        let transmit = self.proto.send_inline(now, conn, start, bytes, &mut self.packet);
        messages.completions_mut().push_sent(args.report, args.context, args.peer, args.tag.is_some());
        let Some(transmit) = transmit else { return Sent::Transmit };
        if let Some(target) = self.target(&transmit, peers) {
            self.queue_packet(target, Place::Beside, transmit.len);
            self.links[target.link].flush();
        }
        Sent::Done
    }

    /// Whether a short message may be handed to the packet layer now: the only answer to "may it go now?" for
    /// packets.
    fn admits(&self, conn: ConnId, coalesce: bool) -> bool {
        // In static mode every message has a pace of its own, which only the general path knows.
        let unpaced = self.receivers.is_none();
        let takes = match coalesce {
            true => self.proto.can_coalesce(conn, coalesce::QUEUED_MAX),
            false => self.proto.can_send_inline(conn),
        };
        unpaced && takes
    }

    /// Whether a short message waits for those that follow it. Messages that must not wait any longer are
    /// sent.
    #[inline]
    fn coalesces(
        &mut self,
        args: &SendArgs<'_>,
        polls: (u64, u32),
        messages: &mut Messages,
        peers: &mut Peers,
        now: Time,
    ) -> bool {
        match self.coalescer.next(args.peer, args.more, polls, now) {
            Departure::Now => false,
            Departure::Coalesced if self.coalesce_watch.is_watched() => true,
            Departure::Coalesced | Departure::AfterCoalesced => {
                self.send_coalesced(messages, peers, now);
                false
            }
        }
    }

    /// A message of `len` bytes was put where others wait.
    fn add_coalesced(
        &mut self,
        len: usize,
        more: bool,
        messages: &mut Messages,
        peers: &mut Peers,
        now: Time,
    ) {
        if !self.coalescer.has_messages() {
            self.coalesce_watch.begin(now);
        }
        if self.coalescer.add(len, more, now) {
            self.send_coalesced(messages, peers, now);
        }
    }

    /// Sends the messages that wait for others, if there are any.
    #[cold]
    fn send_coalesced(&mut self, messages: &mut Messages, peers: &mut Peers, now: Time) {
        if self.coalescer.has_messages() {
            self.transmit(messages, peers, now);
        }
    }

    /// Notes that the program has stopped calling while messages wait to share a packet. True if there were
    /// any; they must be transmitted now.
    pub fn abandon_coalesced(&mut self, now: Time) -> bool {
        let left_behind = self.coalescer.has_messages();
        if left_behind {
            self.coalescer.abandon(now);
        }
        left_behind
    }

    /// The program sends a series that is so long that it matters when it polls next.
    #[inline]
    pub fn is_coalescing(&self) -> bool {
        self.coalescer.is_coalescing()
    }

    /// The program polls.
    #[inline]
    pub fn program_polls(&mut self, now: Time) {
        if self.coalescer.is_coalescing() {
            self.coalescer.polled(now);
        }
    }
}

/// Sending what the packet layer has.
impl Net {
    /// Sends the packets that the packet layer has, up to [`sockets::PACKETS_MAX`]. True if there was one.
    pub fn transmit(&mut self, messages: &mut Messages, peers: &mut Peers, now: Time) -> bool {
        if self.coalescer.has_messages() {
            self.coalescer.release();
            self.coalesce_watch.end();
        }
        let (mut sent, mut frames_wait) = (0, false);
        let mut place = Place::Beside;
        while sent < sockets::PACKETS_MAX {
            let Some((transmit, written)) = self.write_packet(place, messages, peers, now) else { break };
            sent += 1;
            let Some(target) = self.target(&transmit, peers) else { continue };
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
                    place = Place::Beside;
                    // Most often a short packet is the only one. To learn whether it is takes as long as to
                    // send it.
                    let within_call = sent == 1 && transmit.len <= inline::PACKET_MAX;
                    if within_call {
                        self.links[target.link].flush();
                    }
                    frames_wait |= !within_call;
                }
            }
        }
        for (index, link) in self.links.iter_mut().enumerate() {
            let datagrams = link.udp.queued();
            link.flush();
            self.readiness.sent(index, link, datagrams);
        }
        sent > 0
    }

    /// Hands over the frames that are queued at raw lanes. They carry what tells the peer about the datagrams
    /// that follow. To write all of those and hand them over takes tens of microseconds: behind them, the
    /// frames would keep the peer waiting, and make it put aside what it cannot place yet.
    fn flush_frames(&mut self) {
        self.links.iter_mut().for_each(Link::flush_frames);
    }

    /// Writes the next packet at `place`, or beside all queues if there is no room. Says where it was
    /// written.
    fn write_packet(
        &mut self,
        place: Place,
        messages: &mut Messages,
        peers: &mut Peers,
        now: Time,
    ) -> Option<(Transmit, Place)> {
        let Net { host, proto, links, packet, .. } = self;
        let mut above = Above { messages, peers, host };
        if let Place::Queue(link) = place
            && let Some(room) = links[link].udp.room(packet.len())
        {
            return proto.poll_transmit(now, room, &mut above).map(|transmit| (transmit, place));
        }
        let transmit = proto.poll_transmit(now, packet, &mut above);
        transmit.map(|transmit| (transmit, Place::Beside))
    }

    /// Where a packet goes. `None`: its path leads nowhere (any more).
    #[inline]
    fn target(&mut self, transmit: &Transmit, peers: &Peers) -> Option<Target> {
        let Net { host, links, proto, targets, .. } = self;
        targets.of_path(transmit.conn, transmit.path, peers, &Ends { host, links, proto })
    }

    /// Queues a packet that has been written. It is copied only if it was not written where it goes.
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

    /// Sends a datagram of the routed rail that belongs to no connection, alone: of several datagrams that
    /// the kernel cuts apart only behind a refusal, the refusal would quote the first alone.
    pub fn send_alone(&mut self, to: std::net::SocketAddr, bytes: &[u8]) {
        let Some(Link { udp, .. }) = self.links.first_mut() else { return };
        let _ = udp.flush();
        udp.queue(to, bytes.len(), |room| {
            room[..bytes.len()].copy_from_slice(bytes);
            bytes.len()
        });
        let _ = udp.flush();
    }
}

/// The bytes of all pieces, copied into `room`, which has their length.
///
/// # Safety
/// The pieces can be read.
#[inline(never)]
unsafe fn gather<'a>(pieces: &[Buffer], room: &'a mut [u8]) -> &'a [u8] {
    // SAFETY: as the caller promises; `room` overlaps none of the pieces.
    unsafe { copy_pieces(pieces, room) };
    room
}
