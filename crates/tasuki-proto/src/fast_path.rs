//! Fast path for short messages: if nothing waits before the message, its packet is written within the call,
//! on the path of the packet before.
//!
//! The layer above hands over the bytes together with the frame, so it need not keep them, nor be asked for
//! them. Messages for which the fast path is not open go the general way, from the same outbox; the two
//! cannot be told apart on the wire.
//!
//! Several such messages can also be coalesced: put into the outbox one after the other, to share a packet.

use tasuki_tuning::inline;
use tasuki_wire::DropReason;

use crate::conn::{Conn, Context};
use crate::event::Transmit;
use crate::ids::ConnId;
use crate::pack::start_frame;
use crate::proto::{Proto, context};
use crate::time::Time;
use crate::upcalls::{Outgoing, Upcalls};

impl Proto {
    /// Whether a Start can be sent within the call ([`Proto::send_inline`]): the connection is open, and
    /// nothing waits that would have to leave first.
    pub fn can_send_inline(&self, conn: ConnId) -> bool {
        self.table.get(conn).is_some_and(Conn::can_send_inline)
    }

    /// Takes an [`Outgoing::Start`] with its whole payload of at most [`Proto::start_room`] bytes; allowed
    /// only if [`Proto::can_send_inline`]. The layer above is never asked for this payload, nor told when it
    /// has been acknowledged. `Some`: the packet that carries it, to be sent. `None`: it is in the outbox,
    /// and [`Proto::poll_transmit`] must be called, as after [`Proto::wake`].
    pub fn send_inline(
        &mut self,
        now: Time,
        conn: ConnId,
        start: Outgoing,
        bytes: &[u8],
        packet: &mut [u8],
    ) -> Option<Transmit> {
        self.now = now;
        let conn = self.table.get_mut(conn)?;
        if !conn.outbox.push_with(start, bytes) {
            return None;
        }
        let transmit = match conn.queued {
            true => None,
            false => conn.transmit_start(&start, bytes, packet, &mut context!(self, now)),
        };
        match transmit {
            // Only the probe timer has been set, so the deadline can be updated without looking at all
            // timers.
            Some(_) if conn.outbox.unsent == 0 => {
                let at = conn.paths[conn.current].pto_at.unwrap_or(Time::NEVER);
                conn.due = conn.due.min(at);
                self.next_deadline = self.next_deadline.min(at);
            }
            _ => Self::enqueue(&mut self.ready, conn),
        }
        transmit
    }
}

impl Proto {
    /// Whether [`Proto::coalesce`] takes one more message: like [`Proto::can_send_inline`], but up to `most -
    /// 1` coalesced messages may be waiting before it.
    pub fn can_coalesce(&self, conn: ConnId, most: u64) -> bool {
        self.table.get(conn).is_some_and(|conn| conn.takes() && conn.outbox.can_coalesce(most))
    }

    /// Takes a message as [`Proto::send_inline`] does, if [`Proto::can_coalesce`] allows it, but leaves
    /// sending to [`Proto::poll_transmit`], which puts as many messages into a packet as fit. The message
    /// stays in the outbox until that is called, so the caller must do so soon: the peer may be waiting for
    /// it.
    pub fn coalesce(&mut self, conn: ConnId, start: Outgoing, bytes: &[u8]) {
        if let Some(conn) = self.table.get_mut(conn)
            && conn.outbox.coalesce(start, bytes)
        {
            Self::enqueue(&mut self.ready, conn);
        }
    }
}

impl Proto {
    /// Like [`Proto::handle_packet`], but if the packet brings a message, the acknowledgement in it may be
    /// deferred until [`Proto::flush_deferred_acks`] or any other call that concerns the connection, save
    /// [`Proto::send_inline`]. Nothing is lost if the former is never called, but payload is released later,
    /// at the latest after a probe time-out.
    pub fn handle_packet_deferring_ack(
        &mut self,
        now: Time,
        datagram: &[u8],
        upcalls: &mut impl Upcalls,
    ) -> Result<(), DropReason> {
        self.handle(now, datagram, upcalls, true)
    }

    /// Makes the next [`Proto::poll_transmit`] process all deferred acknowledgements; returns whether there
    /// were any.
    pub fn flush_deferred_acks(&mut self) -> bool {
        let any = !self.deferred.is_empty();
        while let Some(id) = self.deferred.pop() {
            let Some(conn) = self.table.get_mut(id) else { continue };
            conn.in_deferred = false;
            if conn.deferred_ack.is_some() {
                Self::enqueue(&mut self.ready, conn);
            }
        }
        any
    }
}

impl Conn {
    fn can_send_inline(&self) -> bool {
        self.outbox.unsent == 0 && self.takes()
    }

    /// Whether the connection is open and nothing goes before a new message: no frame of the layer above, and
    /// nothing that was lost.
    fn takes(&self) -> bool {
        let outbox = &self.outbox;
        self.is_open()
            && !outbox.more
            && outbox.lost.is_empty()
            && outbox.has_room()
            && self.closing.is_none()
            && !self.refused_by_peer
            && !self.expired
    }

    /// Writes a packet with the only frame that has not been sent, if it can go on the path of the packet
    /// before. `None`: nothing has been done.
    fn transmit_start(
        &mut self,
        start: &Outgoing,
        bytes: &[u8],
        packet: &mut [u8],
        cx: &mut Context<'_>,
    ) -> Option<Transmit> {
        let at = self.current;
        let path = self.paths.get(at)?;
        let plain = self.path_reuse < inline::PATH_REUSE_MAX
            && path.is_responsive()
            && path.in_flight < path.window.size.min(cx.config.queue_low)
            && !self.streaming
            && !self.welcome_due
            && !self.rails_due;
        if !plain {
            return None;
        }
        let entry = self.outbox.fresh()?;
        let frame = start_frame(start, entry.pos)?;
        let (mut builder, mut tx) = self.begin(at, path.proven_len, packet)?;
        self.push_acks(&mut builder, &mut tx, cx);
        // Packets are long enough that acknowledgements leave room for the frame; if they do not, the frame
        // follows in a packet of its own.
        if let Ok(place) = builder.reserve(&frame, bytes.len()) {
            place.copy_from_slice(bytes);
            self.outbox.unsent = 0;
            self.paths[at].sent.add(entry);
        }
        self.path_reuse += 1;
        self.commit(builder, tx, cx)
    }
}
