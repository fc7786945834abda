//! Short messages when nothing stands in their way: the packet is written at once, on the path of the one before.
//!
//! The layer above hands over the bytes with the frame, so that it has nothing to keep and need not be asked. What is not covered here
//! goes the general way, from the same outbox: whether a packet was written here cannot be seen on the wire.
//!
//! Nor need it be written at once: several such messages can be put into the outbox, to share a packet.

use crate::conn::{Conn, Context};
use crate::event::Transmit;
use crate::ids::ConnId;
use crate::pack::start_frame;
use crate::proto::{Proto, context};
use crate::time::Time;
use crate::upcalls::Outgoing;

/// Packets in a row that take the path of the one before. After so many it is chosen anew, as for all others.
const IN_A_ROW: u32 = 16;

impl Proto {
    /// Whether a start with its payload can be handed over now ([`Proto::send_inline`]): the connection is open and nothing waits that would
    /// have to leave first.
    pub fn can_send_inline(&self, conn: ConnId) -> bool {
        self.table.get(conn).is_some_and(Conn::can_send_inline)
    }

    /// Takes an [`Outgoing::Start`] with its whole payload of at most [`Proto::start_room`] bytes, if [`Proto::can_send_inline`] said so. The layer above
    /// is never asked for it, nor told when it has arrived. `Some`: the packet with it, to be sent. `None`: call
    /// [`Proto::poll_transmit`], as after [`Proto::wake`].
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
            // No other timer has been set.
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
    /// Whether [`Proto::coalesce`] takes one more: as [`Proto::can_send_inline`], but there may be others before it that were put and have not been sent, fewer than `most`.
    pub fn can_coalesce(&self, conn: ConnId, most: u64) -> bool {
        self.table.get(conn).is_some_and(|conn| conn.takes() && conn.outbox.can_coalesce(most))
    }

    /// Takes what [`Proto::send_inline`] takes, if [`Proto::can_coalesce`] said so, and leaves it to [`Proto::poll_transmit`], which puts as many into a packet as
    /// fit. Until that is called, whatever else happens, it stays here: not for long, as the peer may be waiting for it.
    pub fn coalesce(&mut self, conn: ConnId, start: Outgoing, bytes: &[u8]) {
        if let Some(conn) = self.table.get_mut(conn)
            && conn.outbox.coalesce(start, bytes)
        {
            Self::enqueue(&mut self.ready, conn);
        }
    }
}

impl Conn {
    fn can_send_inline(&self) -> bool {
        self.outbox.unsent == 0 && self.takes()
    }

    /// Nothing that the layer above still has, or that was lost, goes before what is handed over now.
    fn takes(&self) -> bool {
        let outbox = &self.outbox;
        self.is_open()
            && !outbox.more
            && outbox.lost.is_empty()
            && outbox.has_room()
            && self.closing.is_none()
            && !self.mute
            && !self.expired
    }

    /// Writes a packet with the only frame that has not been sent, if that can go on the path of the last one; `None`: nothing has happened.
    fn transmit_start(
        &mut self,
        start: &Outgoing,
        bytes: &[u8],
        packet: &mut [u8],
        cx: &mut Context<'_>,
    ) -> Option<Transmit> {
        let at = self.current;
        let path = self.paths.get(at)?;
        let plain = self.in_a_row < IN_A_ROW
            && path.is_lively()
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
        // Acknowledgements leave room for it, as packets are long enough; if not, it follows by itself.
        if let Ok(place) = builder.reserve(&frame, bytes.len()) {
            place.copy_from_slice(bytes);
            self.outbox.unsent = 0;
            self.paths[at].sent.add(entry);
        }
        self.in_a_row += 1;
        self.commit(builder, tx, cx)
    }
}
