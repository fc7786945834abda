//! Receiving packets: when the sockets are polled, and what is done with what they have.

use tasuki_link::RawLink;
use tasuki_proto::Time;
use tasuki_tuning::sockets;

use super::Net;
use super::upcalls::Above;
use crate::messages::Messages;
use crate::peers::Peers;

/// Length of the datagrams that ask a host whether a socket is there ([`crate::liveness`]), bytes. It is
/// shorter than any packet, so no receiver takes one for a packet.
pub(crate) const KNOCK_LEN: usize = 16;

/// When the UDP sockets are polled.
#[derive(Default)]
pub(super) struct UdpPolls {
    /// Time of the next poll.
    due: Time,
    /// Time between two polls, ns; 0: at every full poll.
    pause: u64,
}

/// What a poll of the sockets has found.
#[derive(Clone, Copy, Default)]
pub(crate) struct Polled {
    /// Packets have arrived.
    pub any: bool,
    /// The UDP sockets were polled.
    pub udp: bool,
    /// Packets have arrived by UDP.
    pub datagrams: bool,
}

impl Net {
    /// Takes in the packets that wait. If the program has something to go on with already (`served`), or gets
    /// it from a raw lane, the UDP sockets may wait a little longer.
    pub fn receive(&mut self, messages: &mut Messages, peers: &mut Peers, now: Time, served: bool) -> Polled {
        // The controller of grants measures how fast arrives what it has granted.
        messages.layer_mut().controller_mut().set_now(now.0);
        let mut polled = Polled { any: self.receive_raw(messages, peers, now), ..Polled::default() };
        let extra =
            if self.udp_polls.pause > 0 && (served || polled.any) { sockets::SERVED_EXTRA_NS } else { 0 };
        if now.0 < self.udp_polls.due.0.saturating_add(extra) {
            return polled;
        }
        polled.udp = true;
        polled.datagrams = self.receive_udp(messages, peers, now);
        if !polled.datagrams && peers.are_all_local() {
            self.udp_polls.pause = (2 * self.udp_polls.pause).min(sockets::PAUSE_MAX_NS);
        }
        polled.any |= polled.datagrams | (self.readiness.take_news() && self.hear_link_states(peers, now));
        self.udp_polls.due = Time(now.0.saturating_add(self.udp_polls.pause));
        polled
    }

    /// Something has arrived, and not by datagram: the UDP sockets are polled only now and then.
    #[inline(always)]
    pub fn spare_udp(&mut self) {
        self.udp_polls.pause = self.udp_polls.pause.max(sockets::PAUSE_NS);
    }

    /// The UDP sockets are polled only now and then.
    #[inline(always)]
    pub fn spares_udp(&self) -> bool {
        self.udp_polls.pause > 0
    }

    /// The UDP sockets are due for a poll.
    #[inline(always)]
    pub fn udp_is_due(&self, now: Time) -> bool {
        now >= self.udp_polls.due
    }

    /// Whether a frame waits in the ring of a raw lane. Costs a load for each.
    #[inline]
    pub fn has_frames(&self) -> bool {
        self.links.iter().filter_map(|link| link.raw.as_ref()).any(RawLink::has_frames)
    }

    /// Takes in the frames that wait in the rings of raw lanes, without a system call. True if there were
    /// any.
    fn receive_raw(&mut self, messages: &mut Messages, peers: &mut Peers, now: Time) -> bool {
        if !self.has_frames() {
            return false;
        }
        let Net { host, proto, links, .. } = self;
        let mut above = Above { messages, peers, host };
        let mut count = 0;
        for raw in links.iter_mut().filter_map(|link| link.raw.as_mut()) {
            count += raw.receive(sockets::PACKETS_MAX, |packet| {
                // A packet that is dropped is counted by the packet layer, by reason, and never answered.
                let _ = proto.handle_packet_deferring_ack(now, packet, &mut above);
            });
        }
        if count > 0 {
            self.spare_udp();
        }
        count > 0
    }

    /// Takes in the datagrams that wait at the UDP sockets. True if there were packets among them.
    fn receive_udp(&mut self, messages: &mut Messages, peers: &mut Peers, now: Time) -> bool {
        let Net { host, proto, links, readiness, .. } = self;
        let mut above = Above { messages, peers, host };
        let mut any = false;
        for at in 0..readiness.poll() {
            let index = readiness.due(at);
            let link = &mut links[index];
            // A lone packet costs one call, and not a second one to learn that it is alone.
            let budget = if link.busy { sockets::DATAGRAMS_MAX } else { 1 };
            let received = link.udp.receive(budget, |_, datagram| {
                // A knock has done what it is for by arriving. It moves nothing on: peers that wait for an
                // endpoint that is closing knock again and again.
                if datagram.len() != KNOCK_LEN {
                    any = true;
                    // A packet that is dropped is counted by the packet layer, by reason, and never answered.
                    let _ = proto.handle_packet_deferring_ack(now, datagram, &mut above);
                }
            });
            let count = received.unwrap_or(0);
            link.busy = count >= budget;
            readiness.received(index, link, count);
            if readiness.is_hot(index) {
                // Nothing watches its descriptors, so the socket can afford another one for the sender of the
                // stream.
                link.udp.follow();
            }
        }
        if any {
            self.udp_polls.pause = 0;
        }
        any
    }
}
